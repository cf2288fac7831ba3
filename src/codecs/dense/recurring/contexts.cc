#include "codecs/dense/recurring/contexts.h"

#include <algorithm>

namespace tensorpress::dense {

NumberWalk::NumberWalk(const NumberModel& model)
    : model_(model),
      entries_(static_cast<int>(model.entries)),
      steps_(2 * model.entries + 1),
      levels_(model.entries) {
  for (int difference = -entries_; difference <= entries_; ++difference) {
    const int around = difference > (entries_ - 1) / 2 ? difference - entries_
                       : difference < -(entries_ / 2)  ? difference + entries_
                                                       : difference;
    const int size = around < 0 ? -around : around;
    const int steps = size < model.small ? 0 : size < model.large ? 1 : 2;
    steps_[static_cast<std::size_t>(difference + entries_)] =
        static_cast<std::uint8_t>(around < 0 ? 2 - steps : 2 + steps);
  }
  for (std::size_t number = 0; number < model.entries; ++number) {
    levels_[number] = static_cast<std::uint8_t>(
        std::ranges::count_if(model.levels, [&](std::uint16_t level) { return number >= level; }));
  }
}

void NumberWalk::prepare(const std::uint16_t* at, std::size_t column, std::size_t count) {
  const std::uint16_t* const above = at - model_.row;
  const std::uint16_t* const behind = at - model_.far;
  const std::uint8_t* const step = steps_.data() + entries_;
  const std::size_t last = model_.row - 1;
  int nw = column == 0 ? above[0] : above[-1];
  for (std::size_t i = 0; i < count; ++i) {
    const int n = above[i];
    const int ne = column + i == last ? n : above[i + 1];
    std::size_t side = kSteps * kSteps * (kSteps * step[ne - n] + step[n - nw]);
    if (model_.part == ContextPart::level) side += levels_[static_cast<std::size_t>(n)];
    if (model_.part == ContextPart::behind) side += step[behind[i] - n];
    sides_[i] = static_cast<std::uint16_t>(side);
    if (model_.predictor == NumberPredictor::plane) bases_[i] = n - nw;
    if (model_.predictor == NumberPredictor::mean) bases_[i] = 2 * n + nw + ne + 3;
    nw = n;
  }
  switch (model_.predictor) {
    case NumberPredictor::left:
      std::fill_n(bases_.begin(), count, 0);
      break;
    case NumberPredictor::behind:
      for (std::size_t i = 0; i < count; ++i) bases_[i] = behind[i];
      break;
    case NumberPredictor::drift:
      bases_[0] = column == 0 ? 0 : behind[0] - behind[-1];
      for (std::size_t i = 1; i < count; ++i)
        bases_[i] = behind[i] - behind[static_cast<std::ptrdiff_t>(i) - 1];
      break;
    default:
      break;
  }
}

}  // namespace tensorpress::dense
