// What compiles and fits where: every published outcome, and the arithmetic behind them.
#include "devices/check.h"

#include <gtest/gtest.h>

#include "devices/programs/chop_program.h"
#include "devices/time/chop_sweep.h"
#include "devices/time/training_cost.h"

namespace tensorpress::devices {
namespace {

constexpr std::uint64_t kChopFactors[] = {2, 3, 4, 5, 6, 7};  // of the paper's figures

bool fits(const char* name, const ChopTask& task) {
  const auto device = builtin_device(name);
  EXPECT_TRUE(device.ok()) << name;
  const auto outcome = check(*device, task);
  EXPECT_TRUE(outcome.ok()) << name;
  return outcome->fits();
}

/// Compression and decompression at every chop factor agree.
void expect_everywhere(const char* device, ChopTask task, bool expected) {
  for (const std::uint64_t cf : kChopFactors) {
    for (const bool decompress : {false, true}) {
      task.cf = cf;
      task.decompress = decompress;
      EXPECT_EQ(fits(device, task), expected) << device << " " << name_of(task);
    }
  }
}

TEST(PublishedOutcomes, ResolutionsUpTo256CompileEverywhere) {
  for (const char* device : {"cs2", "sn30", "groqchip", "ipu", "a100"}) {
    for (const std::uint64_t n : {32, 64, 128, 256}) {
      expect_everywhere(device, {.shape = {100, 3, n, n}}, true);
    }
  }
}

TEST(PublishedOutcomes, Resolution512FailsOnSn30AndGroqChipOnly) {
  const ChopTask task{.shape = {100, 3, 512, 512}};
  expect_everywhere("sn30", task, false);
  expect_everywhere("groqchip", task, false);
  expect_everywhere("cs2", task, true);
  expect_everywhere("ipu", task, true);
  expect_everywhere("a100", task, true);
}

TEST(PublishedOutcomes, GroqChipFailsForBatchesAbove1000) {
  for (const std::uint64_t batch : {10, 100, 500, 1000}) {
    expect_everywhere("groqchip", {.shape = {batch, 3, 64, 64}}, true);
  }
  for (const std::uint64_t batch : {1001, 2000, 5000}) {
    expect_everywhere("groqchip", {.shape = {batch, 3, 64, 64}}, false);
  }
}

TEST(PublishedOutcomes, BatchesUpTo5000CompileOnTheOthers) {
  for (const char* device : {"cs2", "sn30", "ipu", "a100"}) {
    expect_everywhere(device, {.shape = {5000, 3, 64, 64}}, true);
  }
}

TEST(PublishedOutcomes, TwoPartsASideMake512FitOnSn30AndRunOnIpu) {
  const ChopTask task{.shape = {100, 3, 512, 512}, .serialize = 2};
  expect_everywhere("sn30", task, true);
  expect_everywhere("ipu", task, true);
}

TEST(PublishedOutcomes, TheTriangleRunsOnIpuAndA100Only) {
  const ChopTask task{.shape = {100, 3, 32, 32}, .triangle = true};
  expect_everywhere("ipu", task, true);
  expect_everywhere("a100", task, true);
  for (const char* device : {"cs2", "sn30", "groqchip"}) expect_everywhere(device, task, false);
}

TEST(PublishedOutcomes, APmuHoldsAPlaneOfUpTo362) {
  EXPECT_TRUE(fits("sn30", {.shape = {362, 362}}));
  EXPECT_FALSE(fits("sn30", {.shape = {363, 363}}));
}

TEST(PublishedOutcomes, ADenseGraphExhaustsTheCs2Near100000NodesAndCsrDoesNot) {
  const auto device = builtin_device("cs2");
  ASSERT_TRUE(device.ok());
  GcnTask task;
  for (const Adjacency dense : {Adjacency::linear, Adjacency::matmul}) {
    task.adjacency = dense;
    task.nodes = 90'000;
    EXPECT_TRUE(check(*device, task)->fits());
    task.nodes = 100'000;
    EXPECT_FALSE(check(*device, task)->fits());
  }
  task.nodes = 1'000'000;
  task.adjacency = Adjacency::csr;
  EXPECT_TRUE(check(*device, task, "csl")->fits());
  // In PyTorch it is the operator that is missing, not the memory (poster).
  const auto in_pytorch = check(*device, task);
  EXPECT_FALSE(in_pytorch->fits());
  for (const Requirement& each : in_pytorch->requirements) EXPECT_TRUE(each.fits());
}

TEST(Check, TheWayOutOfSn30IsTwoParts) {
  const auto device = builtin_device("sn30");
  ASSERT_TRUE(device.ok());
  const auto outcome = check(*device, ChopTask{.shape = {100, 3, 512, 512}});
  EXPECT_EQ(outcome->way_out, "`serialize` 2 fits: 256 KiB of 512 KiB a PMU");
  ASSERT_EQ(outcome->reasons.size(), 1U);
  EXPECT_EQ(outcome->reasons[0],
            "a plane of input in a product: 1 MiB do not fit in the 512 KiB of a PMU");
}

TEST(Check, MoreMemoryNeverFitsLess) {
  for (const std::string& name : builtin_names()) {
    const auto device = builtin_device(name);
    ASSERT_TRUE(device.ok());
    Device larger = *device;
    for (auto fact : {&Device::on_chip_bytes, &Device::off_chip_bytes, &Device::memory_unit_bytes,
                      &Device::plane_products}) {
      if (larger.*fact) (larger.*fact)->value *= 2;
    }
    for (const std::uint64_t n : {64, 256, 362, 512, 1024}) {
      for (const std::uint64_t batch : {1, 100, 1001}) {
        const ChopTask task{.shape = {batch, 3, n, n}};
        if (check(*device, task)->fits()) {
          EXPECT_TRUE(check(larger, task)->fits()) << name << " " << name_of(task);
        }
      }
    }
  }
}

TEST(Check, NumberTypesAndDynamicShapesCount) {
  const auto sn30 = builtin_device("sn30");
  const auto a100 = builtin_device("a100");
  Program program{.name = "half"};
  const std::size_t x =
      program.add({.name = "x", .shape = {8, 8}, .type = "float16", .role = TensorRole::input});
  program.apply("relu", {x},
                {.name = "y", .shape = {8, 8}, .type = "float16", .role = TensorRole::output});
  EXPECT_EQ(check(*sn30, program)->reasons,
            std::vector<std::string>{"tensor x is float16, which sn30 does not have"});
  EXPECT_TRUE(check(*a100, program)->fits());
  program.tensors[x].type = "float32";
  program.tensors[x].dynamic = true;
  EXPECT_FALSE(check(*sn30, program)->fits());
  EXPECT_TRUE(check(*a100, program)->fits());
}

TEST(Check, ShiftsAreNowhereButInPyTorchsOwnBackend) {
  Program program{.name = "shift"};
  const std::size_t x =
      program.add({.name = "x", .shape = {8}, .type = "int32", .role = TensorRole::input});
  program.apply("bitwise_left_shift", {x}, {.name = "y", .shape = {8}, .type = "int32"});
  for (const std::string& name : builtin_names()) {
    EXPECT_EQ(check(*builtin_device(name), program)->fits(), name == "a100") << name;
  }
  program.operators[0].name = "bitwise_not";  // DCT+Chop, Sec. 3.1: SN30 has this one
  EXPECT_TRUE(check(*builtin_device("sn30"), program)->fits());
  EXPECT_FALSE(check(*builtin_device("sn30"), program, "fortran").ok());
}

TEST(Program, MemoryIsWhatIsAliveAtATime) {
  // Compression of 100 x 3 x 512 x 512 at CF 7: input 314.6 MB and half product 275.3 MB, matrices.
  const double plane = 300.0 * 512 * 512 * 4;
  const double matrices = 2 * 448.0 * 512 * 4;
  EXPECT_EQ(peak_bytes(chop_program({.shape = {100, 3, 512, 512}, .cf = 7})),
            plane + plane * 7 / 8 + matrices);
  // A view costs nothing, what is dead is free, an output stays.
  Program program;
  const auto value = [&](const char* name, TensorRole role = TensorRole::value) {
    return ProgramTensor{.name = name, .shape = {10, 10}, .role = role};
  };
  const std::size_t a = program.add(value("a", TensorRole::input));
  const std::size_t view = program.apply("transpose", {a}, value("view"));
  const std::size_t b = program.apply("relu", {view}, value("b"));
  program.apply("relu", {b}, value("c", TensorRole::output));
  EXPECT_EQ(peak_bytes(program), 800);
}

TEST(Program, ChopCountsTheFlopsOfEquations5And7) {
  for (const std::uint64_t cf : kChopFactors) {
    const double n = 256, c = static_cast<double>(cf) / 8;
    const double products = 2 * n * n * n * c * (c + 1);
    EXPECT_DOUBLE_EQ(sizes_of({.shape = {256, 256}, .cf = cf}).flops,
                     products - n * n * (c + c * c));
    EXPECT_DOUBLE_EQ(sizes_of({.shape = {256, 256}, .cf = cf, .decompress = true}).flops,
                     products - n * n * (c + 1));
  }
}

TEST(Program, ChopKeepsCfSquaredOrItsTriangle) {
  EXPECT_EQ(sizes_of({.shape = {30, 30}, .cf = 3, .triangle = true}).compressed, 16 * 6);
  EXPECT_EQ(sizes_of({.shape = {32, 32}, .cf = 4}).compressed, 16 * 16);
  // 30 rows are 4 blocks; in 3 parts of 2 blocks that is 2 parts, the last of 14 rows.
  const ChopTask task{.shape = {30, 30}, .cf = 3, .serialize = 3};
  EXPECT_EQ(sizes_of(task).parts, 4);
  const Program program = chop_program(task);
  EXPECT_EQ(plane_products(program), 8);
  EXPECT_EQ(program.tensors.back().shape, (std::vector<std::uint64_t>{12, 12}));
}

TEST(Program, TasksThatMakeNoSenseAreRefused) {
  EXPECT_FALSE(check_task(ChopTask{.shape = {8}}).ok());
  EXPECT_FALSE(check_task(ChopTask{.shape = {0, 8, 8}}).ok());
  EXPECT_FALSE(check_task(ChopTask{.shape = {8, 8}, .cf = 9}).ok());
  EXPECT_FALSE(check_task(ChopTask{.shape = {8, 8}, .serialize = 0}).ok());
  EXPECT_FALSE(check_task(GcnTask{.nodes = 0}).ok());
}

TEST(Names, OfAdjacenciesSweepsAndSplits) {
  EXPECT_EQ(adjacency_named("dense"), Adjacency::linear);
  EXPECT_EQ(adjacency_named("csr"), Adjacency::csr);
  EXPECT_EQ(adjacency_named("sparse"), std::nullopt);
  EXPECT_EQ(sweep_axis_named("serialize"), SweepAxis::serialize);
  EXPECT_EQ(sweep_axis_named(""), std::nullopt);
  EXPECT_EQ(parallel_named("mixed"), Parallel::mixed);
  EXPECT_EQ(parallel_named("any"), std::nullopt);
}

}  // namespace
}  // namespace tensorpress::devices
