#include "kernels/lorenzo/lorenzo_row.h"

namespace tensorpress::kernels {
namespace {

template <class T>
T max_magnitude(const T* x, std::size_t count) {
  T largest = 0;
  for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(x[i]));
  return largest;
}

template <class T>
std::size_t quantize(const T* x, std::size_t count, const LorenzoQuantizer<T>& quantizer,
                     std::int32_t* q, std::uint32_t first, std::uint32_t* outliers,
                     std::size_t capacity) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (lorenzo::quantize_value(x[i], quantizer, q[i])) continue;
    q[i] = *(q + i - 1);
    if (found < capacity) outliers[found] = first + static_cast<std::uint32_t>(i);
    ++found;
  }
  return found;
}

void difference(const std::int32_t* q, std::int32_t* d, std::size_t count,
                const LorenzoRow<std::int32_t>& row) {
  lorenzo::difference_row(q, d, 0, count, row);
}

void integrate(std::int32_t* d, std::size_t count, const LorenzoRow<std::int32_t>& row) {
  lorenzo::integrate_row(d, 0, count, row);
}

template <class T>
void scale(const std::int32_t* q, T* x, std::size_t count, T step) {
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<T>(q[i]) * step;
}

void cells(const std::int32_t* d, std::size_t blocks, int log2_block, std::uint16_t* result) {
  const std::size_t size = std::size_t{1} << log2_block;
  for (std::size_t block = 0; block < blocks; ++block) {
    result[block] =
        lorenzo::block_cell(lorenzo::block_features(d + block * size, size), log2_block);
  }
}

}  // namespace

LorenzoKernels lorenzo_reference() {
  return {{max_magnitude<float>, quantize<float>, scale<float>},
          {max_magnitude<double>, quantize<double>, scale<double>},
          difference,
          integrate,
          cells};
}

}  // namespace tensorpress::kernels
