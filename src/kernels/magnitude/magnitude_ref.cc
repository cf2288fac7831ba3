#include <algorithm>
#include <bit>

#include "kernels/magnitude/magnitude.h"

namespace tensorpress::kernels {

std::uint32_t largest_magnitude_reference(const float* values, std::size_t count) {
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(values[i]) & 0x7FFFFFFFu);
  }
  return largest;
}

}  // namespace tensorpress::kernels
