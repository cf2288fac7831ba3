#include "codecs/bounded/bounded_codec.h"

#include "base/errors.h"
#include "codecs/bounded/chunk_coding.h"
#include "codecs/bounded/elements.h"
#include "codecs/bounded/observing_coder.h"

namespace tensorpress::bounded {
namespace {

// A scalar is a row of one.
template <class View>
View with_an_axis(const View& view) {
  return view.shape.rank() == 0 ? View::contiguous(view.data, view.dtype, Shape{1}) : view;
}

// Where the parts before a coder's bytes go.
struct GuideBuffers {
  AlignedBuffer output;
};

class BoundedCodec final : public ChunkCodec {
 public:
  BoundedCodec(std::shared_ptr<const FieldCoder> coder, Parameters parameters)
      : coder_(std::move(coder)), parameters_(std::move(parameters)) {}

  Shape preferred_chunk_shape(const Shape& shape, DType dtype) const override {
    return shape.rank() == 0 ? shape : coder_->preferred_chunk_shape(shape, dtype);
  }
  std::uint64_t bound_on_output_size(const Shape& chunk_shape, DType dtype) const override {
    return chunk_shape.element_count() * size_of(dtype);  // raw is the worst that can happen
  }
  std::uint64_t expected_output_size(const Shape&, DType) const override { return 0; }

  Result<CompressedChunk> compress(const TensorView& chunk, std::span<std::byte> output,
                                   ChunkWorkspace& workspace) const override {
    if (!parameters_.limit) return internal_error("the bound has not been resolved");
    const auto attempt =
        compress_chunk(*coder_, parameters_, with_an_axis(chunk), output, workspace);
    if (attempt.coded) return *attempt.coded;
    CompressedChunk raw = compress_raw(chunk, output, workspace);
    raw.special_elements = attempt.special_elements;
    return raw;
  }

  std::shared_ptr<const ChunkGuide> guide(const TensorView& first_chunk,
                                          ChunkWorkspace& workspace) const override {
    if (!coder_->guides() || !parameters_.limit) return nullptr;
    std::shared_ptr<const ChunkGuide> found;
    bool seen = false;
    const auto observer =
        make_observing_coder([&](const auto& field, double bound, ChunkWorkspace& memory) {
          if (!seen) found = coder_->guide(field, bound, memory);
          seen = true;
        });
    const auto room = workspace.memory.of<GuideBuffers>().output.reserve(
        static_cast<std::size_t>(first_chunk.byte_count()));
    compress_chunk(*observer, parameters_, with_an_axis(first_chunk), room, workspace);
    return found;
  }

  Result<void> decompress(std::span<const std::byte> input, const MutableTensorView& chunk,
                          ChunkWorkspace& workspace) const override {
    workspace.checksum.update(input);
    if (chunk.is_contiguous()) {
      return decompress_chunk(*coder_, parameters_, input, with_an_axis(chunk), workspace);
    }
    const auto elements = workspace.memory.of<ElementBuffers>().elements.reserve(
        static_cast<std::size_t>(chunk.byte_count()));
    const auto contiguous =
        MutableTensorView::contiguous(elements.data(), chunk.dtype, chunk.shape);
    RETURN_IF_ERROR(decompress_chunk(*coder_, parameters_, input, contiguous, workspace));
    copy_elements(contiguous, chunk);
    return {};
  }

  std::vector<Fact> facts(const Shape&, DType) const override { return {}; }

  std::optional<KeptBound> kept_bound() const override { return parameters_.kept(); }
  std::unique_ptr<ChunkCodec> keeping(const KeptBound& bound) const override {
    return std::make_unique<BoundedCodec>(coder_, Parameters::of(bound));
  }

 private:
  std::shared_ptr<const FieldCoder> coder_;
  Parameters parameters_;
};

}  // namespace

std::unique_ptr<ChunkCodec> make_bounded_codec(std::shared_ptr<const FieldCoder> coder,
                                               Parameters parameters) {
  return std::make_unique<BoundedCodec>(std::move(coder), std::move(parameters));
}

Result<void> check_dtype(std::string_view codec, DType dtype) {
  if (dtype == DType::u8 || dtype == DType::i16) {
    return unsupported("codec ", codec, " keeps a bound on f32, f64, f16 and bf16, and this is ",
                       name_of(dtype), "; dct-chop takes integers, or convert them to f32 first");
  }
  return {};
}

}  // namespace tensorpress::bounded
