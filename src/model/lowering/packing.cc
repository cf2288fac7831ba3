#include "model/lowering/packing.h"

#include "base/errors.h"

namespace tensorpress::model {
namespace {

std::string bound_arguments(const Storing& storing) {
  return text("\"", storing.codec, "\", \"", storing.bound, "\", ", storing.bound_value);
}

}  // namespace

std::string dtype_argument(const TensorType& type) {
  return type.element == Element::f32 ? "" : text(", ", torch_name(type.element));
}

bool packs_randomly(const Storing& storing, const std::string& bits) {
  const bool adaptive = bits != text(storing.bits);
  return storing.kind == Storing::Kind::quantize && (storing.stochastic || adaptive);
}

std::string pack_expression(const Storing& storing, const std::string& bits,
                            const std::string& variable, const std::string& seed) {
  switch (storing.kind) {
    case Storing::Kind::quantize:
      if (bits != text(storing.bits)) {
        return text("pack_adaptive(", variable, ", ", bits, ", ", seed, ")");
      }
      if (storing.stochastic) {
        return text("pack_bits(", variable, ", ", bits, ", \"stochastic\", ", seed, ")");
      }
      return text("pack_bits(", variable, ", ", bits, ")");
    case Storing::Kind::cast:
      return text("pack_cast(", variable, ", \"", storing.type, "\")");
    case Storing::Kind::chop:
      return text("pack_chop(", variable, ", ", storing.chop_factor, ")");
    case Storing::Kind::bounded:
      return text("pack_bounded(", variable, ", ", bound_arguments(storing), ")");
    case Storing::Kind::offload:
      return text("to_host(", variable, ")");
    default:
      return variable;
  }
}

std::string unpack_expression(const Storing& storing, const std::string& bits,
                              const std::string& stored, const TensorType& type) {
  switch (storing.kind) {
    case Storing::Kind::quantize:
      return text("unpack_bits(", stored, ", ", bits, ", ", to_python(type.shape),
                  dtype_argument(type), ")");
    case Storing::Kind::cast:
      return text("unpack_cast(", stored, ", \"", storing.type, "\", ", to_python(type.shape), ", ",
                  torch_name(type.element), ")");
    case Storing::Kind::chop:
      return text("unpack_chop(", stored, ", ", storing.chop_factor, ", ", to_python(type.shape),
                  ")");
    case Storing::Kind::bounded:
      return text("unpack_bounded(", stored, ", ", bound_arguments(storing), ", ",
                  to_python(type.shape), ", ", torch_name(type.element), ")");
    case Storing::Kind::offload:
      return text("to_device(", stored, ", gradient)");
    default:
      return stored;
  }
}

std::string unpack_slices_expression(const Storing& storing, const std::string& bits,
                                     const std::string& stored, const TensorType& type) {
  if (storing.kind == Storing::Kind::cast) {
    return text("cast_slices(", stored, ", ", torch_name(type.element), ")");
  }
  return text("unpack_slices(", stored, ", ", bits, ", ", to_python(type.shape),
              dtype_argument(type), ")");
}

}  // namespace tensorpress::model
