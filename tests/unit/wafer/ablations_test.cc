// Designs that CereSZ-II's discussion weighs (Section VIII), as programs on the mesh: what they
// compute is what the host computes, and their time is that of their parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "codecs/bounded/field_coder.h"
#include "codecs/ceresz/ceresz.h"
#include "codecs/ceresz2/ceresz2.h"
#include "wafer/programs/coding/ablations.h"
#include "wafer/programs/coding/mesh_codec.h"
#include "wafer/programs/offsets/look_back.h"
#include "wafer/programs/offsets/offsets.h"

namespace tensorpress::wafer::programs {
namespace {

constexpr OffsetOrder kOrders[] = {OffsetOrder::column, OffsetOrder::row};

TEST(WaferLookBack, FindsWhatStandsBeforeEachBlockOnEveryMesh) {
  for (const auto& [width, height] : {std::pair{1u, 1u},
                                      {1u, 2u},
                                      {2u, 1u},
                                      {1u, 9u},
                                      {9u, 1u},
                                      {2u, 2u},
                                      {3u, 5u},
                                      {8u, 3u},
                                      {16u, 16u}}) {
    std::vector<std::uint32_t> lengths;
    for (std::uint32_t i = 0; i < width * height; ++i) lengths.push_back(i * i % 77);
    for (const OffsetOrder order : kOrders) {
      const auto run =
          run_offsets(width, height, lengths, {.order = order, .by = OffsetsBy::look_back});
      ASSERT_TRUE(run.ok()) << run.error().message;
      const auto other = run_offsets(width, height, lengths, {.order = order});
      EXPECT_EQ(run->offsets, other->offsets) << width << "x" << height;
      EXPECT_EQ(run->total, other->total);
    }
  }
}

TEST(WaferLookBack, TakesATaskAndItsWayForEveryPe) {
  const Machine machine;
  for (const auto& [width, height] : {std::pair{1u, 30u}, {4u, 9u}, {9u, 4u}, {20u, 20u}}) {
    const auto run =
        run_offsets(width, height, {}, {.order = OffsetOrder::column, .by = OffsetsBy::look_back});
    ASSERT_TRUE(run.ok()) << run.error().message;
    // From the first PE's task: its activation, the counter read before and after, its own
    // addition.
    const std::uint64_t first = machine.task_activation + 2 * machine.timestamp + 2;
    EXPECT_EQ(run->makespan_cycles, first + look_back_cycles(width, height, machine))
        << width << "x" << height;
  }
}

TEST(WaferLookBack, IsSlowerThanReduceAndScanAndSendsManyTimesTheWavelets) {
  const auto chain = run_offsets(40, 40, {}, {.by = OffsetsBy::look_back});
  const auto scans = run_offsets(40, 40, {});
  ASSERT_TRUE(chain.ok() && scans.ok());
  EXPECT_GT(chain->makespan_cycles, 20 * scans->makespan_cycles);
  EXPECT_GT(chain->report.wavelets_sent, 100 * scans->report.wavelets_sent);
}

TEST(WaferLookBack, RefusesMeshesThatCannotBeSimulatedAndLengthsThatDoNotFit) {
  const auto large = run_offsets(200, 100, {}, {.by = OffsetsBy::look_back});
  ASSERT_FALSE(large.ok());
  EXPECT_NE(large.error().message.find("at most 10000 PEs"), std::string::npos);
  const std::vector<std::uint32_t> lengths = {0x80000000u};
  EXPECT_FALSE(run_offsets(2, 2, lengths, {.by = OffsetsBy::look_back}).ok());
  EXPECT_TRUE(run_offsets(2, 2, lengths, {}).ok());
}

/// Blocks of which every third run of `calm` is wild.
std::vector<float> uneven(std::size_t blocks, std::size_t calm) {
  std::mt19937 random(5);
  std::vector<float> field(32 * blocks - 7);
  for (std::size_t i = 0; i < field.size(); ++i) {
    const double size = i / 32 / calm % 3 == 0 ? 1e5 : 1;
    field[i] = static_cast<float>(size * (static_cast<double>(random()) / 4294967296.0));
  }
  field[40] = 3e38f;  // an outlier that a neighbour may have to send back
  return field;
}

MeshRun run_on_mesh(const std::vector<float>& field, Mapping mapping, MeshOptions options) {
  options.mapping = mapping;
  auto run = compress_on_mesh(field, 0.5, ceresz2::Codebook::standard(), *Calibration::standard(),
                              options);
  EXPECT_TRUE(run.ok()) << run.error().message;
  return run.ok() ? std::move(run).value() : MeshRun{};
}

std::vector<std::byte> host_bytes(const std::vector<float>& field, Mapping mapping) {
  std::vector<std::byte> output(field.size() * 10 + 4096);
  ChunkWorkspace workspace(usable_isas().front());
  auto coder = make_ceresz();
  if (mapping == Mapping::ceresz2) coder = std::move(make_ceresz2("default")).value();
  const auto bytes =
      coder->encode(bounded::Field<float>{field, Shape{field.size()}}, 0.5, output, workspace);
  output.resize(bytes.value_or(0));
  return output;
}

TEST(WaferLookBack, GivesTheHostsBytesInTheWholePipeline) {
  const auto field = uneven(200, 5);
  for (const OffsetOrder order : kOrders) {
    for (const MeshIo io : {MeshIo::sram, MeshIo::edge}) {
      const MeshRun run = run_on_mesh(
          field, Mapping::ceresz2,
          {.width = 9, .height = 7, .io = io, .offsets = OffsetsBy::look_back, .order = order});
      EXPECT_TRUE(run.payload == host_bytes(field, Mapping::ceresz2));
      EXPECT_LE(run.colors, 8u);
      EXPECT_EQ(run.report.wavelets_sent, run.report.wavelets_received);
    }
  }
}

TEST(WaferSharing, GivesTheHostsBytesForEveryMesh) {
  for (const Mapping mapping : {Mapping::ceresz2, Mapping::ceresz}) {
    const auto field = uneven(170, 6);
    const auto expected = host_bytes(field, mapping);
    for (const auto& [width, height] :
         {std::pair{1u, 5u}, {2u, 3u}, {5u, 4u}, {8u, 9u}, {17u, 20u}}) {
      for (const MeshIo io : {MeshIo::sram, MeshIo::edge}) {
        std::vector<std::uint64_t> events;
        for (const bool trains : {true, false}) {
          MeshOptions options{
              .width = width, .height = height, .shrink = false, .io = io, .share_work = true};
          options.run.trains = trains;
          const MeshRun run = run_on_mesh(field, mapping, options);
          EXPECT_TRUE(run.payload == expected) << width << "x" << height;
          EXPECT_EQ(run.report.wavelets_sent, run.report.wavelets_received);
          events.push_back(run.report.events);
        }
        // Words go in and out as trains: what the pairs say is not in their way.
        if (width > 2) {
          EXPECT_LT(events[0], events[1]) << width << "x" << height;
        }
      }
    }
  }
}

TEST(WaferSharing, MakesASlowPesNeighbourTakeItsBlocks) {
  // Pairs of PEs with 6 blocks each, of which one has all the wild ones.
  const auto field = uneven(6 * 12, 6);
  const MeshOptions apart{
      .width = 12, .height = 1, .io = MeshIo::sram, .order = OffsetOrder::column};
  MeshOptions together = apart;
  together.share_work = true;
  const MeshRun alone = run_on_mesh(field, Mapping::ceresz, apart);
  const MeshRun shared = run_on_mesh(field, Mapping::ceresz, together);
  EXPECT_EQ(alone.shared_blocks, 0u);
  EXPECT_GT(shared.shared_blocks, 0u);
  EXPECT_LT(shared.kernel_cycles, alone.kernel_cycles);
  // All work together is what it was; a pair cannot be faster than half of its work.
  std::uint64_t before = 0, after = 0, largest_pair = 0;
  for (std::size_t i = 0; i < alone.pe_cycles.size(); ++i) {
    before += alone.pe_cycles[i];
    after += shared.pe_cycles[i];
    if (i % 2 == 1) {
      largest_pair =
          std::max<std::uint64_t>(largest_pair, alone.pe_cycles[i - 1] + alone.pe_cycles[i]);
    }
  }
  EXPECT_EQ(before, after);
  EXPECT_GE(shared.kernel_cycles, largest_pair / 2);
}

TEST(WaferSharing, GainsNothingWithABlockAPe) {
  const auto field = uneven(60, 1);
  MeshOptions options{.width = 10, .height = 6, .io = MeshIo::sram, .share_work = true};
  EXPECT_EQ(run_on_mesh(field, Mapping::ceresz2, options).shared_blocks, 0u);
  options.mapping = Mapping::ceresz_three;
  EXPECT_FALSE(
      compress_on_mesh(field, 0.5, ceresz2::Codebook::standard(), *Calibration::standard(), options)
          .ok());
}

}  // namespace
}  // namespace tensorpress::wafer::programs
