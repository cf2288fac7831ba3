#include "base/tensor/elements.h"

#include "kernels/elements/elements.h"

namespace tensorpress::kernels {
namespace {

template <DType kType>
constexpr ElementConversion kConversion = {
    [](const std::byte* from, std::size_t count, float* to) {
      load_elements(kType, from, static_cast<std::int64_t>(size_of(kType)), count, to);
    },
    [](const float* from, std::size_t count, std::byte* to) {
      store_elements(kType, from, to, static_cast<std::int64_t>(size_of(kType)), count);
    }};

}  // namespace

ElementConversion element_conversion_reference(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return kConversion<DType::f64>;
    case DType::f16:
      return kConversion<DType::f16>;
    case DType::bf16:
      return kConversion<DType::bf16>;
    case DType::u8:
      return kConversion<DType::u8>;
    case DType::i16:
      return kConversion<DType::i16>;
    case DType::f32:
      break;
  }
  return kConversion<DType::f32>;
}

}  // namespace tensorpress::kernels
