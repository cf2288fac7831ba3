// What an error-bounded codec has to write: the coding of one clean chunk. Everything else that a
// bound needs (special values, fill values, types, point-wise bounds, raw chunks) is done once for
// all of them by bounded_codec.cc, which calls these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "codecs/chunk_codec.h"
#include "tensorpress/result.h"
#include "tensorpress/tensor_view.h"

namespace tensorpress::bounded {

/// Elements that hold no data (NaN, fill values): stored elsewhere, filled with the value before
/// them (or the first one after), and what is decoded there is thrown away. Ascending, not
/// touching.
struct Hole {
  std::uint64_t start = 0;
  std::uint64_t length = 0;
};

/// One chunk: finite values in C order.
template <class T>
struct Field {
  std::span<const T> values;
  Shape shape;  // rank 1 to 8, no axis empty
  std::span<const Hole> holes = {};
  bool has_zeros = false;    // some value outside the holes is exactly 0 and must come back as 0
  bool mean_counts = false;  // a PSNR was asked for: small mean errors are worth more bytes
};

class FieldCoder {
 public:
  virtual ~FieldCoder() = default;

  virtual Shape preferred_chunk_shape(const Shape& shape, DType dtype) const = 0;

  /// Codes `field` so that every value outside the holes comes back as a T at most `bound` away,
  /// and zeros as zeros; what cannot be kept is stored as it is. `bound` is a normal number of T of
  /// at most a sixteenth of T's largest. Returns the bytes written, or nothing when they do not fit
  /// into `output`. The same bytes for every workspace.isa.
  virtual std::optional<std::size_t> encode(const Field<float>& field, double bound,
                                            std::span<std::byte> output,
                                            ChunkWorkspace& workspace) const = 0;
  virtual std::optional<std::size_t> encode(const Field<double>& field, double bound,
                                            std::span<std::byte> output,
                                            ChunkWorkspace& workspace) const = 0;

  /// As ChunkCodec::guide: what `workspace.guide` will be for every encode of the stream. Called
  /// only if the coder guides.
  virtual bool guides() const { return false; }
  virtual std::shared_ptr<const ChunkGuide> guide(const Field<float>& /*first*/, double /*bound*/,
                                                  ChunkWorkspace& /*workspace*/) const {
    return nullptr;
  }
  virtual std::shared_ptr<const ChunkGuide> guide(const Field<double>& /*first*/, double /*bound*/,
                                                  ChunkWorkspace& /*workspace*/) const {
    return nullptr;
  }

  /// `input` is what encode wrote for that shape and bound, or hostile bytes; all of it must be
  /// used.
  virtual Result<void> decode(std::span<const std::byte> input, const Shape& shape, double bound,
                              std::span<float> output, ChunkWorkspace& workspace) const = 0;
  virtual Result<void> decode(std::span<const std::byte> input, const Shape& shape, double bound,
                              std::span<double> output, ChunkWorkspace& workspace) const = 0;
};

/// A coder written once for both types: Derived has the templates encode_as(field, bound, output,
/// workspace) and decode_as(input, shape, bound, output, workspace) and befriends this.
template <class Derived>
class TypedFieldCoder : public FieldCoder {
 public:
  std::optional<std::size_t> encode(const Field<float>& field, double bound,
                                    std::span<std::byte> output,
                                    ChunkWorkspace& workspace) const final {
    return self().encode_as(field, bound, output, workspace);
  }
  std::optional<std::size_t> encode(const Field<double>& field, double bound,
                                    std::span<std::byte> output,
                                    ChunkWorkspace& workspace) const final {
    return self().encode_as(field, bound, output, workspace);
  }
  Result<void> decode(std::span<const std::byte> input, const Shape& shape, double bound,
                      std::span<float> output, ChunkWorkspace& workspace) const final {
    return self().decode_as(input, shape, bound, output, workspace);
  }
  Result<void> decode(std::span<const std::byte> input, const Shape& shape, double bound,
                      std::span<double> output, ChunkWorkspace& workspace) const final {
    return self().decode_as(input, shape, bound, output, workspace);
  }

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }
};

}  // namespace tensorpress::bounded
