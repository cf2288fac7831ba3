// The interpolation half of codec `dense` alone, as a FieldCoder.
#pragma once

#include <algorithm>

#include "codecs/dense/interpolation.h"

namespace tensorpress::dense {

class InterpolationCoder final : public bounded::FieldCoder {
 public:
  Shape preferred_chunk_shape(const Shape& shape, DType /*dtype*/) const override {
    Shape chunk = shape;
    const std::uint64_t others = shape.element_count() / std::max<std::uint64_t>(shape[0], 1);
    chunk[0] = std::clamp<std::uint64_t>((1u << 20) / std::max<std::uint64_t>(others, 1), 1,
                                         std::max<std::uint64_t>(shape[0], 1));
    return chunk;
  }
  std::optional<std::size_t> encode(const bounded::Field<float>& field, double bound,
                                    std::span<std::byte> output,
                                    ChunkWorkspace& workspace) const override {
    return encode_interpolation(field, bound, output, workspace);
  }
  std::optional<std::size_t> encode(const bounded::Field<double>& field, double bound,
                                    std::span<std::byte> output,
                                    ChunkWorkspace& workspace) const override {
    return encode_interpolation(field, bound, output, workspace);
  }
  Result<void> decode(std::span<const std::byte> input, const Shape& shape, double bound,
                      std::span<float> output, ChunkWorkspace& workspace) const override {
    return decode_interpolation(input, shape, bound, output, workspace);
  }
  Result<void> decode(std::span<const std::byte> input, const Shape& shape, double bound,
                      std::span<double> output, ChunkWorkspace& workspace) const override {
    return decode_interpolation(input, shape, bound, output, workspace);
  }
};

}  // namespace tensorpress::dense
