// Training on many devices: each term against hand arithmetic, limits, and the published figures.
#include <gtest/gtest.h>

#include <cmath>

#include "devices/programs/gcn_program.h"
#include "devices/programs/networks.h"
#include "devices/time/program_time.h"
#include "devices/time/training_cost.h"
#include "unit/devices/builtin_devices.h"

namespace tensorpress::devices {
namespace {

/// One unit of everything: 100 flop/s, 1000 bytes on the chip, 10 B/s beside it, 5 B/s to others.
Device round_numbers() {
  Device device = device_named("ipu");
  device.f32_flops = Fact{.value = 100};
  device.on_chip_bytes = Fact{.value = 1000};
  device.on_chip_bytes_per_second = {};
  device.off_chip_bytes = Fact{.value = 1e6};
  device.off_chip_bytes_per_second = Fact{.value = 10};
  device.device_link = Fact{.value = 10};
  device.device_link_efficiency = Fact{.value = 0.5};
  device.device_link_latency = {};
  return device;
}

/// Four operators of 10 + 20 flop, 5 bytes out, 20 bytes of weights; each saves 40 bytes.
Workload four_operators(double batch) {
  Workload workload{.name = "four", .batch = batch, .parameter_copies = 1};
  for (std::size_t i = 0; i < 4; ++i) {
    workload.operators.push_back({.name = "op",
                                  .forward_flops = 10,
                                  .backward_flops = 20,
                                  .parameter_bytes = 20,
                                  .output_bytes = 5});
    if (i > 0) workload.operators.back().inputs = {i - 1};
    workload.saved.push_back(
        {.name = "x", .bytes = 40, .made_by = i, .used_by = i, .ratio = 4, .codec_flops = 5});
  }
  return workload;
}

TrainingCost cost_of(const Device& device, const Workload& workload, const TrainingSetup& setup) {
  auto cost = training_cost(device, workload, setup);
  EXPECT_TRUE(cost.ok()) << cost.error().message;
  return std::move(cost).value();
}

TEST(TrainingCost, OneDeviceComputesAndStreamsWhatWaits) {
  // 8 samples: 8 x 4 x 30 flop; 8 x 4 x 40 bytes out and back at 10 B/s.
  const TrainingCost cost = cost_of(round_numbers(), four_operators(8), {.stash = Stash::beside});
  EXPECT_DOUBLE_EQ(cost.stages[0].compute, 9.6);
  EXPECT_DOUBLE_EQ(cost.stages[0].stream, 2 * 1280 / 10.0);
  EXPECT_DOUBLE_EQ(cost.step, 9.6 + 256);
  EXPECT_DOUBLE_EQ(cost.stages[0].parameters, 80);
  EXPECT_DOUBLE_EQ(cost.stages[0].working, 8 * 10);
  EXPECT_EQ(cost.bubble_share, 0);
}

TEST(TrainingCost, CompressionDividesTheStreamAndAddsTheCodec) {
  const TrainingCost cost =
      cost_of(round_numbers(), four_operators(8), {.compress = true, .stash = Stash::beside});
  EXPECT_DOUBLE_EQ(cost.stages[0].stream, 2 * 1280 / 10.0 / 4);
  EXPECT_DOUBLE_EQ(cost.stages[0].codec, 8 * 4 * 5 / 100.0);
}

TEST(TrainingCost, ActivationsStayOnTheChipWhenTheyFit) {
  const Device device = round_numbers();
  // 1000 bytes: weights 80, working 5 x 10, waiting 5 x 160.
  EXPECT_TRUE(cost_of(device, four_operators(5), {}).stages[0].stash_on_chip);
  EXPECT_EQ(cost_of(device, four_operators(5), {}).stages[0].stream, 0);
  EXPECT_FALSE(cost_of(device, four_operators(6), {}).stages[0].stash_on_chip);
  EXPECT_TRUE(cost_of(device, four_operators(6), {.compress = true}).stages[0].stash_on_chip);
}

TEST(TrainingCost, PipelinesHaveBubblesAndExchangeTheirBorders) {
  // Two stages of two operators, 4 micro-batches of 2 samples: 5 turns.
  const TrainingCost cost =
      cost_of(round_numbers(), four_operators(8), {.stages = 2, .micro_batches = 4});
  ASSERT_EQ(cost.stages.size(), 2U);
  EXPECT_EQ(cost.stages[1].first, 2U);
  EXPECT_DOUBLE_EQ(cost.stages[0].compute, 2 * 2 * 30 / 100.0);
  EXPECT_EQ(cost.stages[0].exchange, 0);
  EXPECT_DOUBLE_EQ(cost.stages[1].exchange, 2 * 2 * 5 / 5.0);  // there and back at 10 x 0.5 B/s
  EXPECT_DOUBLE_EQ(cost.step, 5 * (1.2 + 4));
  EXPECT_DOUBLE_EQ(cost.bubble_share, 0.2);
  // The first stage holds two micro-batches, the last one.
  EXPECT_DOUBLE_EQ(cost.stages[0].stash, 2 * 2 * 2 * 40);
  EXPECT_DOUBLE_EQ(cost.stages[1].stash, 2 * 2 * 40);
}

TEST(TrainingCost, ReplicasReduceTheirGradientsInARing) {
  const TrainingCost cost = cost_of(round_numbers(), four_operators(2), {.replicas = 4});
  EXPECT_DOUBLE_EQ(cost.reduce, 2 * 3 / 4.0 * 80 / 5);
  EXPECT_DOUBLE_EQ(cost.samples, 8);
}

TEST(TrainingCost, ASlowerLinkIsNeverFaster) {
  const Workload workload = *network("resnet34", 256);
  for (auto rate : {&Device::device_link, &Device::off_chip_bytes_per_second, &Device::f32_flops,
                    &Device::on_chip_bytes_per_second}) {
    Device slower = device_named("ipu");
    const Device device = slower;
    (slower.*rate)->value /= 2;
    for (const TrainingSetup& setup :
         {TrainingSetup{.stash = Stash::beside},
          TrainingSetup{.stages = 4, .replicas = 2, .micro_batches = 8}}) {
      EXPECT_GE(cost_of(slower, workload, setup).step, cost_of(device, workload, setup).step);
    }
  }
}

TEST(TrainingCost, MoreMemoryNeverStreamsMore) {
  Device device = device_named("ipu");
  const Workload workload = *network("resnet34", 128);
  double last = INFINITY;
  for (int i = 0; i < 4; ++i) {
    const double step = cost_of(device, workload, {}).step;
    EXPECT_LE(step, last);
    last = step;
    device.on_chip_bytes->value *= 2;
  }
}

TEST(TrainingCost, ImpossibleSplitsAreRefusedWithTheirReason) {
  const Device device = round_numbers();
  const auto message = [&](const TrainingSetup& setup) {
    return training_cost(device, four_operators(8), setup).error().message;
  };
  EXPECT_EQ(message({.stages = 5}), "5 stages, but four has only 4 operators to put into them");
  EXPECT_EQ(message({.micro_batches = 9}), "9 micro-batches, but the batch has 8 samples");
  EXPECT_FALSE(training_cost(device, Workload{.name = "none"}, {}).ok());
  Device alone = device;
  alone.device_link = {};
  EXPECT_FALSE(training_cost(alone, four_operators(8), {.replicas = 2}).ok());
}

TEST(TrainingCost, WhatDoesNotFitSaysWhichBatchWould) {
  Device device = round_numbers();
  // Weights 80, working 10 a sample: 92 samples fit in 1000 bytes in one micro-batch.
  EXPECT_EQ(largest_batch(device, four_operators(500), {}), 92);
  device.on_chip_bytes->value = 50;
  const auto best = best_split(device, four_operators(8), 1, false);
  ASSERT_FALSE(best.ok());
  EXPECT_NE(best.error().message.find("not even one sample would fit"), std::string::npos);
}

TEST(BalancedStages, TheSlowestStageIsAsFastAsItCanBe) {
  EXPECT_EQ(balanced_stages({1, 1, 1, 3}, 2), (std::vector<std::size_t>{0, 3}));
  EXPECT_EQ(balanced_stages({5, 1, 1, 1}, 3), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(balanced_stages({1, 2, 3}, 1), (std::vector<std::size_t>{0}));
  EXPECT_EQ(balanced_stages({1, 2, 3}, 3), (std::vector<std::size_t>{0, 1, 2}));
}

TEST(BestSplit, IsAtLeastAsFastAsAnyOneTried) {
  const Device device = device_named("ipu");
  Workload workload = *network("resnet34", 256);
  plan_chop(workload, 4);
  const auto best = best_split(device, workload, 8, true);
  ASSERT_TRUE(best.ok());
  EXPECT_EQ(best->setup.stages * best->setup.replicas, 8U);
  for (const std::size_t stages : {1, 2, 4, 8}) {
    for (const std::size_t micro : {1, 8, 64}) {
      const TrainingCost tried = cost_of(device, workload, {stages, 8 / stages, micro, true});
      if (!tried.fits()) continue;
      EXPECT_LE(tried.samples_per_second(), best->samples_per_second());
    }
  }
  EXPECT_FALSE(best_split(device, workload, 0, true).ok());
}

TEST(Networks, ResNet34HasItsPublishedSize) {
  const Workload workload = *network("resnet34", 1);
  double parameters = 0, forward = 0;
  for (const WorkloadOperator& each : workload.operators) {
    parameters += each.parameter_bytes / 4;
    forward += each.forward_flops;
  }
  // 21.3 million weights and 1.16 G multiply-adds on CIFAR-10 (stem of stride 1), without the
  // 1 x 1 projections of the shortcuts.
  EXPECT_NEAR(parameters / 21.3e6, 1, 0.02);
  EXPECT_NEAR(forward / 2 / 1.16e9, 1, 0.02);
  EXPECT_FALSE(network("resnet35", 1).ok());
}

TEST(Networks, OnlyPlanesOfABlockOrMoreAreCompressed) {
  Workload workload = *network("resnet34", 1);
  plan_chop(workload, 4);
  for (const SavedTensor& saved : workload.saved) {
    EXPECT_EQ(saved.ratio, saved.shape.back() >= 8 ? 4 : 1) << saved.name;
    EXPECT_EQ(saved.codec_flops > 0, saved.shape.back() >= 8) << saved.name;
  }
}

// Activation compression on IPUs (IISWC 2025, abstract).
class PublishedSpeedups : public testing::Test {
 protected:
  double speedup(TrainingSetup setup, std::uint64_t cf, double batch = 256) const {
    const Device device = device_named("ipu");
    const double alone =
        cost_of(device, *network("resnet34", 256), {.stash = Stash::beside}).samples_per_second();
    Workload workload = *network("resnet34", batch);
    plan_chop(workload, cf);
    setup.compress = true;
    return cost_of(device, workload, setup).samples_per_second() / alone;
  }
};

TEST_F(PublishedSpeedups, OneConstantIsFittedOnTwoPipelinedIpus) {
  EXPECT_NEAR(speedup({.stages = 2, .micro_batches = 4}, 4), 18.5, 0.1);
}

TEST_F(PublishedSpeedups, OneIpuIsFasterByOnePointOneToThreePointFive) {
  for (const std::uint64_t cf : {4, 5, 6, 7}) {
    const double faster = speedup({.stash = Stash::beside}, cf);
    EXPECT_GE(faster, 1.1) << cf;
    EXPECT_LE(faster, 3.5) << cf;
  }
}

TEST_F(PublishedSpeedups, SixteenReplicasAreMoreThan16TimesAsFast) {
  EXPECT_GT(speedup({.replicas = 16, .stash = Stash::beside}, 7), 16);
}

TEST_F(PublishedSpeedups, WithoutBubblesEightPairsWouldBeThePublished185) {
  // Four micro-batches on two stages work 4 of 5 turns, so 18.5 times is 23.1 without bubbles.
  const double pair = speedup({.stages = 2, .micro_batches = 4}, 4) * 5 / 4;
  EXPECT_NEAR(8 * pair, 185, 2);
}

TEST_F(PublishedSpeedups, SixteenMixedComeWithin10PercentOf185) {
  EXPECT_GT(speedup({.stages = 2, .replicas = 8, .micro_batches = 64}, 4, 4096), 0.9 * 185);
}

TEST(ProgramTime, AGraphNetworkSendsItsAdjacencyUnlessItIsAConstant) {
  const Device cs2 = device_named("cs2");
  GcnTask task{.nodes = 1000, .features = 10, .hidden = 4, .classes = 2};
  task.adjacency = Adjacency::matmul;
  const ProgramTime sent = program_time(cs2, gcn_program(task));
  task.adjacency = Adjacency::linear;
  const ProgramTime kept = program_time(cs2, gcn_program(task));
  EXPECT_NEAR((sent.to_device - kept.to_device) * cs2.to_device->value, 4e6, 1e-3);
  EXPECT_DOUBLE_EQ(sent.from_device, 8000 / cs2.from_device->value);
  // X W1, A (X W1), relu, H W2, A (H W2)
  EXPECT_DOUBLE_EQ(sent.flops, 2e3 * 10 * 4 + 2e6 * 4 + 4e3 + 2e3 * 4 * 2 + 2e6 * 2);
}

}  // namespace
}  // namespace tensorpress::devices
