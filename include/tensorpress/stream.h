// Compression and decompression of whole tensors in memory: the .tpz stream of docs/format.md in a
// byte buffer. One call for most people; Compressor and Decompressor for those who bring their own
// memory and threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensorpress/api.h"
#include "tensorpress/bound.h"
#include "tensorpress/codec.h"
#include "tensorpress/parallel.h"
#include "tensorpress/result.h"
#include "tensorpress/tensor_view.h"

namespace tensorpress {

struct Attribute {
  std::string name;
  std::string value;
  friend bool operator==(const Attribute&, const Attribute&) = default;
};

struct Statistic {
  std::string name;  // "l2_error", "raw_chunks", ...
  double value = 0;
  friend bool operator==(const Statistic&, const Statistic&) = default;
};

/// What a stream says about itself. Statistics come from the footer and are absent until it has
/// been read.
struct TENSORPRESS_API StreamInfo {
  unsigned format_version = 0;
  Codec codec;
  DType dtype = DType::f32;
  Shape shape = {};
  Shape chunk_shape = {};
  std::uint64_t chunk_count = 0;
  std::vector<Attribute> attributes = {};
  std::vector<Statistic> statistics = {};
  std::uint64_t bytes_out = 0;      // the whole stream
  std::uint64_t payload_bytes = 0;  // what the codec wrote, without the container

  std::uint64_t bytes_in() const { return shape.element_count() * size_of(dtype); }
  std::optional<double> statistic(std::string_view name) const;
};

/// Elements done so far, of how many. Called from one thread at a time.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

struct CompressOptions {
  /// What an error-bounded codec is to keep, for every element in its own type; it takes none
  /// without. Fixed-rate codecs take no bound.
  std::optional<Bound> bound = {};
  /// Values that stand for no data: they come back bit-exact and never count in the range. NaN and
  /// infinities need not be named.
  std::vector<double> fill_values = {};
  /// For Bound::relative when the range is known: saves a pass over the data.
  std::optional<ValueRange> value_range = {};
  /// A bound of the range is refused (ErrorCode::likely_fill) where one repeated extreme makes up
  /// most of that range and is likely a fill value that was not named. True: the range is meant.
  bool whole_range = false;
  /// What the values have lost already, against the data they were made from: an absolute or
  /// point-wise relative bound. `bound` is then against those data, and met with what is left.
  std::optional<Bound> earlier_error = {};
  std::size_t threads = 1;                // with a runner: how many pieces are worked on at once
  Runner runner = {};                     // who works on them; own threads when absent
  std::optional<Shape> chunk_shape = {};  // chosen by the codec when absent
  std::vector<Attribute> attributes = {};
  Progress progress = {};
};

/// A chunk that cannot be read, and what stands in the output instead.
struct SkippedChunk {
  std::uint64_t number = 0;
  Region region;     // of the whole tensor
  double value = 0;  // of all its elements: the stream's first fill value, NaN, or 0
  const Error& error;
};

struct DecompressOptions {
  std::size_t threads = 1;  // with a runner: how many pieces are worked on at once
  Runner runner = {};       // who works on them; own threads when absent
  /// Streams that claim more decompressed bytes than this are refused before anything is allocated;
  /// for a part of a tensor, also those with larger chunks, because chunks are decompressed whole.
  std::uint64_t max_bytes = std::uint64_t{1} << 40;
  Progress progress = {};
  /// How the codec is to compute, where it has a choice: {{"form", "matmul"}} for dct-chop.
  std::vector<Parameter> method = {};
  /// Chunks that cannot be read are reported here instead of ending the work. Their elements are
  /// the stream's first fill value if it has one, else NaN, or 0 among whole numbers: zeros among
  /// floats would look like data.
  std::function<void(const SkippedChunk& chunk)> skip_corrupt = {};
};

/// Reusable, without hidden state: the same input gives the same bytes on every machine and with
/// any threads.
class TENSORPRESS_API Compressor {
 public:
  explicit Compressor(Codec codec, CompressOptions options = {});

  /// Enough room for `compress` on any data of this shape and type.
  Result<std::uint64_t> bound_on_output_size(const Shape& shape, DType dtype) const;
  /// Writes a complete stream to `output` and returns its length. If `output` is too small:
  /// bad_argument.
  Result<std::uint64_t> compress(const TensorView& input, std::span<std::byte> output) const;

 private:
  Codec codec_;
  CompressOptions options_;
};

class TENSORPRESS_API Decompressor {
 public:
  explicit Decompressor(DecompressOptions options = {});

  /// `output` must have the stream's shape and dtype (see read_info); any strides.
  Result<void> decompress(std::span<const std::byte> stream, const MutableTensorView& output) const;
  /// Only `region`, from the chunks that hold it; `output` has the region's extent as its shape.
  Result<void> decompress(std::span<const std::byte> stream, const Region& region,
                          const MutableTensorView& output) const;

 private:
  DecompressOptions options_;
};

struct Tensor {
  std::vector<std::byte> bytes = {};
  DType dtype = DType::f32;
  Shape shape = {};

  TensorView view() const { return TensorView::contiguous(bytes.data(), dtype, shape); }
  MutableTensorView mutable_view() {
    return MutableTensorView::contiguous(bytes.data(), dtype, shape);
  }
  /// The elements in C order, as what they are: tensor.values<float>() of an f32. The error says
  /// which type they have.
  template <HasDType T>
  Result<std::span<const T>> values() const {
    return typed<const T>(bytes.data());
  }
  template <HasDType T>
  Result<std::span<T>> mutable_values() {
    return typed<T>(bytes.data());
  }

 private:
  template <class T, class Byte>
  Result<std::span<T>> typed(Byte* data) const {
    const Result<void> same = check_same_type(kDTypeOf<std::remove_const_t<T>>, dtype);
    if (!same.ok()) return same.error();
    return std::span<T>(reinterpret_cast<T*>(data), bytes.size() / sizeof(T));
  }
};

TENSORPRESS_API Result<StreamInfo> read_info(std::span<const std::byte> stream);
TENSORPRESS_API Result<std::vector<std::byte>> compress(const TensorView& input, const Codec& codec,
                                                        const CompressOptions& options = {});
/// compress(view, codec, Bound::relative(1e-4))
TENSORPRESS_API Result<std::vector<std::byte>> compress(const TensorView& input, const Codec& codec,
                                                        const Bound& bound,
                                                        CompressOptions options = {});
TENSORPRESS_API Result<Tensor> decompress(std::span<const std::byte> stream,
                                          const DecompressOptions& options = {});

}  // namespace tensorpress
