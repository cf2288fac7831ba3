#include "wafer/field/sample_field.h"

#include <cmath>

#include "wafer/programs/coding/coding_pe.h"

namespace tensorpress::wafer {

std::vector<float> sample_field(std::size_t blocks) {
  std::vector<float> field(blocks * programs::kBlockValues);
  for (std::size_t i = 0; i < field.size(); ++i) {
    const auto x = static_cast<double>(i);
    const double rough = x / static_cast<double>(field.size());
    field[i] = static_cast<float>(std::sin(x / 40) + rough * rough * std::sin(x * 2.7));
  }
  return field;
}

}  // namespace tensorpress::wafer
