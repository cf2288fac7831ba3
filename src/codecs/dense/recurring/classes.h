// The numbers of a palette without an order, such as classes of land: no difference predicts, but a
// number is nearly always that of a neighbour. The context is which neighbours (contexts.h) are
// alike, and what is coded is the place in a list: W, N, B, NE, NW, each once, then all other
// numbers in ascending order.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "codecs/dense/recurring/contexts.h"

namespace tensorpress::dense {

/// So many entries have places that are symbols.
inline constexpr std::size_t kMostClasses = 127;

class ClassList {
 public:
  ClassList(int w, int n, int b, int ne, int nw) {
    for (const int number : {w, n, b, ne, nw}) {
      if (std::find(first_.begin(), first_.begin() + count_, number) == first_.begin() + count_) {
        first_[static_cast<std::size_t>(count_++)] = number;
      }
    }
  }
  int place_of(int number) const {
    int place = number + count_;
    for (int i = 0; i < count_; ++i) {
      if (first_[static_cast<std::size_t>(i)] == number) return i;
      place -= first_[static_cast<std::size_t>(i)] < number ? 1 : 0;
    }
    return place;
  }
  int number_at(int place) const {
    if (place < count_) return first_[static_cast<std::size_t>(place)];
    // As many numbers further as the list has had up to there.
    int number = place - count_;
    for (int had = -1; had != had_up_to(number);) {
      had = had_up_to(number);
      number = place - count_ + had;
    }
    return number;
  }

 private:
  int had_up_to(int number) const {
    return static_cast<int>(std::count_if(first_.begin(), first_.begin() + count_,
                                          [=](int listed) { return listed <= number; }));
  }

  std::array<int, 5> first_{};
  int count_ = 0;
};

/// Calls code(context, W, list) for `count` numbers within a row, where list() makes their
/// ClassList; what it returns is the number.
template <class Code>
void walk_classes(const NumberModel& model, std::uint16_t* at, std::size_t column,
                  std::size_t count, Code&& code) {
  const std::uint16_t* const above = at - model.row;
  const std::uint16_t* const behind = at - model.far;
  const std::size_t last = model.row - 1;
  int w = column == 0 ? above[0] : at[-1];
  int ww = column == 0 ? above[0] : column == 1 ? above[-1] : at[-2];
  int nw = column == 0 ? above[0] : above[-1];
  for (std::size_t i = 0; i < count; ++i) {
    const int n = above[i];
    const int ne = column + i == last ? n : above[i + 1];
    const int b = model.far == 0 ? w : behind[i];
    const auto alike = [](int a, int c, int bit) { return (a == c ? 1u : 0u) << bit; };
    const std::size_t context = alike(w, n, 0) | alike(w, nw, 1) | alike(n, nw, 2) |
                                alike(n, ne, 3) | alike(w, ne, 4) | alike(w, ww, 5) |
                                alike(b, w, 6) | alike(b, n, 7) | alike(b, ne, 8);
    const int number = code(context, w, [=] { return ClassList(w, n, b, ne, nw); });
    at[i] = static_cast<std::uint16_t>(number);
    ww = w;
    w = number;
    nw = n;
  }
}

}  // namespace tensorpress::dense
