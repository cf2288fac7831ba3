// The trained side of the Lorenzo coder: which cell of block features belongs to which class, the
// distribution of differences in each class, and that of a class below another. Fixed literals
// (tables.cc), so nothing of it is in a stream.
//
// Classes: 0 is a block of zeros; 1 … 20 have tables of their own; the others share four shapes at
// 20 scales: class 20 + 4 (k - 1) + shape + 1 codes d >> k with that shape and k raw low bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/lorenzo/lorenzo.h"
#include "kernels/rans/rans.h"

namespace tensorpress::dense {

inline constexpr std::size_t kOwnClasses = 20;
inline constexpr std::size_t kShapes = 4;
inline constexpr std::size_t kScales = kernels::kRansMaxLowBits;
inline constexpr std::size_t kClasses = 1 + kOwnClasses + kShapes * kScales;
/// Contexts: the class above, shapes of one scale taken together; the last one where none is known.
inline constexpr std::size_t kClassContexts = 1 + kOwnClasses + kScales + 1;

constexpr std::uint8_t class_context(std::uint8_t block_class) {
  return block_class <= kOwnClasses
             ? block_class
             : static_cast<std::uint8_t>(kOwnClasses + 1 +
                                         (block_class - kOwnClasses - 1) / kShapes);
}
inline constexpr std::uint8_t kNoContext = kClassContexts - 1;

struct LorenzoLiterals {
  /// [cell]
  std::array<std::uint8_t, kernels::kBlockCells> classes{};
  /// Bits a value in 1/256, [cell]: for choosing between predictors.
  std::array<std::uint16_t, kernels::kBlockCells> bits{};
  /// [own class or shape][symbol + 128]
  std::array<std::array<std::uint16_t, kernels::kRansSymbols>, kOwnClasses + kShapes> values{};
  /// [context][0 … 3 escapes, 4 + class]
  std::array<std::array<std::uint16_t, kernels::kRansEscapes + kClasses>, kClassContexts> below{};
};

/// tables.cc
const LorenzoLiterals& lorenzo_literals();

class LorenzoModel {
 public:
  explicit LorenzoModel(const LorenzoLiterals& literals);
  /// The one that streams are written with; built at first use.
  static const LorenzoModel& standard();

  std::uint8_t class_of_cell(std::uint16_t cell) const { return literals_.classes[cell]; }
  /// Table ids are classes.
  const kernels::RansTables& values() const { return values_; }
  /// Table ids are 1 + context.
  const kernels::RansTables& class_contexts() const { return class_contexts_; }
  /// Expected bits of a value of a block in that cell.
  float bits_of_cell(std::uint16_t cell) const { return bits_[cell]; }
  /// Bits of a class below another one.
  float class_bits(std::uint8_t context, std::uint8_t block_class) const {
    return class_bits_[context * kClasses + block_class];
  }

 private:
  const LorenzoLiterals& literals_;
  kernels::RansTables values_;
  kernels::RansTables class_contexts_;
  std::vector<float> bits_;
  std::vector<float> class_bits_;
};

}  // namespace tensorpress::dense
