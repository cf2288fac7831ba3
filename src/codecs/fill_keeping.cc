#include "codecs/fill_keeping.h"

#include <algorithm>
#include <vector>

#include "base/tensor/contiguous.h"
#include "base/tensor/stored_value.h"

namespace tensorpress {
namespace {

struct FillBuffers {
  AlignedBuffer elements;  // of a chunk with gaps between its rows
};

class FillKeepingCodec : public ChunkCodec {
 public:
  FillKeepingCodec(std::shared_ptr<const ChunkCodec> codec, std::span<const double> fill_values)
      : codec_(std::move(codec)), fill_values_(fill_values.begin(), fill_values.end()) {}

  Shape preferred_chunk_shape(const Shape& shape, DType dtype) const override {
    return codec_->preferred_chunk_shape(shape, dtype);
  }
  std::uint64_t bound_on_output_size(const Shape& chunk_shape, DType dtype) const override {
    return std::max(codec_->bound_on_output_size(chunk_shape, dtype),
                    chunk_shape.element_count() * size_of(dtype));
  }
  std::uint64_t expected_output_size(const Shape& chunk_shape, DType dtype) const override {
    return codec_->expected_output_size(chunk_shape, dtype);
  }

  Result<CompressedChunk> compress(const TensorView& chunk, std::span<std::byte> output,
                                   ChunkWorkspace& workspace) const override {
    if (!holds_fill(chunk, workspace)) return codec_->compress(chunk, output, workspace);
    if (output.size() < chunk.byte_count()) return CompressedChunk{chunk.byte_count(), true, 0};
    return compress_raw(chunk, output, workspace);
  }
  Result<void> decompress(std::span<const std::byte> input, const MutableTensorView& chunk,
                          ChunkWorkspace& workspace) const override {
    return codec_->decompress(input, chunk, workspace);
  }

  std::vector<Fact> facts(const Shape& shape, DType dtype) const override {
    return codec_->facts(shape, dtype);
  }

 private:
  bool holds_fill(const TensorView& chunk, ChunkWorkspace& workspace) const {
    std::vector<double> stored;
    for (const double fill : fill_values_) stored.push_back(as_stored(fill, chunk.dtype));
    const auto count = static_cast<std::size_t>(chunk.element_count());
    const std::byte* const elements =
        contiguous_elements(chunk, workspace.memory.of<FillBuffers>().elements);
    return with_type(chunk.dtype, [&](auto type) {
      using T = decltype(type);
      for (std::size_t i = 0; i < count; ++i) {
        T element;
        std::memcpy(&element, elements + i * sizeof element, sizeof element);
        if (std::ranges::find(stored, to_double(element)) != stored.end()) return true;
      }
      return false;
    });
  }

  std::shared_ptr<const ChunkCodec> codec_;
  std::vector<double> fill_values_;
};

}  // namespace

std::shared_ptr<const ChunkCodec> keeping_fills(std::shared_ptr<const ChunkCodec> codec,
                                                std::span<const double> fill_values) {
  return std::make_shared<const FillKeepingCodec>(std::move(codec), fill_values);
}

}  // namespace tensorpress
