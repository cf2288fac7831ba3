#include "codecs/dense/adaptive/zero_flags.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "base/errors.h"
#include "codecs/dense/adaptive/mixing.h"

namespace tensorpress::dense {
namespace {

template <class T, class Coder>
class ZeroFlags {
 public:
  ZeroFlags(Coder& coder, const Extents& extents, double bound)
      : coder_(coder),
        extents_(extents),
        bound_(static_cast<T>(bound)),
        model_(std::make_unique<Model>()) {
    // What is above the bound as a number of T is above it.
    if (static_cast<double>(bound_) > bound) bound_ = std::nextafter(bound_, static_cast<T>(0));
  }

  /// Without originals: decodes. False where a decoder runs out of bytes.
  bool run(T* values, const T* originals) {
    const std::size_t pieces = (extents_[2] + kPiece - 1) / kPiece;
    std::vector<std::uint8_t> behind(extents_[1] * pieces, kNone), now(pieces, kNone);
    for (std::size_t z = 0; z < extents_[0]; ++z) {
      for (std::size_t y = 0; y < extents_[1]; ++y) {
        // `behind` has this plane's pieces above this row, and the plane before from here on.
        std::uint8_t* const here = behind.data() + y * pieces;
        std::uint8_t left = kNone;
        for (std::size_t p = 0; p < pieces; ++p) {
          const std::size_t at = ((z * extents_[1] + y) * extents_[2]) + p * kPiece;
          const std::size_t count = std::min(kPiece, extents_[2] - p * kPiece);
          const std::uint8_t above = y > 0 ? behind[(y - 1) * pieces + p] : std::uint8_t{kNone};
          here[p] = left = piece(values + at, originals == nullptr ? nullptr : originals + at,
                                 count, left, above, here[p]);
        }
        if constexpr (Coder::kDecodes) {
          if (coder_.ran_out()) return false;
        }
      }
    }
    return true;
  }

 private:
  static constexpr std::size_t kPiece = 16;
  static constexpr std::size_t kSizes = 6;  // of a value as a share of the bound, in factors of 8
  // Of a piece: no value is asked for; all of them are zero, none, or some.
  enum State : std::uint8_t { kNone = 0, kAll = 1, kKept = 2, kSome = 3 };

  struct Model {
    std::array<std::array<SeenBits, kSizes>, 4> all_left;
    std::array<SeenBits, 64> all_near;
    std::array<std::array<SeenBits, kSizes>, 64> all_both;
    std::array<SeenBits, 64> none_near;
    std::array<std::array<SeenBits, kSizes>, 3> zero_left;
    std::array<std::array<SeenBits, kSizes>, 3 * 64> zero_near;
    MixWeights mix_all, mix_zero;
  };

  std::size_t share_of(T size) const {
    T limit = bound_;
    for (std::size_t i = 0; i + 1 < kSizes; ++i) {
      limit *= static_cast<T>(0.125);
      if (size > limit) return i;
    }
    return kSizes - 1;
  }

  struct Piece {
    std::uint32_t asked = 0, must = 0, may = 0;  // a bit a value
    T largest = 0;                               // of those asked for
  };
  // Without branches, for where values are near zero, which of them are within the bound is as good
  // as random.
  template <bool kOriginals>
  Piece look_at(const T* values, const T* originals, std::size_t count) const {
    static constexpr std::array<std::uint32_t, 16> kBits = {
        1u << 0, 1u << 1, 1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,
        1u << 8, 1u << 9, 1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15};
    static_assert(kPiece == kBits.size());
    using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    // Most fields are far from zero nearly everywhere.
    const T bound = bound_;
    Bits any = 0;
    for (std::size_t i = 0; i < count; ++i) any |= std::abs(values[i]) <= bound ? 1 : 0;
    Piece found;
    if (any == 0) return found;
    Bits largest = 0;  // sizes are in the order of their bits
    for (std::size_t i = 0; i < count; ++i) {
      const T size = std::abs(values[i]);
      const bool asked = (size > 0) & (size <= bound);
      found.asked |= asked ? kBits[i] : 0;
      const Bits bits = asked ? std::bit_cast<Bits>(size) : Bits{0};
      largest = bits > largest ? bits : largest;
      if constexpr (kOriginals) {
        const T original = std::abs(originals[i]);
        found.must |= (original == 0) ? kBits[i] : 0;
        found.may |= (original > bound) ? 0 : kBits[i];
      }
    }
    found.must &= found.asked;
    found.may &= found.asked & ~found.must;
    found.largest = std::bit_cast<T>(largest);
    return found;
  }

  std::uint8_t piece(T* values, const T* originals, std::size_t count, std::uint8_t left,
                     std::uint8_t above, std::uint8_t behind) {
    Piece found;
    if (count == kPiece) {
      found = originals == nullptr ? look_at<false>(values, originals, kPiece)
                                   : look_at<true>(values, originals, kPiece);
    } else {
      found = originals == nullptr ? look_at<false>(values, originals, count)
                                   : look_at<true>(values, originals, count);
    }
    const auto [asked, must, may, largest] = found;
    if (asked == 0) return kNone;
    const std::size_t share = share_of(largest);
    const std::size_t near = left * 16u + above * 4u + behind;
    const bool all_allowed = (must | may) == asked, none_allowed = must == 0;
    // What may be either is what the pieces around it are.
    const bool likes_zeros =
        (left == kAll ? 1 : 0) + (above == kAll ? 1 : 0) + (behind == kAll ? 1 : 0) >= 2;
    const bool all =
        mixed(all_allowed && (likes_zeros || !none_allowed), model_->mix_all,
              model_->all_left[left][share], model_->all_near[near], model_->all_both[near][share]);
    if (all) {
      set(values, asked);
      return kAll;
    }
    if (code_seen(coder_, none_allowed, model_->none_near[near])) return kKept;
    std::size_t last = 0;
    std::uint32_t zeros = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if ((asked >> i & 1) == 0) {
        last = 0;
        continue;
      }
      const bool wanted = (must >> i & 1) != 0 || ((may >> i & 1) != 0 && last == 1);
      const std::size_t size = share_of(std::abs(values[i]));
      const bool zero = mixed(wanted, model_->mix_zero, model_->zero_left[last][size],
                              model_->zero_near[last * 64 + near][size]);
      if (zero) zeros |= 1u << i;
      last = zero ? 1 : 2;
    }
    set(values, zeros);
    return kSome;
  }

  static void set(T* values, std::uint32_t which) {
    for (std::size_t i = 0; which != 0; ++i, which >>= 1) {
      if ((which & 1) != 0) values[i] = 0;
    }
  }

  template <class... Contexts>
  bool mixed(bool bit, MixWeights& weights, Contexts&... contexts) {
    const std::array<SeenBits*, sizeof...(Contexts)> all = {&contexts...};
    return code_mixed(coder_, bit, all, weights);
  }

  Coder& coder_;
  Extents extents_;
  T bound_;
  std::unique_ptr<Model> model_;
};

}  // namespace

template <class T>
std::vector<std::byte> flag_zeros(std::span<T> values, std::span<const T> originals,
                                  const Extents& extents, double bound) {
  BitEncoder coder;
  ZeroFlags<T, BitEncoder>(coder, extents, bound).run(values.data(), originals.data());
  return coder.finish();
}
template std::vector<std::byte> flag_zeros(std::span<float>, std::span<const float>, const Extents&,
                                           double);
template std::vector<std::byte> flag_zeros(std::span<double>, std::span<const double>,
                                           const Extents&, double);

template <class T>
Result<void> set_flagged_zeros(std::span<const std::byte> flags, std::span<T> values,
                               const Extents& extents, double bound) {
  BitDecoder coder(flags);
  if (!ZeroFlags<T, BitDecoder>(coder, extents, bound).run(values.data(), nullptr)) {
    return truncated("a chunk ends within its flags of zeros");
  }
  if (!coder.finished()) return corrupt("a chunk's flags of zeros do not end where they should");
  return {};
}
template Result<void> set_flagged_zeros(std::span<const std::byte>, std::span<float>,
                                        const Extents&, double);
template Result<void> set_flagged_zeros(std::span<const std::byte>, std::span<double>,
                                        const Extents&, double);

}  // namespace tensorpress::dense
