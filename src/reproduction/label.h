// The label of a row follows from the constants behind its number. Which ones these are is found by
// trying: a constant is behind a number that moves when the constant is halved or doubled. So a
// label cannot be better than its constants, and nobody writes one down.
//
//   measured    by running the thing itself
//   predicted   by a model of facts, of arithmetic on them, and of constants fitted on other
//   numbers inferred    a constant or a scenario was assumed, with published outcomes in view
//   calibrated  a constant was fitted on this very number
//   stated      the paper's outcome stands in a file and is only repeated
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "devices/description/device.h"
#include "wafer/calibration/calibration.h"

namespace tensorpress::report {

/// From the best to the worst.
enum class RowLabel : std::uint8_t { measured, predicted, inferred, calibrated, stated };
inline constexpr std::array kLabels = {RowLabel::measured, RowLabel::predicted, RowLabel::inferred,
                                       RowLabel::calibrated, RowLabel::stated};
std::string_view name_of(RowLabel label);
/// What a reader needs to know of it, as part of a sentence.
std::string_view meaning_of(RowLabel label);

/// How a number came about: its label, and what made the label worse than `measured`, worst first.
struct Basis {
  RowLabel label = RowLabel::measured;
  std::vector<std::string> rests_on = {};  // "sn30 run.launch_seconds (fitted on this)"
};

/// What it rests on, in one line.
std::string rests_on_text(const Basis& basis);

/// What was assumed because the paper does not say it, in words that go on "assumed:".
using Assumptions = std::vector<std::string>;

/// A number that a device's model gives; nothing where it gives none.
using NumberOfDevice = std::function<std::optional<double>(const devices::Device&)>;
/// `row` is what constants name in `fitted_on`: the reproduction, a colon and the row.
Basis basis_of(std::string_view row, const devices::Device& device, const NumberOfDevice& number,
               const Assumptions& assumptions = {});

using NumberOfWafer = std::function<std::optional<double>(const wafer::Calibration&)>;
Basis basis_of(std::string_view row, const wafer::Calibration& calibration,
               const NumberOfWafer& number, const Assumptions& assumptions = {});

}  // namespace tensorpress::report
