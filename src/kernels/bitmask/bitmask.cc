#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/bitmask/bitmask.cc"
#include "kernels/highway_targets.h"
// (keep the order)
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "base/bytes.h"
#include "kernels/bitmask/bitmask_ref.h"

#if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {
namespace bitmask_inl {
namespace hn = hwy::HWY_NAMESPACE;
using namespace bitmask_detail;

// 64 values a turn: their bits are one word, whatever the width.
inline constexpr std::size_t kTurn = 64;
inline constexpr std::size_t kAheadBytes = 2048;

template <class D, class M>
HWY_INLINE std::uint64_t BitsOf(D d, M mask) {
  std::uint64_t bits = 0;
  hn::StoreMaskBits(d, mask, reinterpret_cast<std::uint8_t*>(&bits));
  return little_endian(bits);
}

template <class D>
HWY_INLINE hn::Mask<D> MaskOf(D d, std::uint64_t bits) {
  bits = little_endian(bits);
  return hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(&bits));
}

template <class U>
HWY_INLINE void PrefetchTurn(const U* values) {
  const char* const ahead = reinterpret_cast<const char*>(values) + kAheadBytes;
  for (std::size_t line = 0; line < kTurn * sizeof(U); line += 64) {
    __builtin_prefetch(ahead + line, 0, 3);
  }
}

template <class DI>
HWY_INLINE hn::Mask<DI> Positive(DI di, hn::Vec<DI> values, hn::TFromD<DI> last) {
  const auto zero = hn::Zero(di);
  if constexpr (sizeof(hn::TFromD<DI>) == 1) {
    return hn::Ne(values, zero);
  } else {
    return hn::AndNot(hn::Gt(values, hn::Set(di, last)), hn::Gt(values, zero));
  }
}

template <class U, DType kType>
struct Vectors {
  using D = hn::ScalableTag<U>;
  using DI = hn::RebindToSigned<D>;
  static constexpr std::size_t kLanes = hn::MaxLanes(D());

  static bool pack_equal(const std::byte* bytes, std::size_t count, std::uint64_t other,
                         std::byte* bits) {
    const D d;
    const auto* const values = reinterpret_cast<const U*>(bytes);
    const auto pattern = hn::Set(d, static_cast<U>(other));
    auto strange = hn::Zero(d);  // what is neither 0 nor the pattern leaves bits here
    std::size_t i = 0;
    for (; i + kTurn <= count; i += kTurn) {
      PrefetchTurn(values + i);
      std::uint64_t word = 0;
      TENSORPRESS_UNROLL
      for (std::size_t j = 0; j < kTurn; j += kLanes) {
        const auto value = hn::LoadU(d, values + i + j);
        const auto equal = hn::Eq(value, pattern);
        strange = hn::Or(strange, hn::IfThenZeroElse(equal, value));
        word |= BitsOf(d, equal) << j;
      }
      store_le(bits + i / 8, word);
    }
    return hn::AllTrue(d, hn::Eq(strange, hn::Zero(d))) &&
           pack_equal_reference(values + i, count - i, static_cast<U>(other), bits + i / 8);
  }

  template <bool kStream>
  static void expand_turns(const std::byte* bits, std::size_t count, U other, U* values) {
    const D d;
    const auto pattern = hn::Set(d, other);
    std::size_t i = 0;
    for (; i + kTurn <= count; i += kTurn) {
      const auto word = load_le<std::uint64_t>(bits + i / 8);
      TENSORPRESS_UNROLL
      for (std::size_t j = 0; j < kTurn; j += kLanes) {
        const auto value = hn::IfThenElseZero(MaskOf(d, word >> j), pattern);
        if constexpr (kStream) {
          hn::Stream(value, d, values + i + j);
        } else {
          hn::StoreU(value, d, values + i + j);
        }
      }
    }
    if constexpr (kStream) hwy::FlushStream();
    expand_reference(bits + i / 8, count - i, other, values + i);
  }
  static void expand(const std::byte* bits, std::size_t count, std::uint64_t other,
                     std::byte* bytes, bool past_cache) {
    auto* const values = reinterpret_cast<U*>(bytes);
    if (past_cache && reinterpret_cast<std::uintptr_t>(bytes) % (kLanes * sizeof(U)) == 0) {
      expand_turns<true>(bits, count, static_cast<U>(other), values);
    } else {
      expand_turns<false>(bits, count, static_cast<U>(other), values);
    }
  }

  static void pack_positive(const std::byte* bytes, std::size_t count, std::byte* bits) {
    const DI di;
    const auto* const values = reinterpret_cast<const U*>(bytes);
    std::size_t i = 0;
    for (; i + kTurn <= count; i += kTurn) {
      PrefetchTurn(values + i);
      std::uint64_t word = 0;
      TENSORPRESS_UNROLL
      for (std::size_t j = 0; j < kTurn; j += kLanes) {
        const auto value = hn::LoadU(di, reinterpret_cast<const hn::TFromD<DI>*>(values + i + j));
        word |= BitsOf(di, Positive(di, value, kPatterns<kType>.last)) << j;
      }
      store_le(bits + i / 8, word);
    }
    pack_bits(values + i, count - i, bits + i / 8,
              [](U value) { return is_positive(value, kPatterns<kType>); });
  }

  static void restore_positive(const std::byte* bits, std::size_t count, std::uint64_t tiny,
                               std::byte* bytes) {
    const DI di;
    auto* const values = reinterpret_cast<hn::TFromD<DI>*>(bytes);
    const auto smallest = hn::Set(di, static_cast<hn::TFromD<DI>>(tiny));
    std::size_t i = 0;
    for (; i + kTurn <= count; i += kTurn) {
      const auto word = load_le<std::uint64_t>(bits + i / 8);
      TENSORPRESS_UNROLL
      for (std::size_t j = 0; j < kTurn; j += kLanes) {
        const auto value = hn::LoadU(di, values + i + j);
        const auto positive = Positive(di, value, kPatterns<kType>.last);
        const auto with = hn::IfThenElse(positive, value, smallest);
        const auto without = hn::IfThenZeroElse(positive, value);
        hn::StoreU(hn::IfThenElse(MaskOf(di, word >> j), with, without), di, values + i + j);
      }
    }
    restore_positive_reference(bits + i / 8, count - i, static_cast<U>(tiny), kPatterns<kType>,
                               reinterpret_cast<U*>(bytes) + i);
  }

  static BitmaskKernels get() { return {pack_equal, expand, pack_positive, restore_positive}; }
};

}  // namespace bitmask_inl

BitmaskKernels GetBitmaskKernels(DType dtype) {
  return bitmask_detail::for_dtype<bitmask_inl::Vectors>(dtype);
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
#  include "kernels/dispatch.h"

namespace tensorpress::kernels {

BitmaskKernels bitmask_kernels(DType dtype, Isa isa) {
  TENSORPRESS_DISPATCH(isa, GetBitmaskKernels(dtype), bitmask_reference(dtype))
}

}  // namespace tensorpress::kernels
#endif
