// Fields compressed on the mesh: byte for byte what the host's codec writes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "codecs/bounded/field_coder.h"
#include "codecs/ceresz/ceresz.h"
#include "codecs/ceresz2/ceresz2.h"
#include "wafer/programs/coding/mesh_codec.h"

namespace tensorpress::wafer::programs {
namespace {

struct Sample {
  const char* name;
  std::vector<float> values;
  double bound;
};

std::vector<Sample> samples() {
  std::mt19937 random(7);
  const auto noise = [&](double size) {
    return static_cast<float>(size * (static_cast<double>(random()) / 4294967296.0 - 0.5));
  };
  std::vector<Sample> all;
  std::vector<float> smooth(6000), rough(4000), zeros(2000), sparse(5000), huge(700);
  for (std::size_t i = 0; i < smooth.size(); ++i) {
    smooth[i] = std::sin(static_cast<float>(i) * 0.01f) * 50 + noise(0.1);
  }
  for (float& value : rough) value = noise(1e6);  // every difference an escape
  for (std::size_t i = 0; i < sparse.size(); i += 97) sparse[i] = noise(2);
  for (std::size_t i = 0; i < huge.size(); ++i) {  // values that no quantum holds
    huge[i] = i % 5 == 0 ? std::numeric_limits<float>::max() * (i % 2 == 0 ? 1.0f : -1.0f)
                         : std::numeric_limits<float>::denorm_min() * static_cast<float>(i);
  }
  all.push_back({"smooth", smooth, 5e-3});
  all.push_back({"incompressible", rough, 1e-3});
  all.push_back({"zero blocks", zeros, 1e-3});
  all.push_back({"sparse", sparse, 1e-4});
  all.push_back({"outliers", huge, 1e-3});
  all.push_back({"one value", {3.25f}, 0.5});
  all.push_back({"one block", std::vector<float>(smooth.begin(), smooth.begin() + 32), 1e-2});
  all.push_back(
      {"a block and a value", std::vector<float>(smooth.begin(), smooth.begin() + 33), 1e-2});
  return all;
}

std::vector<std::byte> host_bytes(const bounded::FieldCoder& coder, const Sample& sample) {
  std::vector<std::byte> output(sample.values.size() * 10 + 4096);
  ChunkWorkspace workspace(usable_isas().front());
  const auto bytes = coder.encode(bounded::Field<float>{sample.values, Shape{sample.values.size()}},
                                  sample.bound, output, workspace);
  EXPECT_TRUE(bytes.has_value());
  output.resize(bytes.value_or(0));
  return output;
}

const Calibration& calibration() {
  static const Calibration standard = *Calibration::standard();
  return standard;
}

MeshOptions mesh(std::uint32_t width, std::uint32_t height, MeshIo io, Mapping mapping) {
  MeshOptions options;
  options.width = width;
  options.height = height;
  options.io = io;
  options.mapping = mapping;
  return options;
}

void expect_host_bytes(Mapping mapping, const bounded::FieldCoder& coder) {
  for (const Sample& sample : samples()) {
    const auto expected = host_bytes(coder, sample);
    for (const auto& [width, height] : {std::pair{6u, 4u}, {3u, 9u}}) {
      for (const MeshIo io : {MeshIo::edge, MeshIo::sram}) {
        for (const bool shrink : {true, false}) {
          if (!shrink && io == MeshIo::sram) continue;
          SCOPED_TRACE(testing::Message() << sample.name << " on " << width << "x" << height);
          MeshOptions options = mesh(width, height, io, mapping);
          options.shrink = shrink;
          const auto run = compress_on_mesh(sample.values, sample.bound,
                                            ceresz2::Codebook::standard(), calibration(), options);
          ASSERT_TRUE(run.ok()) << run.error().message;
          EXPECT_TRUE(run->payload == expected);
          EXPECT_EQ(run->report.wavelets_sent + run->report.wavelets_copied,
                    run->report.wavelets_received);
          const auto back =
              decompress_on_mesh(run->payload, sample.values.size(), sample.bound,
                                 ceresz2::Codebook::standard(), calibration(), options);
          ASSERT_TRUE(back.ok()) << back.error().message;
          EXPECT_EQ(back->report.wavelets_sent, back->report.wavelets_received);
          for (std::size_t i = 0; i < sample.values.size(); ++i) {
            ASSERT_LE(std::abs(double{back->values[i]} - sample.values[i]), sample.bound) << i;
          }
        }
      }
    }
  }
}

TEST(WaferCodec, CereszTwoOnTheMeshWritesTheHostsBytes) {
  expect_host_bytes(Mapping::ceresz2, **make_ceresz2("default"));
}

TEST(WaferCodec, CereszOnOnePeWritesTheHostsBytes) {
  expect_host_bytes(Mapping::ceresz, *make_ceresz());
}

TEST(WaferCodec, CereszOnThreePesWritesTheHostsBytes) {
  expect_host_bytes(Mapping::ceresz_three, *make_ceresz());
}

TEST(WaferCodec, TakesEightColorsAndTheCodebooksBytes) {
  const auto all = samples();
  const auto run = compress_on_mesh(all[0].values, all[0].bound, ceresz2::Codebook::standard(),
                                    calibration(), mesh(20, 10, MeshIo::edge, Mapping::ceresz2));
  ASSERT_TRUE(run.ok());
  EXPECT_GT(run->sram_bytes, 16000u);  // 15.625 KB
  EXPECT_LT(run->sram_bytes, std::size_t{kSramBytes});
  EXPECT_LE(run->colors, 8u);
}

void expect_same_run(const MeshRun& fast, const MeshRun& slow) {
  EXPECT_EQ(fast.cycles, slow.cycles);
  EXPECT_EQ(fast.kernel_cycles, slow.kernel_cycles);
  EXPECT_EQ(fast.report.finish, slow.report.finish);
  EXPECT_EQ(fast.report.wavelet_hops, slow.report.wavelet_hops);
  EXPECT_EQ(fast.report.link_wavelets, slow.report.link_wavelets);
  EXPECT_TRUE(fast.payload == slow.payload);
  EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(fast.values)),
                                 std::as_bytes(std::span(slow.values))));
  // The faster way was taken, not given up.
  EXPECT_LT(4 * fast.report.events, 3 * slow.report.events);
}

TEST(WaferCodec, TrainsAndThreadsChangeNothing) {
  const auto all = samples();
  const auto& book = ceresz2::Codebook::standard();
  for (const Mapping mapping : {Mapping::ceresz2, Mapping::ceresz, Mapping::ceresz_three}) {
    for (const Sample* sample : {&all[0], &all[1], &all[3]}) {
      SCOPED_TRACE(testing::Message() << sample->name << ", mapping " << static_cast<int>(mapping));
      MeshOptions options = mesh(14, 9, MeshIo::edge, mapping);
      MeshOptions slower = options;
      slower.run.trains = false;
      slower.run.threads = 2;
      const auto fast =
          compress_on_mesh(sample->values, sample->bound, book, calibration(), options);
      const auto slow =
          compress_on_mesh(sample->values, sample->bound, book, calibration(), slower);
      ASSERT_TRUE(fast.ok() && slow.ok());
      expect_same_run(*fast, *slow);
      const auto back = [&](const MeshOptions& how) {
        return decompress_on_mesh(fast->payload, sample->values.size(), sample->bound, book,
                                  calibration(), how);
      };
      const auto fast_back = back(options), slow_back = back(slower);
      ASSERT_TRUE(fast_back.ok() && slow_back.ok());
      expect_same_run(*fast_back, *slow_back);
    }
  }
}

TEST(WaferCodec, AFieldThatDoesNotFitIsRefusedWithWhatDoes) {
  const std::vector<float> large(200000);
  const auto run = compress_on_mesh(large, 1e-3, ceresz2::Codebook::standard(), calibration(),
                                    mesh(2, 2, MeshIo::sram, Mapping::ceresz2));
  ASSERT_FALSE(run.ok());
  EXPECT_NE(run.error().message.find("6250 blocks"), std::string::npos) << run.error().message;
  EXPECT_NE(run.error().message.find("values fit"), std::string::npos) << run.error().message;
}

TEST(WaferCodec, SmallFieldsArePaddedToAMeshAtLeastAsWideAsHigh) {
  for (const std::uint64_t blocks : {1u, 2u, 3u, 10u, 1000u, 202500u}) {
    const MeshExtent size = mesh_for(blocks, 750, 994);
    EXPECT_GE(std::uint64_t{size.width} * size.height, blocks);
    EXPECT_GE(size.width, size.height);
    EXPECT_LT(std::uint64_t{size.width - 1} * size.height, blocks);
  }
  EXPECT_EQ(mesh_for(1u << 30, 750, 994).width, 750u);
}

TEST(WaferCodec, HuffmanCodingIsBalancedWhereFixedLengthIsNot) {
  // The paper's Figure 8: one wild column of blocks among calm ones.
  std::vector<float> field(32 * 400);
  std::mt19937 random(3);
  for (std::size_t i = 0; i < field.size(); ++i) {
    const double wild = i / 32 % 20 == 7 ? 3000 : 3;
    field[i] = static_cast<float>(wild * (static_cast<double>(random()) / 4294967296.0));
  }
  const auto spread = [&](Mapping mapping) {
    const auto run = compress_on_mesh(field, 1, ceresz2::Codebook::standard(), calibration(),
                                      mesh(20, 20, MeshIo::sram, mapping));
    double sum = 0;
    for (const std::uint32_t cycles : run->pe_cycles) sum += cycles;
    return static_cast<double>(run->coding_cycles) /
           (sum / static_cast<double>(run->pe_cycles.size()));
  };
  EXPECT_LT(spread(Mapping::ceresz2), 1.4);
  EXPECT_GT(spread(Mapping::ceresz), 1.7);
}

TEST(WaferCodec, HostilePayloadsAreErrors) {
  const auto all = samples();
  const auto run = compress_on_mesh(all[0].values, all[0].bound, ceresz2::Codebook::standard(),
                                    calibration(), mesh(20, 10, MeshIo::sram, Mapping::ceresz2));
  ASSERT_TRUE(run.ok());
  std::mt19937 random(11);
  for (int attempt = 0; attempt < 300; ++attempt) {
    auto bytes = run->payload;
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    if (attempt % 3 == 0) bytes.resize(random() % bytes.size());
    for (const Mapping mapping : {Mapping::ceresz2, Mapping::ceresz}) {
      (void)decompress_on_mesh(
          bytes, 6000, all[0].bound, ceresz2::Codebook::standard(), calibration(),
          mesh(20, 10, attempt % 2 == 0 ? MeshIo::sram : MeshIo::edge, mapping))
          .ok();
    }
  }
}

}  // namespace
}  // namespace tensorpress::wafer::programs
