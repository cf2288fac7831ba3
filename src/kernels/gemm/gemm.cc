#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm.cc"
#include "kernels/highway_targets.h"
// (keep the order)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/gemm/gemm.h"

#if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// kRows x kVectors sums in registers; a panel of `right` that is kVectors wide stays in the
// first-level cache while all rows of `left` pass over it.
template <int kRows, int kVectors, class D>
HWY_INLINE void Panel(D d, const float* HWY_RESTRICT left, const float* HWY_RESTRICT right,
                      float* HWY_RESTRICT result, std::size_t inner, std::size_t columns) {
  using V = hn::Vec<D>;
  const std::size_t N = hn::Lanes(d);
  V sums[kRows][kVectors];
  TENSORPRESS_UNROLL
  for (int i = 0; i < kRows; ++i) {
    TENSORPRESS_UNROLL
    for (int j = 0; j < kVectors; ++j) sums[i][j] = hn::Zero(d);
  }
  for (std::size_t k = 0; k < inner; ++k) {
    V row[kVectors];
    TENSORPRESS_UNROLL
    for (int j = 0; j < kVectors; ++j)
      row[j] = hn::LoadU(d, right + k * columns + static_cast<std::size_t>(j) * N);
    TENSORPRESS_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const V factor = hn::Set(d, left[static_cast<std::size_t>(i) * inner + k]);
      TENSORPRESS_UNROLL
      for (int j = 0; j < kVectors; ++j) {
        sums[i][j] = hn::Add(sums[i][j], hn::Mul(factor, row[j]));
      }
    }
  }
  TENSORPRESS_UNROLL
  for (int i = 0; i < kRows; ++i) {
    TENSORPRESS_UNROLL
    for (int j = 0; j < kVectors; ++j) {
      hn::StoreU(sums[i][j], d,
                 result + static_cast<std::size_t>(i) * columns + static_cast<std::size_t>(j) * N);
    }
  }
}

template <int kVectors, class D>
HWY_INLINE void AllRows(D d, const float* left, const float* right, float* result, std::size_t rows,
                        std::size_t inner, std::size_t columns) {
  std::size_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    Panel<4, kVectors>(d, left + i * inner, right, result + i * columns, inner, columns);
  }
  for (; i < rows; ++i)
    Panel<1, kVectors>(d, left + i * inner, right, result + i * columns, inner, columns);
}

void Multiply(const float* left, const float* right, float* result, std::size_t rows,
              std::size_t inner, std::size_t columns) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  const std::size_t N = hn::Lanes(d);
  std::size_t j = 0;
  for (; j + 3 * N <= columns; j += 3 * N)
    AllRows<3>(d, left, right + j, result + j, rows, inner, columns);
  for (; j + N <= columns; j += N) AllRows<1>(d, left, right + j, result + j, rows, inner, columns);
  for (; j < columns; ++j) AllRows<1>(one, left, right + j, result + j, rows, inner, columns);
}

Gemm GetGemm() {
  return Multiply;
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
#  include "kernels/dispatch.h"

namespace tensorpress::kernels {

Gemm gemm(Isa isa) {
  TENSORPRESS_DISPATCH(isa, GetGemm(), gemm_reference)
}

}  // namespace tensorpress::kernels
#endif
