#include "codecs/dense/lorenzo/model.h"

#include <algorithm>

namespace tensorpress::dense {
namespace {

std::vector<kernels::RansTable> value_tables(const LorenzoLiterals& literals) {
  std::vector<kernels::RansTable> tables;
  for (std::size_t own = 0; own < kOwnClasses; ++own) tables.push_back({literals.values[own], 0});
  for (std::size_t scale = 1; scale <= kScales; ++scale) {
    for (std::size_t shape = 0; shape < kShapes; ++shape) {
      tables.push_back({literals.values[kOwnClasses + shape], static_cast<int>(scale)});
    }
  }
  return tables;
}

std::vector<kernels::RansTable> class_tables(const LorenzoLiterals& literals) {
  std::vector<kernels::RansTable> tables(kClassContexts);
  for (std::size_t context = 0; context < kClassContexts; ++context) {
    const auto& from = literals.below[context];
    auto& to = tables[context].frequencies;
    std::copy_n(from.begin(), kernels::kRansEscapes, to.begin());
    std::copy(from.begin() + kernels::kRansEscapes, from.end(),
              to.begin() - kernels::kRansFirstSymbol);
  }
  return tables;
}

}  // namespace

LorenzoModel::LorenzoModel(const LorenzoLiterals& literals)
    : literals_(literals),
      values_(value_tables(literals)),
      class_contexts_(class_tables(literals)),
      bits_(kernels::kBlockCells),
      class_bits_(kClassContexts * kClasses) {
  for (std::size_t cell = 0; cell < bits_.size(); ++cell) {
    bits_[cell] = static_cast<float>(literals.bits[cell]) / 256;
  }
  for (std::size_t context = 0; context < kClassContexts; ++context) {
    for (std::size_t block_class = 0; block_class < kClasses; ++block_class) {
      class_bits_[context * kClasses + block_class] = static_cast<float>(
          class_contexts_.bits(context + 1, static_cast<std::int32_t>(block_class)));
    }
  }
}

const LorenzoModel& LorenzoModel::standard() {
  // Never destroyed: HDF5 may still compress chunks while the process ends.
  static const LorenzoModel& model = *new const LorenzoModel(lorenzo_literals());
  return model;
}

}  // namespace tensorpress::dense
