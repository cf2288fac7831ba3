// Rows of residuals or coefficients of a chunk in which hardly one is not zero: first whether a row
// has any, then which sixteen of it, then each value, by contexts that learn from the values
// before. Nothing of it depends on a table in the chunk.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "codecs/dense/adaptive/mixing.h"
#include "kernels/interpolation/interpolation.h"

namespace tensorpress::dense {

/// Codes values row by row, in the same way with an encoder and a decoder.
template <class Coder>
class AdaptiveRows {
 public:
  /// Groups of rows with statistics of their own.
  static constexpr std::size_t kGroups = 6;
  static constexpr std::size_t kClasses = kernels::kScaleClasses;
  static constexpr std::size_t kPiece = 16;

  AdaptiveRows() : model_(std::make_unique<Model>()) {}

  /// `classes` say how large values are expected to be. A decoder fills in `values`. Returns
  /// whether any is not zero.
  bool row(Coder& coder, std::size_t group, std::span<const std::uint8_t> classes,
           std::int32_t* values) {
    const std::size_t count = classes.size();
    begin_row(group, count);
    const std::uint8_t top = largest(classes.data(), count);
    std::uint8_t& recent = model_->recent[group];
    const bool any =
        mixed(coder, any_of(values, count), model_->mix_row[group], model_->row_top[group][top],
              model_->row_recent[group][recent], model_->row_both[recent & 3][top / 2]);
    recent = static_cast<std::uint8_t>((recent << 1 | (any ? 1 : 0)) & 7);
    if (!any) {
      fill_zeros(values, count);
      std::fill_n(current_.begin() + kMargin, count, 0);
      std::swap(current_, above_);
      return false;
    }
    bool met = false, left = false;
    for (std::size_t at = 0; at < count; at += kPiece) {
      const std::size_t end = std::min(at + kPiece, count);
      left = piece(coder, group, classes, values, at, end, left, met);
      met = met || left;
    }
    std::swap(current_, above_);
    return true;
  }

  /// A number by itself, byte by byte.
  std::uint64_t number(Coder& coder, std::uint64_t value) {
    std::uint64_t result = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const bool more =
          code_seen(coder, value >> shift > 0x7F, model_->more[std::min(shift / 7, 1)]);
      std::size_t node = 1;
      for (int bit = 6; bit >= 0; --bit) {
        const bool one = shift + bit < 64 && (value >> (shift + bit) & 1) != 0;
        node = node << 1 | (code_seen(coder, one, model_->digits[node]) ? 1u : 0u);
      }
      if (shift < 64) result |= std::uint64_t{node & 0x7F} << shift;
      if (!more) break;
    }
    return result;
  }

 private:
  static constexpr std::size_t kMargin = 2;
  static constexpr std::uint32_t kUnary = 14;  // sizes above 1 that have a decision each

  struct Model {
    template <std::size_t A, std::size_t B>
    using Grid = std::array<std::array<SeenBits, B>, A>;
    Grid<kGroups, kClasses> row_top, piece_top;
    Grid<kGroups, 8> row_recent;
    Grid<4, kClasses / 2> row_both;
    Grid<8, kClasses / 4> piece_near;
    Grid<kGroups, 8> piece_group;
    Grid<kGroups, kClasses> zero_class;
    Grid<kClasses / 2, 9> zero_sides;
    std::array<SeenBits, 243> zero_near;
    Grid<kGroups, 16> zero_sum;
    Grid<kGroups, 9> sign;
    Grid<kClasses, kUnary> size_class;
    Grid<kGroups * kClasses, kUnary> size_group;
    Grid<8, kUnary> size_near;
    std::array<SeenBits, 33> exponent;
    std::array<SeenBits, 128> digits;
    std::array<SeenBits, 2> more;
    std::array<MixWeights, kGroups> mix_row, mix_piece, mix_zero, mix_size;
    std::array<std::uint8_t, kGroups> recent{};

    Model() {
      // Most rows, pieces and values are empty where nothing is expected.
      for (std::size_t g = 0; g < kGroups; ++g) {
        for (std::size_t c = 0; c < kClasses; ++c) {
          row_top[g][c].probability = rises(c, 6);
          piece_top[g][c].probability = rises(c, 9);
          zero_class[g][c].probability = rises(c, 16);
        }
      }
      for (std::size_t c = 0; c < kClasses; ++c) {
        for (std::size_t k = 0; k < kUnary; ++k) size_class[c][k].probability = rises(c, 16 + k);
      }
    }
    // Half at class `middle`, and half the odds for each class below.
    static std::uint16_t rises(std::size_t of_class, std::size_t middle) {
      const std::int32_t odds =
          128 * (static_cast<std::int32_t>(of_class) - static_cast<std::int32_t>(middle));
      return static_cast<std::uint16_t>(probability_of(odds));
    }
  };

  template <class... Contexts>
  static bool mixed(Coder& coder, bool bit, MixWeights& weights, Contexts&... contexts) {
    const std::array<SeenBits*, sizeof...(Contexts)> all = {&contexts...};
    return code_mixed(coder, bit, all, weights);
  }

  // Sizes of the row before count only if it was as long and of the same group.
  void begin_row(std::size_t group, std::size_t count) {
    if (group == group_ && count == count_) return;
    group_ = group;
    count_ = count;
    above_.assign(count + 2 * kMargin, 0);
    current_.assign(count + 2 * kMargin, 0);
  }

  static std::uint8_t largest(const std::uint8_t* classes, std::size_t count) {
    std::uint8_t most = 0;
    for (std::size_t i = 0; i < count; ++i) most = std::max(most, classes[i]);
    return most;
  }
  static bool any_of(const std::int32_t* values, std::size_t count) {
    if constexpr (Coder::kDecodes) return false;
    std::int32_t any = 0;
    for (std::size_t i = 0; i < count; ++i) any |= values[i];
    return any != 0;
  }
  static void fill_zeros(std::int32_t* values, std::size_t count) {
    if constexpr (Coder::kDecodes) std::fill_n(values, count, 0);
  }

  bool piece(Coder& coder, std::size_t group, std::span<const std::uint8_t> classes,
             std::int32_t* values, std::size_t at, std::size_t end, bool left, bool met) {
    const std::uint8_t top = largest(classes.data() + at, end - at);
    std::uint8_t* const sizes = current_.data() + kMargin;
    const std::uint8_t* const above = above_.data() + kMargin;
    const auto any_above = [&](std::size_t from, std::size_t to) {
      return std::any_of(above + from, above + to, [](std::uint8_t size) { return size != 0; });
    };
    const std::size_t near = (left ? 1u : 0u) | (any_above(at, end) ? 2u : 0u) |
                             (any_above(end, std::min(end + kPiece, classes.size())) ? 4u : 0u);
    // The last piece of a row that has something has it if no other does.
    bool any = end == classes.size() && !met;
    if (!any) {
      any = mixed(coder, any_of(values + at, end - at), model_->mix_piece[group],
                  model_->piece_top[group][top], model_->piece_near[near][top / 4],
                  model_->piece_group[group][near]);
    }
    if (!any) {
      fill_zeros(values + at, end - at);
      std::fill(sizes + at, sizes + end, std::uint8_t{0});
      return false;
    }
    bool found = false;
    for (std::size_t x = at; x < end; ++x) {
      const bool must = x + 1 == end && !found;
      values[x] = value(coder, group, classes[x], values, x, sizes, above, must);
      const std::uint32_t size = size_of(values[x]);
      sizes[x] = static_cast<std::uint8_t>(std::min<std::uint32_t>(size, 255));
      found = found || size != 0;
    }
    return true;
  }

  static std::uint32_t size_of(std::int32_t value) {
    const auto bits = static_cast<std::uint32_t>(value);
    return value < 0 ? 0u - bits : bits;
  }

  std::int32_t value(Coder& coder, std::size_t group, std::size_t of_class,
                     const std::int32_t* values, std::size_t x, const std::uint8_t* sizes,
                     const std::uint8_t* above, bool must) {
    const std::int32_t given = Coder::kDecodes ? 0 : values[x];
    // Sizes around it: left, further left, above.
    const std::size_t w = sizes[static_cast<std::ptrdiff_t>(x) - 1],
                      ww = sizes[static_cast<std::ptrdiff_t>(x) - 2], n = above[x],
                      nw = above[static_cast<std::ptrdiff_t>(x) - 1], ne = above[x + 1];
    const auto two = [](std::size_t size) { return std::min<std::size_t>(size, 2); };
    const std::size_t sum = 2 * (w + n) + ww + nw + ne;
    if (!must) {
      const std::size_t near = (((two(w) * 3 + two(n)) * 3 + two(ww)) * 3 + two(nw)) * 3 + two(ne);
      const bool some =
          mixed(coder, given != 0, model_->mix_zero[group], model_->zero_class[group][of_class],
                model_->zero_sides[of_class / 2][two(w) * 3 + two(n)], model_->zero_near[near],
                model_->zero_sum[group][std::min<std::size_t>(sum, 15)]);
      if (!some) return 0;
    }
    const auto sign_of = [&](std::size_t at, std::size_t size) -> std::size_t {
      return size == 0 ? 0 : values[at] < 0 ? 1 : 2;
    };
    const std::size_t signs = w == 0 ? 0 : sign_of(x - 1, w);
    const bool negative = code_seen(coder, given < 0, model_->sign[group][signs]);
    const std::uint32_t more = size_of(given) - 1;
    const std::size_t around = std::min<std::size_t>(std::bit_width(sum), 7);
    std::uint32_t size = 0;
    while (size < kUnary &&
           mixed(coder, more > size, model_->mix_size[group], model_->size_class[of_class][size],
                 model_->size_group[group * kClasses + of_class][size],
                 model_->size_near[around][size])) {
      ++size;
    }
    if (size == kUnary) size = kUnary + static_cast<std::uint32_t>(large(coder, more - kUnary));
    const std::uint32_t bits = size + 1;
    return static_cast<std::int32_t>(negative ? 0u - bits : bits);
  }

  // Exponential Golomb code: how many bits the number and 1 have, then these bits.
  std::uint64_t large(Coder& coder, std::uint32_t number) {
    const std::uint64_t given = std::uint64_t{number} + 1;
    int bits = 0;
    while (bits < 32 && code_seen(coder, given >> (bits + 1) != 0,
                                  model_->exponent[static_cast<std::size_t>(bits)])) {
      ++bits;
    }
    std::uint64_t found = 1;
    for (int bit = bits - 1; bit >= 0; --bit) {
      found = found << 1 |
              (coder.code((given >> bit & 1) != 0, 1u << (kProbabilityBits - 1)) ? 1u : 0u);
    }
    return found - 1;
  }

  std::unique_ptr<Model> model_;
  std::size_t group_ = kGroups, count_ = 0;
  std::vector<std::uint8_t> above_, current_;
};

}  // namespace tensorpress::dense
