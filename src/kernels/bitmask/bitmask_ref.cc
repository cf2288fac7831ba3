#include "kernels/bitmask/bitmask_ref.h"

namespace tensorpress::kernels {
namespace {

using namespace bitmask_detail;

template <class U, DType kType>
struct Plain {
  static bool pack_equal(const std::byte* values, std::size_t count, std::uint64_t other,
                         std::byte* bits) {
    return pack_equal_reference(reinterpret_cast<const U*>(values), count, static_cast<U>(other),
                                bits);
  }
  static void expand(const std::byte* bits, std::size_t count, std::uint64_t other,
                     std::byte* values, bool /*past_cache*/) {
    expand_reference(bits, count, static_cast<U>(other), reinterpret_cast<U*>(values));
  }
  static void pack_positive(const std::byte* values, std::size_t count, std::byte* bits) {
    pack_bits(reinterpret_cast<const U*>(values), count, bits,
              [](U value) { return is_positive(value, kPatterns<kType>); });
  }
  static void restore_positive(const std::byte* bits, std::size_t count, std::uint64_t tiny,
                               std::byte* values) {
    restore_positive_reference(bits, count, static_cast<U>(tiny), kPatterns<kType>,
                               reinterpret_cast<U*>(values));
  }
  static BitmaskKernels get() { return {pack_equal, expand, pack_positive, restore_positive}; }
};

}  // namespace

BitmaskKernels bitmask_reference(DType dtype) {
  return for_dtype<Plain>(dtype);
}

}  // namespace tensorpress::kernels
