// What the container's tests share: tensors whose values are exact in their type, bytes that behave
// like files and pipes, and streams taken apart into sections and put together again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stream/container/byte_io.h"
#include "stream/reader.h"
#include "stream/tensor_io.h"
#include "stream/writer.h"
#include "tensorpress/stream.h"

namespace tensorpress::samples {

using Bytes = std::vector<std::byte>;

/// A smooth tensor with small values that every type represents exactly.
Tensor ramp(DType dtype, const Shape& shape);
/// dct-chop with f32 coefficients.
Codec chop(int chop_factor, std::string_view layout = "square");
/// A stream in memory; fails the test if there is an error.
Bytes packed(const Tensor& tensor, const Codec& codec, const CompressOptions& options = {});

/// Collects what is written to it.
class VectorSink : public stream::ByteSink {
 public:
  Result<void> append(std::span<const std::byte> bytes) override {
    collected.insert(collected.end(), bytes.begin(), bytes.end());
    return {};
  }
  Bytes collected;
};

/// Bytes that must be asked for, as in a file.
class FileLike : public stream::ByteSource {
 public:
  explicit FileLike(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<void> read_at(std::uint64_t offset, std::span<std::byte> into) const override;

 private:
  std::span<const std::byte> bytes_;
};

/// Bytes that come in order only, as from a pipe.
class PipeLike : public stream::ByteInput {
 public:
  explicit PipeLike(std::span<const std::byte> bytes) : left_(bytes) {}
  Result<std::size_t> read(std::span<std::byte> into) override;

 private:
  std::span<const std::byte> left_;
};

/// A tensor that comes in order only.
class PipedTensor : public stream::TensorSource {
 public:
  explicit PipedTensor(const Tensor& tensor) : tensor_(tensor) {}
  DType dtype() const override { return tensor_.dtype; }
  const Shape& shape() const override { return tensor_.shape; }
  bool random_access() const override { return false; }
  Result<TensorView> read(const Region& region, AlignedBuffer& /*scratch*/) override {
    return tensor_.view().part(region);
  }

 private:
  const Tensor& tensor_;
};

/// The three ways to read a stream.
Result<Tensor> read_in_memory(std::span<const std::byte> stream);
Result<Tensor> read_as_file(std::span<const std::byte> stream, stream::ReadOptions options = {});
Result<Tensor> read_as_pipe(std::span<const std::byte> stream, stream::ReadOptions options = {});

/// A stream as a list of sections, after docs/format.md and without our own parser.
struct Section {
  std::string type;
  std::uint32_t flags = 0;
  std::uint64_t number = 0;
  Bytes payload = {};
};
std::vector<Section> take_apart(std::span<const std::byte> stream);
/// With right checksums, padding and trailer. `renew_index` also writes the chunks' true places
/// into FOOT.
Bytes put_together(const std::vector<Section>& sections, bool renew_index = true);

std::uint64_t load(const Bytes& bytes, std::size_t offset, std::size_t size);
void store(Bytes& bytes, std::size_t offset, std::size_t size, std::uint64_t value);

}  // namespace tensorpress::samples
