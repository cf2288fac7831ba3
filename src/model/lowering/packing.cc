#include "model/lowering/packing.h"

namespace tensorpress::model {
namespace {

Operands bound_operands(const Storing& storing) {
  return {storing.codec, storing.bound, storing.bound_value};
}

}  // namespace

Operands dtype_operand(const TensorType& type) {
  if (type.element == Element::f32) return {};
  return {type.element};
}

bool packs_randomly(const Storing& storing, const Expression& bits) {
  return storing.kind == Storing::Kind::quantize && (storing.stochastic || !bits.is_integer());
}

Expression pack_expression(const Storing& storing, const Expression& bits,
                           const Expression& variable, const Expression& seed) {
  switch (storing.kind) {
    case Storing::Kind::quantize:
      if (!bits.is_integer()) return function("pack_adaptive", variable, bits, seed);
      if (storing.stochastic) return function("pack_bits", variable, bits, "stochastic", seed);
      return function("pack_bits", variable, bits);
    case Storing::Kind::cast:
      return function("pack_cast", variable, storing.type);
    case Storing::Kind::chop:
      return function("pack_chop", variable, storing.chop_factor);
    case Storing::Kind::bounded:
      return function("pack_bounded", variable, bound_operands(storing));
    case Storing::Kind::offload:
      return function("to_host", variable);
    default:
      return variable;
  }
}

Expression unpack_expression(const Storing& storing, const Expression& bits,
                             const Expression& stored, const TensorType& type) {
  switch (storing.kind) {
    case Storing::Kind::quantize:
      return function("unpack_bits", stored, bits, type.shape, dtype_operand(type));
    case Storing::Kind::cast:
      return function("unpack_cast", stored, storing.type, type.shape, type.element);
    case Storing::Kind::chop:
      return function("unpack_chop", stored, storing.chop_factor, type.shape);
    case Storing::Kind::bounded:
      return function("unpack_bounded", stored, bound_operands(storing), type.shape, type.element);
    case Storing::Kind::offload:
      return function("to_device", stored, word("gradient"));
    default:
      return stored;
  }
}

Expression unpack_slices_expression(const Storing& storing, const Expression& bits,
                                    const Expression& stored, const TensorType& type) {
  if (storing.kind == Storing::Kind::cast) return function("cast_slices", stored, type.element);
  return function("unpack_slices", stored, bits, type.shape, dtype_operand(type));
}

}  // namespace tensorpress::model
