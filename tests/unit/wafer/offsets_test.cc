// The offset computation: right for every mesh, and as fast as Table II of the paper says.
#include <gtest/gtest.h>

#include <cmath>

#include "reproduction/reproduction.h"
#include "wafer/calibration/calibration.h"
#include "wafer/programs/offsets/offsets.h"

namespace tensorpress::wafer::programs {
namespace {

constexpr OffsetOrder kOrders[] = {OffsetOrder::column, OffsetOrder::row};

TEST(WaferOffsets, AreWhatStandsBeforeEachBlockForEveryMesh) {
  const std::pair<std::uint32_t, std::uint32_t> meshes[] = {{1, 1}, {1, 2}, {2, 1}, {1, 9},  {9, 1},
                                                            {2, 2}, {3, 5}, {8, 3}, {16, 16}};
  for (const auto& [width, height] : meshes) {
    std::vector<std::uint32_t> lengths;
    for (std::uint32_t i = 0; i < width * height; ++i) lengths.push_back(i * i % 77);
    for (const OffsetOrder order : kOrders) {
      const auto run = run_offsets(width, height, lengths, {.order = order});
      ASSERT_TRUE(run.ok()) << run.error().message;
      std::uint64_t before = 0;
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        EXPECT_EQ(run->offsets[i], before) << width << "x" << height << " " << i;
        before += lengths[i];
      }
      EXPECT_EQ(run->total, before);
    }
  }
}

TEST(WaferOffsets, FollowThePapersExample) {
  // Figure 10a: the first columns sum up to 22, 18 and 12, so the fourth begins at 52.
  const std::vector<std::uint32_t> lengths = {1, 10, 9, 2, 5, 3, 4, 6, 3, 3, 3, 3, 8, 1, 1, 1};
  const auto run = run_offsets(4, 4, lengths);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(run->order, OffsetOrder::column);
  EXPECT_EQ(run->offsets[4], 22u);
  EXPECT_EQ(run->offsets[12], 52u);
}

TEST(WaferOffsets, ThePapersRuleTakesRowsOnlyForMeshesHigherThanWide) {
  EXPECT_EQ(choose_order(50, 50), OffsetOrder::column);
  EXPECT_EQ(choose_order(100, 50), OffsetOrder::column);
  EXPECT_EQ(choose_order(50, 100), OffsetOrder::row);
}

TEST(WaferOffsets, TakeTheOriginSevenCyclesAStepAndTwoForTheSkewOfTheLaunch) {
  const auto calibration = Calibration::standard();
  ASSERT_TRUE(calibration.ok()) << calibration.error().message;
  const RunOptions options{.machine = calibration->machine()};
  constexpr std::uint64_t kConstant = 56;
  for (const auto& [width, height] : {std::pair{2u, 3u}, {13u, 7u}, {7u, 13u}, {40u, 40u}}) {
    EXPECT_EQ(run_offsets(width, height, {}, {.order = OffsetOrder::column, .run = options})
                  ->origin_cycles,
              7 * (height - 1) + kConstant);
    EXPECT_EQ(
        run_offsets(width, height, {}, {.order = OffsetOrder::row, .run = options})->origin_cycles,
        9 * (width - 1) + kConstant);
  }
}

TEST(WaferOffsets, AFasterOrderByTheOriginIsFasterForTheWholeMesh) {
  for (const auto& [width, height] : {std::pair{50u, 50u}, {50u, 100u}, {100u, 50u}, {200u, 50u}}) {
    const auto columns = run_offsets(width, height, {}, {.order = OffsetOrder::column});
    const auto rows = run_offsets(width, height, {}, {.order = OffsetOrder::row});
    const bool by_columns = choose_order(width, height) == OffsetOrder::column;
    EXPECT_EQ(columns->origin_cycles < rows->origin_cycles, by_columns) << width << "x" << height;
    EXPECT_EQ(columns->makespan_cycles < rows->makespan_cycles, by_columns)
        << width << "x" << height;
  }
}

TEST(WaferOffsets, TableTwoAndTheThroughputsOfThePaperAreMetWithinTheirTolerances) {
  const auto reproduction = report::find_reproduction("ceresz2");
  ASSERT_TRUE(reproduction.ok());
  std::vector<report::ReproductionTable> tables;
  ASSERT_TRUE(reproduction
                  ->run({.data = {}, .threads = 1},
                        [&](const report::ReproductionTable& table) { tables.push_back(table); })
                  .ok());
  ASSERT_GE(tables.size(), 2u);
  const auto fitted = report::summarize(tables[0], report::RowLabel::calibrated);
  const auto left_out = report::summarize(tables[1], report::RowLabel::predicted);
  ASSERT_TRUE(fitted && left_out);
  EXPECT_EQ(fitted->rows, 12u);
  EXPECT_LE(fitted->largest, 0.041);
  EXPECT_EQ(left_out->rows, 12u);
  EXPECT_LE(left_out->largest, 0.05);
  // Section VII-B with one constant fitted on NYX.
  ASSERT_GE(tables.size(), 5u);
  const auto throughputs = report::summarize(tables[2], report::RowLabel::inferred);
  ASSERT_TRUE(throughputs.has_value());
  EXPECT_EQ(throughputs->rows, 4u);
  EXPECT_LE(throughputs->largest, 0.055);
  EXPECT_NE(tables[0].remarks[0].find("6 of 6"), std::string::npos) << tables[0].remarks[0];
}

TEST(WaferCalibration, EveryConstantSaysWhereItComesFrom) {
  const auto calibration = Calibration::standard();
  ASSERT_TRUE(calibration.ok()) << calibration.error().message;
  for (const Constant& constant : calibration->constants()) {
    EXPECT_FALSE(constant.unit.empty()) << constant.name;
    EXPECT_FALSE(constant.source.empty()) << constant.name;
    EXPECT_EQ(constant.fitted_on.empty(), constant.kind != ConstantKind::fitted) << constant.name;
  }
  const Machine machine = calibration->machine();
  const Machine defaults;
  EXPECT_EQ(machine.task_activation, defaults.task_activation);
  EXPECT_EQ(machine.ramp, defaults.ramp);
  EXPECT_EQ(machine.router_queue, defaults.router_queue);
}

TEST(WaferCalibration, AFileReplacesSomeConstantsAndHostileOnesAreRefused) {
  const auto changed = Calibration::from_json(
      R"({"constants": [{"name": "hop", "value": 3, "kind": "assumed", "unit": "", "source": ""}]})");
  ASSERT_TRUE(changed.ok()) << changed.error().message;
  EXPECT_EQ(changed->machine().hop, 3u);
  EXPECT_EQ(changed->machine().ramp, 2u);
  for (const char* const text :
       {"", "[]", "{", R"({"constants": 3})", R"({"constants": [3]})",
        R"({"constants": [{"name": "hop", "value": -1, "kind": "fact"}]})",
        R"({"constants": [{"name": "hop", "value": 1e300, "kind": "fact"}]})",
        R"({"constants": [{"name": "hop", "value": "1", "kind": "fact"}]})",
        R"({"constants": [{"name": "hop", "value": 1, "kind": "guess"}]})",
        R"({"constants": [{"name": "hop", "value": 1, "kind": "fitted"}]})",
        R"({"constants": [{"name": "warp", "value": 1, "kind": "fact"}]})"}) {
    EXPECT_FALSE(Calibration::from_json(text).ok()) << text;
  }
}

}  // namespace
}  // namespace tensorpress::wafer::programs
