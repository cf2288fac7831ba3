// Codec `trial`: elements as they are. It shows what a codec needs: this file, and a line in the
// registry.
#include <array>

#include "base/errors.h"
#include "codecs/parameter_values.h"
#include "codecs/registry.h"

namespace tensorpress::trial {
namespace {

constexpr std::array kParameters = {
    ParameterInfo{"loudness", "soft", "soft|loud", "how it does nothing"}};
constexpr std::array kHdf5Parameters = {PackedParameter{"loudness", 0, 1, {"soft", "loud"}}};

class Trial final : public ChunkCodec {
 public:
  Shape preferred_chunk_shape(const Shape& shape, DType) const override { return shape; }
  std::uint64_t bound_on_output_size(const Shape& shape, DType dtype) const override {
    return shape.element_count() * size_of(dtype);
  }
  std::uint64_t expected_output_size(const Shape& shape, DType dtype) const override {
    return bound_on_output_size(shape, dtype);
  }
  Result<CompressedChunk> compress(const TensorView& chunk, std::span<std::byte> output,
                                   ChunkWorkspace& workspace) const override {
    return compress_raw(chunk, output, workspace);
  }
  Result<void> decompress(std::span<const std::byte> input, const MutableTensorView& chunk,
                          ChunkWorkspace& workspace) const override {
    return decompress_raw(input, chunk, workspace);
  }
  std::vector<Fact> facts(const Shape&, DType) const override { return {}; }
};

Result<std::unique_ptr<ChunkCodec>> create(std::span<const Parameter> parameters) {
  RETURN_IF_ERROR(one_of(kParameters[0], parameters[0].value));
  return std::unique_ptr<ChunkCodec>(std::make_unique<Trial>());
}

}  // namespace

extern constinit const RegisteredCodec kCodec = {
    {.name = "trial", .summary = "exact: elements as they are", .parameters = kParameters},
    create,
    nullptr,
    {.number = 5, .parameters = kHdf5Parameters}};

}  // namespace tensorpress::trial
