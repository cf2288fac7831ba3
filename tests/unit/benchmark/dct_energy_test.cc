// The dct-energy study on images whose coefficients are known.
#include "benchmark/studies/dct_energy_study.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <numbers>
#include <numeric>

#include "files/image/image.h"
#include "files/tensor/tensor_files.h"
#include "report/pages/dct_energy_page.h"
#include "unit/report/tag_balance.h"

namespace tensorpress::benchmark {
namespace {

/// A file in the test's own directory that is removed at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_(testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() +
              "_" + name) {}
  ~TemporaryFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

  void write(std::span<const std::uint8_t> bytes) const {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  template <class T>
  void write_npy(const std::vector<T>& values, DType dtype, const Shape& shape) const {
    auto file = files::create_tensor(path_, dtype, shape);
    ASSERT_TRUE(file.ok()) << file.error().message;
    const auto view =
        TensorView::contiguous(reinterpret_cast<const std::byte*>(values.data()), dtype, shape);
    ASSERT_TRUE((*file)->write(Region::whole(shape), view).ok());
    ASSERT_TRUE((*file)->finish().ok());
  }

 private:
  std::string path_;
};

DctEnergy study_of(const std::string& path, DctEnergyOptions options = {}) {
  const std::vector<std::string> files = {path};
  auto study = run_dct_energy_study(files, options);
  EXPECT_TRUE(study.ok()) << study.error().message;
  return study.ok() ? *study : DctEnergy{};
}

/// 128 plus a wave that is exactly the basis function (u, v) of the 8 x 8 DCT.
std::vector<float> wave(std::size_t size, int u, int v, double amplitude) {
  std::vector<float> values(size * size);
  for (std::size_t y = 0; y < size; ++y) {
    for (std::size_t x = 0; x < size; ++x) {
      const auto phase = [](std::size_t at, int frequency) {
        return std::cos((2.0 * static_cast<double>(at % 8) + 1) * frequency * std::numbers::pi /
                        16);
      };
      values[y * size + x] = static_cast<float>(128 + amplitude * phase(y, u) * phase(x, v));
    }
  }
  return values;
}

TEST(JpegQuantization, OfQuality50IsTheTableOfTheStandard) {
  const auto table = jpeg_quantization_table(50);
  EXPECT_EQ(table[0], 16);  // ITU-T T.81, Table K.1: corners and a middle
  EXPECT_EQ(table[7], 61);
  EXPECT_EQ(table[8], 12);
  EXPECT_EQ(table[27], 29);
  EXPECT_EQ(table[53], 121);
  EXPECT_EQ(table[56], 72);
  EXPECT_EQ(table[63], 99);
  EXPECT_EQ(std::accumulate(table.begin(), table.end(), 0), 3688);  // of the published table
}

TEST(JpegQuantization, ScalesAsIjgDefinesIt) {
  // (16 * 500 + 50) / 100 and (11 * 500 + 50) / 100; 5000 / 10 is 500 percent.
  EXPECT_EQ(jpeg_quantization_table(10)[0], 80);
  EXPECT_EQ(jpeg_quantization_table(10)[1], 55);
  EXPECT_EQ(jpeg_quantization_table(10)[63], 255);  // 495, limited
  EXPECT_EQ(jpeg_quantization_table(25)[0], 32);
  EXPECT_EQ(jpeg_quantization_table(75)[0], 8);
  EXPECT_EQ(jpeg_quantization_table(75)[1], 6);  // (11 * 50 + 50) / 100
  EXPECT_EQ(jpeg_quantization_table(90)[0], 3);  // (16 * 20 + 50) / 100 = 3.7
  EXPECT_EQ(jpeg_quantization_table(90)[63], 20);
  EXPECT_EQ(jpeg_quantization_table(1)[0], 255);
  for (const int divisor : jpeg_quantization_table(100)) EXPECT_EQ(divisor, 1);
}

TEST(JpegQuantization, AgreesWithTheTablesThatLibjpegWrites) {
  // Sums of the 64 divisors in files that Pillow (libjpeg) saved at these qualities.
  for (const auto& [quality, expected] :
       {std::pair{1, 16320}, {10, 12560}, {25, 7376}, {75, 1858}, {90, 736}}) {
    const auto table = jpeg_quantization_table(quality);
    EXPECT_EQ(std::accumulate(table.begin(), table.end(), 0), expected) << quality;
  }
}

TEST(DctEnergy, ConstantImageHasOnlyItsMean) {
  const TemporaryFile file("x.npy");
  file.write_npy(std::vector<std::uint8_t>(16 * 24, 200), DType::u8, {16, 24});
  const DctEnergy study = study_of(file.path());
  EXPECT_EQ(study.images, 1u);
  EXPECT_EQ(study.channels, std::vector<std::string>{"grey"});
  ASSERT_EQ(study.panels.size(), 5u);
  for (const DctEnergyPanel& panel : study.panels) {
    EXPECT_EQ(panel.blocks, 6u);
    for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(panel.nonzero_share[i], i == 0 ? 1 : 0) << i;
    EXPECT_EQ(panel.kept_by_square(1), 1);
    EXPECT_EQ(panel.kept_by_triangle(1), 1);
  }
}

TEST(DctEnergy, MiddleGreyHasNothing) {
  const TemporaryFile file("x.npy");
  file.write_npy(std::vector<std::uint8_t>(64, 128), DType::u8, {8, 8});
  for (const DctEnergyPanel& panel : study_of(file.path()).panels) {
    for (const double share : panel.nonzero_share) EXPECT_EQ(share, 0);
    EXPECT_EQ(panel.kept_by_square(1), 1);
  }
}

TEST(DctEnergy, WaveHasOnlyItsOwnCoefficient) {
  for (const auto& [u, v] : {std::pair{0, 1}, {1, 0}, {3, 2}, {5, 7}, {7, 7}}) {
    const TemporaryFile file("x.npy");
    file.write_npy(wave(16, u, v, 100), DType::f32, {16, 16});
    const DctEnergy study = study_of(file.path(), {.qualities = {90}});
    for (int i = 0; i < 64; ++i) {
      EXPECT_EQ(study.panels[0].nonzero_share[static_cast<std::size_t>(i)], i == 8 * u + v ? 1 : 0)
          << u << " " << v << " at " << i;
    }
    EXPECT_EQ(study.panels[0].kept_by_square(std::max(u, v)), 0);
    EXPECT_EQ(study.panels[0].kept_by_square(std::max(u, v) + 1), 1);
    EXPECT_EQ(study.panels[0].kept_by_triangle(u + v), 0);
    EXPECT_EQ(study.panels[0].kept_by_triangle(u + v + 1), 1);
  }
}

TEST(DctEnergy, CoefficientsUnderHalfTheDivisorVanish) {
  // A wave of amplitude a at (0, 1) has the coefficient a * 8 / sqrt(2); the divisor is 11 at
  // quality 50, so it survives from a = 5.5 * sqrt(2) / 8 = 0.972 on.
  const TemporaryFile file("x.npy");
  for (const auto& [amplitude, share] : {std::pair{0.96, 0.0}, {0.98, 1.0}}) {
    file.write_npy(wave(8, 0, 1, amplitude), DType::f32, {8, 8});
    EXPECT_EQ(study_of(file.path(), {.qualities = {50}}).panels[0].nonzero_share[1], share);
  }
}

TEST(DctEnergy, ReadsChannelsFirstAndLastAlike) {
  // Red is constant, green has the wave (0, 1), blue the wave (2, 0).
  const std::vector<std::vector<float>> channels = {wave(8, 0, 0, 50), wave(8, 0, 1, 100),
                                                    wave(8, 2, 0, 100)};
  std::vector<float> first;
  std::vector<float> last(3 * 64);
  for (std::size_t c = 0; c < 3; ++c) {
    first.insert(first.end(), channels[c].begin(), channels[c].end());
    for (std::size_t i = 0; i < 64; ++i) last[3 * i + c] = channels[c][i];
  }
  const TemporaryFile file("x.npy");
  const auto expect_waves = [&](const char* what) {
    const DctEnergy study = study_of(file.path(), {.qualities = {50}});
    ASSERT_EQ(study.channels, (std::vector<std::string>{"red", "green", "blue"})) << what;
    EXPECT_EQ(study.panels[0].nonzero_share[0], 1) << what;
    EXPECT_EQ(study.panels[1].nonzero_share[1], 1) << what;
    EXPECT_EQ(study.panels[2].nonzero_share[16], 1) << what;
    EXPECT_EQ(study.panels[0].nonzero_share[1], 0) << what;
  };
  file.write_npy(first, DType::f32, {3, 8, 8});
  expect_waves("CxHxW");
  file.write_npy(last, DType::f32, {8, 8, 3});
  expect_waves("HxWxC");
  file.write_npy(first, DType::f32, {1, 3, 8, 8});
  expect_waves("NxCxHxW");
  file.write_npy(last, DType::f32, {1, 8, 8, 3});
  expect_waves("NxHxWxC");
}

TEST(DctEnergy, FloatsUpToOneAreScaled) {
  const TemporaryFile file("x.npy");
  std::vector<float> values = wave(8, 0, 1, 100);
  for (float& value : values) value /= 255;
  file.write_npy(values, DType::f32, {8, 8});
  EXPECT_EQ(study_of(file.path(), {.qualities = {50}}).panels[0].nonzero_share[1], 1);
}

TEST(DctEnergy, ReadsCifarBatchesAndStopsAtTheLimit) {
  std::vector<std::uint8_t> records;
  for (int image = 0; image < 3; ++image) {
    records.push_back(static_cast<std::uint8_t>(image));  // label
    // Red 128 (no coefficient), green 128 in the second image only, blue 0.
    records.insert(records.end(), 1024, 128);
    records.insert(records.end(), 1024, image == 1 ? 128 : 250);
    records.insert(records.end(), 1024, 0);
  }
  const TemporaryFile file("batch.bin");
  file.write(records);
  const DctEnergy study = study_of(file.path(), {.qualities = {50}, .most_images = 2});
  EXPECT_EQ(study.images, 2u);
  ASSERT_EQ(study.panels.size(), 3u);
  EXPECT_EQ(study.panels[0].blocks, 32u);  // 16 blocks an image
  EXPECT_EQ(study.panels[0].nonzero_share[0], 0);
  EXPECT_EQ(study.panels[1].nonzero_share[0], 0.5);
  EXPECT_EQ(study.panels[2].nonzero_share[0], 1);
}

TEST(DctEnergy, ReadsPngAndRepeatsEdges) {
  // 9 x 9 equal pixels: edge repetition keeps the added blocks constant.
  const files::Image image{
      .width = 9, .height = 9, .channels = 3, .pixels = std::vector<std::uint8_t>(9 * 9 * 3, 200)};
  const auto png = files::encode_png(image);
  ASSERT_TRUE(png.ok());
  const TemporaryFile file("x.png");
  file.write(*png);
  const DctEnergy study = study_of(file.path(), {.qualities = {90}});
  ASSERT_EQ(study.panels.size(), 3u);
  EXPECT_EQ(study.panels[0].blocks, 4u);
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(study.panels[0].nonzero_share[i], i == 0 ? 1 : 0) << i;
  }
}

TEST(DctEnergy, RefusesWhatItCannotRead) {
  const auto message = [](const std::string& path, const DctEnergyOptions& options) {
    const std::vector<std::string> files = {path};
    const auto study = run_dct_energy_study(files, options);
    return study.ok() ? std::string("no error") : study.error().message;
  };
  const TemporaryFile text_file("x.txt");
  EXPECT_NE(message(text_file.path(), {}).find(".png, .npy or .bin"), std::string::npos);
  const TemporaryFile batch("x.bin");
  batch.write(std::vector<std::uint8_t>(3074));
  EXPECT_NE(message(batch.path(), {}).find("3073"), std::string::npos);
  const TemporaryFile array("x.npy");
  array.write_npy(std::vector<float>(10), DType::f32, {10});
  EXPECT_NE(message(array.path(), {}).find("HxW"), std::string::npos);
  array.write_npy(std::vector<float>(64, -1.0F), DType::f32, {8, 8});
  EXPECT_NE(message(array.path(), {}).find("0 to 255"), std::string::npos);
  array.write_npy(std::vector<float>(64, NAN), DType::f32, {8, 8});
  EXPECT_NE(message(array.path(), {}).find("not finite"), std::string::npos);
  array.write_npy(std::vector<float>(), DType::f32, {0, 8, 8});
  EXPECT_NE(message(array.path(), {}).find("no image"), std::string::npos);
  array.write_npy(std::vector<float>(64), DType::f32, {8, 8});
  EXPECT_NE(message(array.path(), {.qualities = {101}}).find("1..100"), std::string::npos);
}

TEST(DctEnergyPage, ShowsEveryPanelAndIsBalanced) {
  const TemporaryFile file("x.npy");
  file.write_npy(std::vector<std::uint8_t>(3 * 64, 200), DType::u8, {3, 8, 8});
  const DctEnergy study = study_of(file.path());
  const std::string page = report::dct_energy_html(study);
  EXPECT_EQ(report::unbalanced(page), std::nullopt);
  for (const char* part :
       {"red, quality 10", "green, quality 50", "blue, quality 90", "square CF 1 keeps 100 %"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  const std::string table = report::dct_energy_text(study);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 1 + 2 * (2 + 15));
}

}  // namespace
}  // namespace tensorpress::benchmark
