// DCT+Chop as the paper computes it, with nothing but dense products, so that it runs on any
// accelerator:
//
//   Y  = LHS · A · RHS      (Eq. 4)   LHS = M T_L: CF rows out of every P of a block-diagonal
//   matrix of transforms A' = RHS' · Y · LHS'    (Eq. 6)   with the inverse transform's matrices;
//   for the DCT they are the transposes
//
// Partial serialization (Sec. 3.5.1) cuts each plane into s x s parts, which need 1/s² of the
// matrix memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "codecs/dct_chop/parameters.h"
#include "kernels/gemm/gemm.h"

namespace tensorpress::dct_chop {

/// What the matrix form costs for a tensor: the paper's Eq. 5 and 7 summed over all planes and
/// parts.
struct MatmulCost {
  double matrix_bytes = 0;  // LHS and RHS of one part
  double flops_compress = 0;
  double flops_decompress = 0;
};
MatmulCost matmul_cost(const Geometry& geometry, const Parameters& parameters);

/// The matrices for one size of plane, and the products. Not for lines.
class MatmulForm {
 public:
  MatmulForm(const Geometry& geometry, const Parameters& parameters, Isa isa);

  /// One padded plane of floats to its coefficients in the layout of the stream, and back.
  void forward(const float* plane, float* values) const;
  void inverse(const float* values, float* plane) const;

 private:
  struct Part {
    std::size_t block_row, block_column, block_rows, blocks;
  };
  template <class Work>
  void for_each_part(Work work) const;
  void square_to_layout(const std::vector<float>& square, float* values) const;
  void layout_to_square(const float* values, std::vector<float>& square) const;

  Geometry geometry_;
  Parameters parameters_;
  kernels::Gemm gemm_;
};

}  // namespace tensorpress::dct_chop
