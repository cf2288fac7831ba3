// The parameters of DCT+Chop, checked, and what they make of a tensor's shape.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "kernels/block_transform/block_transform.h"
#include "tensorpress/codec.h"

namespace tensorpress::dct_chop {

struct Parameters {
  int chop_factor = 4;
  bool triangle = false;
  kernels::Transform transform = kernels::Transform::dct;
  DType coefficients = DType::f32;
  bool matmul = false;
  int serialize = 1;

  std::uint64_t points() const { return static_cast<std::uint64_t>(kernels::points_of(transform)); }
};

inline constexpr std::array<ParameterInfo, 6> kParameters = {{
    {"cf", "4", "1..8",
     "chop factor: keep CF of 8 frequencies per axis (of 4 with `transform` zfp)"},
    {"layout", "square", "square|triangle", "keep the CF x CF square, or the triangle u + v < CF"},
    {"transform", "dct", "dct|zfp", "DCT-II on 8 x 8 blocks, or ZFP's transform on 4 x 4"},
    {"coefficients", "f32", "f32|bf16|f16", "how coefficients are stored"},
    {"form", "block", "block|matmul", "the fast block kernel, or the paper's two dense products"},
    {"serialize", "1", "1..64",
     "with `form` matmul: s x s parts of a plane, 1/s^2 of the matrix memory"},
}};

/// Complete and in the order of kParameters.
Result<Parameters> parse_parameters(std::span<const Parameter> parameters);

/// A tensor as planes of blocks. The last two axes are a plane, all others count planes; up to one
/// axis is a line
/// ("linear": P values in a row make a block, and CF of them are kept).
struct Geometry {
  std::uint64_t planes = 0;
  std::uint64_t height = 1;      // rows of a plane
  std::uint64_t width = 0;       // columns of a plane
  std::uint64_t block_rows = 1;  // per plane, the last one padded
  std::uint64_t blocks = 0;      // per block row, the last one padded
  std::uint64_t points = 8;
  kernels::Layout layout = kernels::Layout::square;
  std::uint64_t values_per_block = 0;

  static Geometry of(const Shape& shape, const Parameters& parameters);

  bool linear() const { return layout == kernels::Layout::linear; }
  /// Rows that make a block row: P, or 1 for a line.
  std::uint64_t rows_per_block_row() const { return linear() ? 1 : points; }
  std::uint64_t padded_width() const { return blocks * points; }
  /// No row or column has to be made up.
  bool unpadded() const {
    return padded_width() == width && block_rows * rows_per_block_row() == height;
  }
  std::uint64_t values() const { return planes * block_rows * blocks * values_per_block; }
};

}  // namespace tensorpress::dct_chop
