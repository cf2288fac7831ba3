#include "csl/machine/operations.h"

namespace tensorpress::csl {
namespace {

using S = Scalar;
using O = Operation;

// Widths: the table of SIMD widths in the language's appendix. @fmacs and @fmuls are not in it;
// published counts of @fmuls (5,124 elements in 5,130 cycles) say 1.
constexpr OperationForm kForms[] = {
    {"mov16", O::move, 1, S::u16, S::u16, 4, 8},
    {"mov32", O::move, 1, S::u32, S::u32, 2, 4},
    {"fmovh", O::move, 1, S::f16, S::f16, 4, 8},
    {"fmovs", O::move, 1, S::f32, S::f32, 2, 4},
    {"add16", O::add, 2, S::i16, S::i16, 4, 8},
    {"addc16", O::add_with_carry, 2, S::u16, S::u16, 1, 8},
    {"sub16", O::subtract, 2, S::i16, S::i16, 4, 8},
    {"and16", O::bit_and, 2, S::u16, S::u16, 4, 8},
    {"or16", O::bit_or, 2, S::u16, S::u16, 4, 8},
    {"xor16", O::bit_xor, 2, S::u16, S::u16, 4, 8},
    {"sar16", O::shift_right_signed, 2, S::i16, S::i16, 1, 4},
    {"sll16", O::shift_left, 2, S::u16, S::u16, 1, 4},
    {"slr16", O::shift_right, 2, S::u16, S::u16, 1, 4},
    {"popcnt", O::population, 1, S::u16, S::u16, 1, 1},
    {"fadds", O::add, 2, S::f32, S::f32, 2, 4},
    {"faddh", O::add, 2, S::f16, S::f16, 4, 8},
    {"faddhs", O::add, 2, S::f32, S::f16, 2, 4},
    {"fsubs", O::subtract, 2, S::f32, S::f32, 2, 4},
    {"fsubh", O::subtract, 2, S::f16, S::f16, 4, 8},
    {"fmuls", O::multiply, 2, S::f32, S::f32, 1, 4},
    {"fmulh", O::multiply, 2, S::f16, S::f16, 4, 8},
    {"fmacs", O::multiply_add, 3, S::f32, S::f32, 1, 4},
    {"fmach", O::multiply_add, 3, S::f16, S::f16, 4, 8},
    {"fmachs", O::multiply_add, 3, S::f32, S::f16, 2, 4},
    {"fmaxs", O::maximum, 2, S::f32, S::f32, 1, 4},
    {"fmaxh", O::maximum, 2, S::f16, S::f16, 1, 8},
    {"fnegs", O::negate, 1, S::f32, S::f32, 2, 4},
    {"fnegh", O::negate, 1, S::f16, S::f16, 4, 8},
    {"fabss", O::absolute, 1, S::f32, S::f32, 2, 4},
    {"fabsh", O::absolute, 1, S::f16, S::f16, 4, 8},
    {"fh2s", O::convert, 1, S::f32, S::f16, 1, 4},
    {"fs2h", O::convert, 1, S::f16, S::f32, 1, 4},
    {"fh2xp16", O::convert, 1, S::i16, S::f16, 1, 8},
    {"fs2xp16", O::convert, 1, S::i16, S::f32, 1, 4},
    {"xp162fh", O::convert, 1, S::f16, S::i16, 1, 8},
    {"xp162fs", O::convert, 1, S::f32, S::i16, 1, 4},
};

}  // namespace

std::span<const OperationForm> operation_forms() {
  return kForms;
}

const OperationForm* operation_named(std::string_view name) {
  for (const OperationForm& form : kForms) {
    if (form.name == name) return &form;
  }
  return nullptr;
}

}  // namespace tensorpress::csl
