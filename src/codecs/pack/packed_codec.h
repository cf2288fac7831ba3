// A codec whose payload is what tensorpress/pack.h writes for the chunk's elements in C order. A
// chunk that cannot be packed, or would not get smaller, is stored raw.
#pragma once

#include "base/errors.h"
#include "codecs/chunk_codec.h"
#include "codecs/pack/packing.h"

namespace tensorpress::packing {

/// A run of elements of about 1 MiB in C order, so that a pipe can feed it; `unit` elements of the
/// last axis where that has to be cut.
Shape contiguous_chunk_shape(const Shape& shape, DType dtype, std::uint64_t unit);

/// The chunk's elements in one piece, as `as` (their dtype, or f32 for f64). Where they lie, if
/// that will do, else in the buffer.
std::span<const std::byte> elements_of(const TensorView& chunk, DType as, AlignedBuffer& buffer);
/// The reverse, from one piece to the chunk; nothing to do if the piece is the chunk.
void store_elements_of(std::span<const std::byte> elements, DType as,
                       const MutableTensorView& chunk, AlignedBuffer& buffer);
/// Where such elements may be written: in the chunk, if that will do, else in the buffer.
std::span<std::byte> place_for(const MutableTensorView& chunk, DType as, AlignedBuffer& buffer);

/// A sum of squares in another order may come out a little larger; a later check must not fail on
/// that.
inline constexpr double kSummationShare = 1e-9;
/// Sum of squared differences of two pieces, in double, and a little more than that.
double squared_difference(DType dtype, std::span<const std::byte> a, std::span<const std::byte> b,
                          Isa isa);

struct PackBuffers {
  AlignedBuffer elements;  // in one piece, as they are packed
  AlignedBuffer unpacked;
  AlignedBuffer decoded;    // in the chunk's own type
  AlignedBuffer originals;  // in one piece, in the chunk's own type
};

template <class Options>
class PackedCodec final : public ChunkCodec {
 public:
  /// How a chunk's options follow from where it lies in the tensor.
  using ForChunk = Options (*)(const Options&, const ChunkWorkspace&);

  PackedCodec(std::string_view name, Options options, bool exact, std::uint64_t unit,
              ForChunk for_chunk = nullptr)
      : name_(name), options_(options), exact_(exact), unit_(unit), for_chunk_(for_chunk) {}

  Shape preferred_chunk_shape(const Shape& shape, DType dtype) const override {
    return contiguous_chunk_shape(shape, dtype, unit_);
  }
  std::uint64_t bound_on_output_size(const Shape& chunk_shape, DType dtype) const override {
    return chunk_shape.element_count() * size_of(dtype);  // raw is the worst that can happen
  }
  std::uint64_t expected_output_size(const Shape& chunk_shape, DType dtype) const override {
    return std::min(coded_bytes(chunk_shape), chunk_shape.element_count() * size_of(dtype));
  }

  Result<CompressedChunk> compress(const TensorView& chunk, std::span<std::byte> output,
                                   ChunkWorkspace& workspace) const override {
    const DType as = packed_as(chunk.dtype);
    RETURN_IF_ERROR(check(as, options_));
    const std::uint64_t bytes = coded_bytes(chunk.shape);
    if (output.size() < std::min(bytes, chunk.byte_count())) {
      return bad_argument("the output has ", output.size(), " bytes, ",
                          std::min(bytes, chunk.byte_count()), " are needed");
    }
    if (bytes >= chunk.byte_count()) return compress_raw(chunk, output, workspace);
    auto& buffers = workspace.memory.of<PackBuffers>();
    const auto elements = elements_of(chunk, as, buffers.elements);
    const Options options = for_chunk_ == nullptr ? options_ : for_chunk_(options_, workspace);
    if (!pack(workspace.isa, as, elements, options, output.data())) {
      if (output.size() < chunk.byte_count()) return CompressedChunk{chunk.byte_count(), true, 0};
      return compress_raw(chunk, output, workspace);
    }
    workspace.checksum.update(output.first(static_cast<std::size_t>(bytes)));
    if (exact_) return CompressedChunk{.bytes = bytes};
    const auto back = buffers.unpacked.reserve(elements.size());
    unpack(workspace.isa, as, output.data(), options, back, false);
    if (as == chunk.dtype) {
      return CompressedChunk{
          .bytes = bytes, .squared_error = squared_difference(as, elements, back, workspace.isa)};
    }
    // In the chunk's own type, of which the elements are roundings.
    const auto wide = buffers.decoded.reserve(static_cast<std::size_t>(chunk.byte_count()));
    const auto decoded = MutableTensorView::contiguous(wide.data(), chunk.dtype, chunk.shape);
    store_elements_of(back, as, decoded, buffers.originals);
    const auto original = elements_of(chunk, chunk.dtype, buffers.originals);
    return CompressedChunk{
        .bytes = bytes,
        .squared_error = squared_difference(chunk.dtype, original, wide, workspace.isa)};
  }

  Result<void> decompress(std::span<const std::byte> input, const MutableTensorView& chunk,
                          ChunkWorkspace& workspace) const override {
    workspace.checksum.update(input);
    const DType as = packed_as(chunk.dtype);
    if (auto known = check(as, options_); !known.ok()) {
      return corrupt("codec ", name_, " does not hold ", name_of(chunk.dtype));
    }
    const std::uint64_t bytes = coded_bytes(chunk.shape);
    if (input.size() != bytes) {
      return corrupt(input.size(), " bytes are stored for ", bytes, " bytes of packed values");
    }
    if constexpr (std::is_same_v<Options, QuantizeOptions>) {
      RETURN_IF_ERROR(check_groups(input.data(), chunk.element_count(), options_));
    }
    auto& buffers = workspace.memory.of<PackBuffers>();
    const auto place = place_for(chunk, as, buffers.elements);
    const bool direct = place.data() == chunk.data;
    unpack(workspace.isa, as, input.data(), options_, place, direct && workspace.stream_stores);
    if (!direct) store_elements_of(place, as, chunk, buffers.unpacked);
    return {};
  }

  std::vector<Fact> facts(const Shape& shape, DType dtype) const override {
    const auto coded = static_cast<double>(expected_output_size(shape, dtype));
    const auto raw = static_cast<double>(shape.element_count() * size_of(dtype));
    return {{"nominal_ratio", coded > 0 ? raw / coded : 0}};
  }

 private:
  /// Doubles are quantized as floats.
  DType packed_as(DType dtype) const {
    return std::is_same_v<Options, QuantizeOptions> && dtype == DType::f64 ? DType::f32 : dtype;
  }
  std::uint64_t coded_bytes(const Shape& shape) const {
    const std::uint64_t count = shape.element_count();
    const auto bytes = packed_size(static_cast<std::size_t>(count), options_);
    return bytes.ok() ? *bytes : UINT64_MAX;
  }

  std::string_view name_;
  Options options_;
  bool exact_;
  std::uint64_t unit_;
  ForChunk for_chunk_;
};

}  // namespace tensorpress::packing
