#include "reproduction/label.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace tensorpress::report {
namespace {

using devices::Device;
using devices::Origin;

// A number has moved when it differs by more than this share.
constexpr double kMoved = 0.01;
// What a constant of 0 seconds is tried with: about a launch.
constexpr double kInsteadOfZero = 1e-5;

double scaled(double value, double factor) {
  return value == 0 ? factor * kInsteadOfZero : value * factor;
}

bool has_moved(const std::optional<double>& before, const std::optional<double>& after) {
  if (before.has_value() != after.has_value()) return true;
  return before && std::abs(*after - *before) > kMoved * std::abs(*before);
}

/// Collects what a row rests on.
class Grounds {
 public:
  explicit Grounds(std::string_view row) : row_(row) {}

  void add_constant(const std::string& name, Origin origin,
                    const std::vector<std::string>& fitted_on) {
    if (origin == Origin::inferred) {
      add(RowLabel::inferred, text(name, " (inferred)"));
    } else if (origin == Origin::fitted) {
      const bool on_this = std::ranges::find(fitted_on, row_) != fitted_on.end();
      add(on_this ? RowLabel::calibrated : RowLabel::predicted,
          text(name, on_this ? " (fitted on this)" : " (fitted on another number)"));
    }
  }
  void add_stated(const std::string& name) {
    add(RowLabel::stated, text(name, " (taken from this outcome)"));
  }
  void add_assumption(const std::string& assumption) {
    add(RowLabel::inferred, text("assumed: ", assumption));
  }

  Basis basis() && {
    std::ranges::stable_sort(grounds_, std::greater(), &Ground::label);
    Basis basis{.label = RowLabel::predicted};
    for (Ground& ground : grounds_) {
      basis.label = std::max(basis.label, ground.label);
      basis.rests_on.push_back(std::move(ground.what));
    }
    return basis;
  }

 private:
  struct Ground {
    RowLabel label;
    std::string what;
  };
  void add(RowLabel label, std::string what) { grounds_.push_back({label, std::move(what)}); }

  std::string_view row_;
  std::vector<Ground> grounds_;
};

/// The device with those operators that publications told of the other way round.
Device with_other_outcomes(Device device, const std::string& stack_name) {
  devices::Stack& stack = device.stacks.at(stack_name);
  for (const std::string& name : stack.from_outcomes) {
    const auto at = std::ranges::lower_bound(stack.operators, name);
    if (at != stack.operators.end() && *at == name) {
      stack.operators.erase(at);
    } else {
      stack.operators.insert(at, name);
    }
  }
  return device;
}

}  // namespace

std::string_view name_of(RowLabel label) {
  constexpr std::array<std::string_view, kLabels.size()> kNames = {
      "measured", "predicted", "inferred", "calibrated", "stated"};
  return kNames[static_cast<std::size_t>(label)];
}

std::string_view meaning_of(RowLabel label) {
  constexpr std::array<std::string_view, kLabels.size()> kMeanings = {
      "the code was run", "a model that rests on facts and on constants fitted on other numbers",
      "a model with a constant or a scenario that was assumed with published outcomes in view",
      "a model with a constant that was fitted on this very number",
      "the model only repeats what the paper says"};
  return kMeanings[static_cast<std::size_t>(label)];
}

std::string rests_on_text(const Basis& basis) {
  std::string all;
  for (const std::string& each : basis.rests_on) all += text(all.empty() ? "" : "; ", each);
  return all;
}

Basis basis_of(std::string_view row, const Device& device, const NumberOfDevice& number,
               const Assumptions& assumptions) {
  Grounds grounds(row);
  const auto before = number(device);
  for (const devices::NumberField& field : devices::number_fields()) {
    const auto& fact = device.*field.member;
    if (!fact || fact->origin == Origin::fact || fact->origin == Origin::derived) continue;
    for (const double factor : {0.5, 2.0}) {
      Device changed = device;
      (changed.*field.member)->value = scaled(fact->value, factor);
      if (!has_moved(before, number(changed))) continue;
      grounds.add_constant(text(device.name, ' ', field.section, '.', field.key), fact->origin,
                           fact->fitted_on);
      break;
    }
  }
  for (const auto& [name, stack] : device.stacks) {
    if (stack.from_outcomes.empty()) continue;
    if (has_moved(before, number(with_other_outcomes(device, name)))) {
      grounds.add_stated(text(device.name, " stacks.", name, ".from_outcomes"));
    }
  }
  for (const std::string& assumption : assumptions) grounds.add_assumption(assumption);
  return std::move(grounds).basis();
}

Basis basis_of(std::string_view row, const wafer::Calibration& calibration,
               const NumberOfWafer& number, const Assumptions& assumptions) {
  using wafer::ConstantKind;
  Grounds grounds(row);
  const auto before = number(calibration);
  for (const wafer::Constant& constant : calibration.constants()) {
    if (constant.kind == ConstantKind::fact || constant.kind == ConstantKind::derived) continue;
    for (const double factor : {0.5, 2.0}) {
      const auto after = number(calibration.with(constant.name, scaled(constant.value, factor)));
      if (!has_moved(before, after)) continue;
      grounds.add_constant(
          text("wafer ", constant.name),
          constant.kind == ConstantKind::fitted ? Origin::fitted : Origin::inferred,
          constant.fitted_on_rows);
      break;
    }
  }
  for (const std::string& assumption : assumptions) grounds.add_assumption(assumption);
  return std::move(grounds).basis();
}

}  // namespace tensorpress::report
