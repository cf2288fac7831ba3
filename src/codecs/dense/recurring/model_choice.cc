#include "codecs/dense/recurring/model_choice.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "codecs/dense/recurring/context_tables.h"
#include "codecs/dense/recurring/walk.h"

namespace tensorpress::dense {
namespace {

constexpr std::size_t kSampled = std::size_t{1} << 15;
constexpr std::size_t kSampledThoroughly = std::size_t{1} << 18;
// Better contexts save up to a third, and what others take is estimated up to 40 % too low.
constexpr double kHopeless = 2;
constexpr double kTooMany = 1.5;

// Four thresholds that leave about a fifth of the numbers between them.
std::array<std::uint16_t, 4> fifths(std::span<const std::uint16_t> numbers, std::size_t entries) {
  std::vector<std::uint32_t> counts(entries);
  for (std::size_t i = 0; i < numbers.size(); i += 7) ++counts[numbers[i]];
  const std::size_t all = (numbers.size() + 6) / 7;
  std::array<std::uint16_t, 4> levels{};
  std::size_t below = 0;
  std::size_t level = 0;
  for (std::size_t number = 0; number < entries && level < 4; ++number) {
    below += counts[number];
    while (level < 4 && below * 5 >= all * (level + 1)) {
      levels[level++] = static_cast<std::uint16_t>(number + 1);
    }
  }
  return levels;
}

class Trials {
 public:
  Trials(std::span<std::uint16_t> numbers, bool thorough)
      : numbers_(numbers),
        every_(std::max<std::size_t>(
            1, numbers.size() / (thorough ? kSampledThoroughly : kSampled))) {}

  // Keeps the better of this model and the best one before.
  void look_at(const NumberModel& model) {
    histogram_.clear();
    ModelWalk walk(model);
    std::size_t stretch = every_ / 2;
    for_each_stretch(model.row, numbers_.size(), [&](auto at, auto column, auto count) {
      if (stretch++ % every_ != 0) return true;
      walk.encode(numbers_.data() + at, column, count,
                  [&](std::size_t context, int symbol) { histogram_.add(context, symbol); });
      return true;
    });
    const double bits = estimate_bits(histogram_, static_cast<std::uint32_t>(every_));
    if (bits >= least_) return;
    least_ = bits;
    best_ = model;
  }
  const NumberModel& best() const { return best_; }
  double least_bits() const { return least_; }

 private:
  std::span<std::uint16_t> numbers_;
  std::size_t every_;
  ContextHistogram histogram_;
  double least_ = std::numeric_limits<double>::infinity();
  NumberModel best_;
};

struct Thresholds {
  std::uint16_t small, large;
};
constexpr std::array<Thresholds, 4> kThresholds = {{{1, 2}, {2, 6}, {4, 12}, {8, 24}}};

}  // namespace

NumberModel geometry_of(const Fold& fold, std::size_t entries) {
  NumberModel model;
  model.entries = entries;
  model.row = fold.nx;
  model.far = fold.nz > 1 ? fold.ny * fold.nx : 0;
  return model;
}

std::optional<NumberModel> choose_model(const NumberModel& geometry,
                                        std::span<std::uint16_t> numbers,
                                        const PaletteEffort& effort) {
  NumberModel model = geometry;
  const bool deep = model.far > 0;
  model.part = deep ? ContextPart::behind : ContextPart::run;
  model.levels = fifths(numbers, model.entries);
  Trials trials(numbers, effort.thorough);
  for (std::size_t p = 0; p < kNumberPredictors; ++p) {
    model.predictor = static_cast<NumberPredictor>(p);
    const bool classes = model.predictor == NumberPredictor::alike;
    if (classes && model.entries > kMostClasses) continue;
    // Without planes, the second row above tells more than nothing.
    if (classes && !deep && 2 * model.row <= numbers.size()) model.far = 2 * model.row;
    if (deep || classes || !model.needs_far()) trials.look_at(model);
  }
  if (trials.least_bits() > kHopeless * effort.most_bits) return std::nullopt;
  model = trials.best();
  if (model.predictor == NumberPredictor::alike) return model;
  for (const auto [small, large] : kThresholds) {
    if (small > model.entries / 2) break;
    for (std::size_t part = 0; part < kContextParts; ++part) {
      model.part = static_cast<ContextPart>(part);
      model.small = small;
      model.large = large;
      if (deep || !model.needs_far()) trials.look_at(model);
    }
  }
  if (trials.least_bits() > kTooMany * effort.most_bits) return std::nullopt;
  return trials.best();
}

}  // namespace tensorpress::dense
