// Predicts the number of a palette entry from its neighbours and says what kind of place it is.
//
//   NW  N  NE       and, a plane before,   BW  B
//   WW  W  ?
//
// Numbers are a ring: all differences are taken modulo the number of entries, so angles may wrap.
// A context is four differences between neighbours, each in five steps from far below to far above.
// They say where an edge runs, and along an edge the next number is nearly certain. Beyond the
// first row and plane numbers are 0; beyond a row's ends its neighbours above stand in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tensorpress::dense {

enum class NumberPredictor : std::uint8_t {
  left = 0,    // W
  plane = 1,   // W + N - NW
  mean = 2,    // (2 W + 2 N + NW + NE + 3) / 6
  slope = 3,   // 2 W - WW
  behind = 4,  // B
  drift = 5,   // W + B - BW
  alike = 6,   // one of the neighbours' (classes.h)
};
inline constexpr std::size_t kNumberPredictors = 7;

/// The fourth part of a context.
enum class ContextPart : std::uint8_t {
  run = 0,     // W - WW
  level = 1,   // N among four thresholds
  behind = 2,  // B - N
};
inline constexpr std::size_t kContextParts = 3;

struct NumberModel {
  std::size_t entries = 1;
  std::size_t row = 1;  // values a row
  std::size_t far = 0;  // values between a place and the one behind it; 0: there is none
  NumberPredictor predictor = NumberPredictor::left;
  ContextPart part = ContextPart::run;
  std::uint16_t small = 1, large = 2;  // differences from these on are a step more
  std::array<std::uint16_t, 4> levels{};

  bool needs_far() const {
    return predictor == NumberPredictor::behind || predictor == NumberPredictor::drift ||
           part == ContextPart::behind;
  }
  /// Zeros that stand before the first number.
  std::size_t lead() const { return row > far ? row : far; }
};

inline constexpr std::size_t kSteps = 5;
inline constexpr std::size_t kContexts = kSteps * kSteps * kSteps * kSteps;

/// Walks over numbers in C order, by stretches of a row.
class NumberWalk {
 public:
  static constexpr std::size_t kStretch = 4096;

  explicit NumberWalk(const NumberModel& model);

  /// `at` is the number in column `column`, with model.lead() numbers before the first of all.
  /// Calls code(context, prediction) for `count` <= kStretch numbers within a row; what it returns
  /// is the number.
  template <class Code>
  void stretch(std::uint16_t* at, std::size_t column, std::size_t count, Code&& code) {
    prepare(at, column, count);
    if (model_.part == ContextPart::run) return dispatch<true>(at, column, count, code);
    return dispatch<false>(at, column, count, code);
  }

 private:
  void prepare(const std::uint16_t* at, std::size_t column, std::size_t count);

  template <bool kRun, class Code>
  void dispatch(std::uint16_t* at, std::size_t column, std::size_t count, Code&& code) {
    switch (model_.predictor) {
      case NumberPredictor::mean:
        return walk<kRun>(at, column, count, code, [](int w, int, int base) {
          return static_cast<int>(static_cast<unsigned>(2 * w + base) / 6);
        });
      case NumberPredictor::slope:
        return walk<kRun>(at, column, count, code,
                          [this](int w, int ww, int) { return wrap(2 * w - ww); });
      case NumberPredictor::behind:
        return walk<kRun>(at, column, count, code, [](int, int, int base) { return base; });
      default:
        return walk<kRun>(at, column, count, code,
                          [this](int w, int, int base) { return wrap(w + base); });
    }
  }

  int wrap(int number) const {
    number += number < 0 ? entries_ : 0;
    return number - (number >= entries_ ? entries_ : 0);
  }

  template <bool kRun, class Code, class Predict>
  void walk(std::uint16_t* at, std::size_t column, std::size_t count, Code&& code,
            const Predict& predict) {
    const std::uint16_t* const above = at - model_.row;
    const std::uint8_t* const step = steps_.data() + entries_;
    int w = column == 0 ? above[0] : at[-1];
    int ww = column == 0 ? above[0] : column == 1 ? above[-1] : at[-2];
    int nw = column == 0 ? above[0] : above[-1];
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t context = sides_[i] + kSteps * step[w - nw];
      if constexpr (kRun) context += step[w - ww];
      const auto number = code(context, predict(w, ww, bases_[i]));
      at[i] = static_cast<std::uint16_t>(number);
      ww = w;
      w = number;
      nw = above[i];
    }
  }

  NumberModel model_;
  int entries_;
  std::vector<std::uint8_t> steps_;            // [difference + entries]
  std::vector<std::uint8_t> levels_;           // [number]
  std::array<std::uint16_t, kStretch> sides_;  // what of a context comes from other rows
  std::array<std::int32_t, kStretch> bases_;   // what of a prediction does
};

/// The difference of two numbers on a ring of `entries`.
inline int number_difference(int number, int prediction, std::size_t entries) {
  const int ring = static_cast<int>(entries);
  int difference = number - prediction;
  difference -= difference > (ring - 1) / 2 ? ring : 0;
  return difference + (difference < -(ring / 2) ? ring : 0);
}

/// Calls each(start, column, count) for the stretches of a chunk until it returns false.
template <class Each>
void for_each_stretch(std::size_t row, std::size_t count, const Each& each) {
  for (std::size_t start = 0; start < count; start += row) {
    const std::size_t end = start + row < count ? start + row : count;
    for (std::size_t at = start; at < end; at += NumberWalk::kStretch) {
      if (!each(at, at - start,
                end - at < NumberWalk::kStretch ? end - at : NumberWalk::kStretch)) {
        return;
      }
    }
  }
}

}  // namespace tensorpress::dense
