// Table IV: what is printed, which files are taken, and that what is measured is what the formats
// take.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "benchmark/studies/table4.h"
#include "scratch_directory.h"

namespace tensorpress::benchmark {
namespace {

namespace fs = std::filesystem;

void write_floats(const fs::path& path, const std::vector<float>& values) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(float)));
}

/// Steps of 32 equal values each, and one large step at the end that sets the range to 1.
std::vector<float> steps() {
  std::vector<float> values(64 * 100, 0.0f);
  values.back() = 1.0f;
  return values;
}

TEST(Table4, ThePaperClaimsThatCeresz2BeatsCereszInAll21Means) {
  std::size_t wins = 0;
  for (const Table4DataSet& data_set : table4_data_sets()) {
    for (std::size_t bound = 0; bound < kTable4Bounds.size(); ++bound) {
      if (data_set.published[0][bound].avg > data_set.published[1][bound].avg) ++wins;
      for (const auto& codec : data_set.published) {
        EXPECT_LE(codec[bound].min, codec[bound].avg);
        EXPECT_LE(codec[bound].avg, codec[bound].max);
      }
    }
  }
  EXPECT_EQ(wins, 21u);
}

TEST(Table4, FoldersOfAnyCaseAndFilesOfTheRightSizeAreTaken) {
  const ScratchDirectory scratch;
  const fs::path root = scratch.path();
  write_floats(root / "SDRBENCH-EXASKY-nyx" / "small_64x100.f32", steps());
  write_floats(root / "SDRBENCH-EXASKY-nyx" / "velocity_x.f32", {1, 2, 3});
  write_floats(root / "mine" / "a_6400.f32", steps());
  write_floats(root / "mine" / "b.f32", steps());
  write_floats(root / "empty" / "readme.txt", {});
  const auto found = find_table4_data(root.string());
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->data_sets.size(), 2u);
  const FoundDataSet& nyx = found->data_sets[0];
  EXPECT_EQ(nyx.name, "NYX");
  ASSERT_EQ(nyx.files.size(), 1u);
  EXPECT_EQ(nyx.files[0].format.shape, (Shape{64, 100}));
  ASSERT_EQ(nyx.skipped.size(), 1u);
  EXPECT_NE(nyx.skipped[0].find("536870912"), std::string::npos) << nyx.skipped[0];
  EXPECT_EQ(found->data_sets[1].published, nullptr);
  EXPECT_EQ(found->data_sets[1].files.size(), 1u);
  EXPECT_EQ(found->missing.size(), 6u);
}

TEST(Table4, ADirectoryThatIsNotThereIsAnError) {
  EXPECT_FALSE(find_table4_data("/nowhere/at/all").ok());
}

TEST(Table4, MeasuredRatiosAreThoseOfTheFormats) {
  const ScratchDirectory scratch;
  const fs::path root = scratch.path();
  write_floats(root / "nyx" / "steps_64x100.f32", steps());
  const auto found = find_table4_data(root.string());
  const auto rows = measure_table4(found->data_sets.at(0), 1);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 9u);
  for (const Table4Row& row : *rows) {
    ASSERT_TRUE(row.published) << row.codec;
    if (!row.measured) {
      EXPECT_NE(row.cannot.find("not in this build"), std::string::npos) << row.cannot;
      continue;
    }
    EXPECT_EQ(row.fields, 1u);
    EXPECT_EQ(row.measured->min, row.measured->max);
    if (row.codec != "cuszp-size") continue;
    // 200 blocks of a byte each; one is not zero and holds a quantum of about 1 / (2 REL).
    const double bits = std::floor(std::log2(std::round(0.5 / row.bound))) + 1;
    EXPECT_NEAR(row.measured->avg, 25600 / (200 + 4 * (1 + bits)), 1e-9) << row.bound;
  }
}

TEST(Table4, AConstantFieldIsLeftOutWhereItHasNoMeaning) {
  const ScratchDirectory scratch;
  const fs::path root = scratch.path();
  write_floats(root / "nyx" / "flat_64.f32", std::vector<float>(64, 3.0f));
  write_floats(root / "nyx" / "steps_64x100.f32", steps());
  const auto found = find_table4_data(root.string());
  const auto rows = measure_table4(found->data_sets.at(0), 1);
  ASSERT_TRUE(rows.ok());
  for (const Table4Row& row : *rows) {
    if (row.codec != "cuszp-size") continue;
    EXPECT_EQ(row.fields, 1u);
    EXPECT_NE(row.cannot.find("flat_64"), std::string::npos);
  }
}

}  // namespace
}  // namespace tensorpress::benchmark
