#include <array>

#include "kernels/squared_error/squared_error.h"

namespace tensorpress::kernels {

double squared_error_reference(const float* a, const float* b, std::size_t count) {
  std::array<double, 8> sums{};
  for (std::size_t i = 0; i < count; ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sums[i % 8] += difference * difference;
  }
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

}  // namespace tensorpress::kernels
