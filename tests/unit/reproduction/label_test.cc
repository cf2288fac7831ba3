// Labels of reproduced numbers follow from the constants behind them.
#include "reproduction/label.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/text.h"
#include "reproduction/reproduction.h"

namespace tensorpress::report {
namespace {

using devices::Device;
using devices::Fact;
using devices::Origin;

Device device_with(Fact launch) {
  Device device = devices::builtin_device("a100").value();
  device.launch_seconds = std::move(launch);
  return device;
}
std::optional<double> twice_the_launch(const Device& device) {
  return 2 * device.launch_seconds->value;
}

TEST(ReproductionLabel, AFactPredicts) {
  const Basis basis = basis_of("x: row", device_with({.value = 1}), twice_the_launch);
  EXPECT_EQ(basis.label, RowLabel::predicted);
  EXPECT_TRUE(basis.rests_on.empty());
}

TEST(ReproductionLabel, AnInferredConstantMakesItInferredOnlyWhereItMovesTheNumber) {
  const Device device = device_with({.value = 1, .origin = Origin::inferred});
  EXPECT_EQ(basis_of("x: row", device, twice_the_launch).label, RowLabel::inferred);
  const auto other = [](const Device& changed) { return changed.units->value; };
  EXPECT_EQ(basis_of("x: row", device, other).label, RowLabel::predicted);
}

TEST(ReproductionLabel, AConstantOfZeroCounts) {
  const Device device = device_with({.value = 0, .origin = Origin::inferred});
  EXPECT_EQ(basis_of("x: row", device, twice_the_launch).label, RowLabel::inferred);
}

TEST(ReproductionLabel, AFitCalibratesTheRowItNamesAndPredictsOthers) {
  const Device device =
      device_with({.value = 1, .origin = Origin::fitted, .fitted_on = {"x: this"}});
  EXPECT_EQ(basis_of("x: this", device, twice_the_launch).label, RowLabel::calibrated);
  const Basis other = basis_of("x: another", device, twice_the_launch);
  EXPECT_EQ(other.label, RowLabel::predicted);
  ASSERT_EQ(other.rests_on.size(), 1u);
  EXPECT_EQ(other.rests_on[0], "a100 run.launch_seconds (fitted on another number)");
}

TEST(ReproductionLabel, TheWorstCounts) {
  const Device device =
      device_with({.value = 1, .origin = Origin::fitted, .fitted_on = {"x: row"}});
  const Basis basis = basis_of("x: row", device, twice_the_launch, {"a batch of 7"});
  EXPECT_EQ(basis.label, RowLabel::calibrated);
  EXPECT_EQ(rests_on_text(basis),
            "a100 run.launch_seconds (fitted on this); assumed: a batch of 7");
  EXPECT_EQ(basis_of("x: other", device, twice_the_launch, {"a batch of 7"}).label,
            RowLabel::inferred);
}

TEST(ReproductionLabel, AnOutcomeThatAStackWasToldIsStated) {
  const Device cs2 = devices::builtin_device("cs2").value();
  const auto gathers = [](const Device& device) {
    return device.stacks.at("pytorch").has("gather") ? 1.0 : 2.0;
  };
  EXPECT_EQ(basis_of("x: row", cs2, gathers).label, RowLabel::stated);
}

TEST(ReproductionLabel, ConstantsOfTheWaferCountToo) {
  const auto calibration = wafer::Calibration::standard().value();
  const auto cycles = [](const wafer::Calibration& changed) { return changed["ceresz2_block"]; };
  EXPECT_EQ(basis_of("ceresz2: NYX, REL 1e-2, compression", calibration, cycles).label,
            RowLabel::calibrated);
  EXPECT_EQ(basis_of("ceresz2: another", calibration, cycles).label, RowLabel::predicted);
  const auto guess = [](const wafer::Calibration& changed) { return changed["quantize_value"]; };
  EXPECT_EQ(basis_of("ceresz2: another", calibration, guess).label, RowLabel::inferred);
}

/// Every row of every reproduction that needs no data, as constants name them.
std::set<std::string> names_of_rows() {
  std::set<std::string> names;
  for (const Reproduction& each : reproductions()) {
    if (!each.needs.empty()) continue;
    const auto done = each.run({}, [&](const ReproductionTable& table) {
      for (const ReproductionRow& row : table.rows) names.insert(text(each.name, ": ", row.what));
    });
    EXPECT_TRUE(done.ok());
  }
  return names;
}

TEST(Reproductions, EveryFittedConstantNamesRowsThatExist) {
  const std::set<std::string> rows = names_of_rows();
  const auto expect_rows = [&](const std::string& constant,
                               const std::vector<std::string>& fitted_on) {
    EXPECT_FALSE(fitted_on.empty()) << constant;
    for (const std::string& row : fitted_on) EXPECT_TRUE(rows.contains(row)) << constant << row;
  };
  for (const std::string& name : devices::builtin_names()) {
    const Device device = devices::builtin_device(name).value();
    for (const auto& described : devices::describe(device)) {
      if (described.fact.origin == Origin::fitted) {
        expect_rows(text(name, ' ', described.key), described.fact.fitted_on);
      }
    }
  }
  const auto calibration = wafer::Calibration::standard().value();
  for (const wafer::Constant& constant : calibration.constants()) {
    if (constant.kind == wafer::ConstantKind::fitted) {
      expect_rows(constant.name, constant.fitted_on_rows);
    }
  }
}

TEST(Reproductions, NoRowOfAModelIsCalledMeasured) {
  for (const Reproduction& each : reproductions()) {
    if (!each.needs.empty()) continue;
    const auto done = each.run({}, [&](const ReproductionTable& table) {
      for (const ReproductionRow& row : table.rows) {
        EXPECT_NE(row.basis.label, RowLabel::measured) << row.what;
        EXPECT_TRUE(row.ours.has_value()) << row.what;
      }
    });
    EXPECT_TRUE(done.ok());
  }
}

TEST(Reproductions, WhatWasInferredFromAnOutcomeDoesNotPredictIt) {
  std::map<std::string, RowLabel> labels;
  for (const std::string_view name : {"dct-chop", "training"}) {
    const auto done = find_reproduction(name).value().run({}, [&](const ReproductionTable& table) {
      for (const ReproductionRow& row : table.rows) labels[row.what] = row.basis.label;
    });
    ASSERT_TRUE(done.ok());
  }
  EXPECT_EQ(labels.at("SN30, 512 in 2 x 2 parts over 256, CF 4"), RowLabel::inferred);
  EXPECT_EQ(labels.at("IPU, triangle over square at 32, CF 4"), RowLabel::inferred);
  EXPECT_EQ(labels.at("Groq GroqChip, batch above 1000: fails"), RowLabel::inferred);
  EXPECT_EQ(labels.at("A100, decompression"), RowLabel::inferred);
  EXPECT_EQ(labels.at("Cerebras CS-2, triangle: fails"), RowLabel::stated);
  EXPECT_EQ(labels.at("Cerebras CS-2, 512 x 512: compiles"), RowLabel::predicted);
  EXPECT_EQ(labels.at("IPU, 512 in 2 x 2 parts over 256, CF 2"), RowLabel::calibrated);
  EXPECT_EQ(labels.at("IPU, 512 in 2 x 2 parts over 256, CF 4"), RowLabel::predicted);
}

}  // namespace
}  // namespace tensorpress::report
