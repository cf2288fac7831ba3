// The time model: each term against hand arithmetic, its limits, and the published numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "devices/programs/ported_codec.h"
#include "devices/time/chop_sweep.h"
#include "devices/time/chop_time.h"
#include "unit/devices/builtin_devices.h"

namespace tensorpress::devices {
namespace {

/// Round numbers in every term; one after the other.
Device round_numbers() {
  Device device = device_named("ipu");
  device.launch_seconds = Fact{.value = 1};
  device.step_seconds = Fact{.value = 10};
  device.to_device = Fact{.value = 1024};
  device.from_device = Fact{.value = 512};
  device.returns_output = true;
  device.products_in_16_bits = false;
  device.f32_flops = Fact{.value = 1e4};
  device.on_chip_bytes_per_second = Fact{.value = 1e9};
  device.clock_hz = Fact{.value = 100};
  device.gather_cycles = Fact{.value = 7};
  device.pipeline_planes = {};
  return device;
}

ChopTask images(std::uint64_t n, std::uint64_t cf, bool decompress, std::uint64_t serialize = 1) {
  return {.shape = {100, 3, n, n}, .cf = cf, .serialize = serialize, .decompress = decompress};
}

TEST(ChopTime, EveryTermIsTheHandArithmetic) {
  // 2 samples of one 16 x 16 plane: 2048 bytes; CF 4 keeps 8 x 8 of each: 512 bytes.
  const ChopTask task{.shape = {2, 1, 16, 16}, .cf = 4, .triangle = true, .serialize = 2};
  const ChopTime time = chop_time(round_numbers(), task);
  EXPECT_EQ(time.launch, 1);
  EXPECT_EQ(time.steps, 10 * (3 + 3));       // three further parts; flatten, select, unflatten
  EXPECT_EQ(time.to_device, 2048.0 / 1024);  // all of it
  EXPECT_EQ(time.from_device, 2 * 4 * 10 * 4 / 512.0);  // 2 planes, 4 blocks, 10 values, 4 bytes
  // A part: (8 x 8)(8 x 4) and (4 x 8)(8 x 4): 8 4 15 + 4 4 15 flop; 4 parts, 2 planes.
  EXPECT_EQ(time.compute, 8 * (8 * 4 * 15 + 4 * 4 * 15) / 1e4);
  EXPECT_EQ(time.gather, 2 * 4 * 10 * 7 / 100.0);
  EXPECT_DOUBLE_EQ(time.total, time.launch + time.steps + time.to_device + time.from_device +
                                   time.compute + time.gather);
  EXPECT_EQ(time.bytes, 2048);
  EXPECT_DOUBLE_EQ(time.samples_per_second(), 2 / time.total);
  EXPECT_EQ(time.bound_by(), "steps");
}

TEST(ChopTime, OverlappingMachinesWaitForTheSlowerOnly) {
  Device device = round_numbers();
  const ChopTask task{.shape = {2, 1, 16, 16}};
  const ChopTime serial = chop_time(device, task);
  device.overlaps = true;
  const ChopTime overlapped = chop_time(device, task);
  const double transfer = serial.to_device + serial.from_device;
  EXPECT_DOUBLE_EQ(serial.total, 1 + transfer + serial.compute);
  EXPECT_DOUBLE_EQ(overlapped.total, 1 + std::max(transfer, serial.compute));
  device.pipeline_planes = Fact{.value = 3};  // two planes flow, three more fill the pipeline
  EXPECT_DOUBLE_EQ(chop_time(device, task).total, 1 + 2.5 * std::max(transfer, serial.compute));
}

TEST(ChopTime, WithInfiniteRatesAndNoLatencyNothingTakesTime) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  for (const std::string& name : builtin_names()) {
    Device device = device_named(name.c_str());
    for (auto rate : {&Device::to_device, &Device::from_device, &Device::f32_flops,
                      &Device::f16_flops, &Device::on_chip_bytes_per_second,
                      &Device::off_chip_bytes_per_second, &Device::clock_hz}) {
      if (device.*rate) (device.*rate)->value = kInfinite;
    }
    const ChopTask task = images(64, 4, true);
    EXPECT_DOUBLE_EQ(chop_time(device, task).total, device.launch_seconds->value) << name;
    device.launch_seconds->value = 0;
    EXPECT_EQ(chop_time(device, task).total, 0) << name;
  }
}

TEST(ChopTime, ASlowerMachineIsNeverFaster) {
  for (const std::string& name : builtin_names()) {
    const Device device = device_named(name.c_str());
    for (const NumberField& field : number_fields()) {
      if (!(device.*field.member)) continue;
      const std::string unit = field.unit;
      Device slower = device;
      if (unit == "B/s" || unit == "flop/s" || unit == "Hz") {
        (slower.*field.member)->value /= 3;
      } else if (unit == "s" || unit == "cycles") {
        (slower.*field.member)->value *= 3;
      } else {
        continue;
      }
      for (const std::uint64_t n : {32, 256}) {
        for (const bool decompress : {false, true}) {
          ChopTask task = images(n, 3, decompress, 2);
          task.triangle = true;
          EXPECT_GE(chop_time(slower, task, 64).total, chop_time(device, task, 64).total)
              << name << " " << field.section << "." << field.key;
        }
      }
    }
  }
}

TEST(ChopTime, MoreSamplesAndLargerPlanesNeverTakeLess) {
  for (const std::string& name : builtin_names()) {
    const Device device = device_named(name.c_str());
    double last = 0;
    for (const std::uint64_t batch : {10, 100, 1000, 5000}) {
      const double total = chop_time(device, {.shape = {batch, 3, 64, 64}}).total;
      EXPECT_GT(total, last) << name;
      last = total;
    }
    last = 0;
    for (const std::uint64_t n : {32, 64, 128, 256, 512}) {
      const double total = chop_time(device, images(n, 4, true)).total;
      EXPECT_GT(total, last) << name;
      last = total;
    }
  }
}

TEST(ChopTime, ManyDevicesMultiplyUntilTheirHostLinkIsFull) {
  Device device = device_named("ipu");
  const ChopTask task = images(256, 2, true);
  const double one = chop_time(device, task).bytes_per_second();
  EXPECT_DOUBLE_EQ(chop_time(device, task, 64).bytes_per_second(), 64 * one);
  device.host_link_peak->value = 2 * device.to_device->value;  // for the four that share it
  EXPECT_LT(chop_time(device, task, 64).bytes_per_second(), 48 * one);
}

// Constants that say they are fitted are: the number that they were fitted on comes out.

TEST(FittedConstants, ReturnTheNumbersTheyWereFittedOn) {
  const Device cs2 = device_named("cs2"), sn30 = device_named("sn30"), ipu = device_named("ipu"),
               groq = device_named("groqchip");
  EXPECT_NEAR(chop_time(cs2, images(512, 2, true)).bytes_per_second() / 26e9, 1, 0.002);
  EXPECT_NEAR(chop_time(cs2, images(32, 4, true)).samples_per_second() / 330e3, 1, 0.002);
  EXPECT_NEAR(chop_time(sn30, images(32, 4, true)).samples_per_second() / 220e3, 1, 0.002);
  const double span = chop_time(sn30, images(256, 2, true)).bytes_per_second() *
                      chop_time(sn30, images(256, 7, true)).bytes_per_second();
  EXPECT_NEAR(span / (10e9 * 7e9), 1, 0.005);
  double compression = 0, decompression = 0;
  for (std::uint64_t cf = 2; cf <= 7; ++cf) {
    compression += chop_time(groq, images(256, cf, false)).bytes_per_second() / 6;
    decompression += chop_time(groq, images(256, cf, true)).bytes_per_second() / 6;
  }
  EXPECT_NEAR(compression / 150e6, 1, 0.002);
  EXPECT_NEAR(decompression / 200e6, 1, 0.002);
  EXPECT_NEAR(chop_time(ipu, images(512, 2, true)).bytes_per_second() / 21e9, 1, 0.002);
  const double whole = chop_time(ipu, images(512, 2, true)).total;
  const double parts = chop_time(ipu, images(512, 2, true, 2)).total;
  EXPECT_NEAR(parts / chop_time(ipu, images(256, 2, true)).total, 2.6, 0.01);
  EXPECT_NEAR(parts / whole - 1, 0.08, 0.001);
}

// Published numbers that no constant was fitted on (DCT+Chop, Sec. 4.2.2 to 4.2.4).

TEST(PredictedTimes, IpuThroughputsAreWithin10Percent) {
  const Device ipu = device_named("ipu");
  double compression = 0;
  for (const std::uint64_t n : {32, 64, 128, 256, 512}) {
    compression += chop_time(ipu, images(n, 4, false)).bytes_per_second() / 5;
  }
  EXPECT_NEAR(compression / 1.2e9, 1, 0.1);
  EXPECT_NEAR(chop_time(ipu, images(256, 7, true)).bytes_per_second() / 2e9, 1, 0.1);
}

TEST(PredictedTimes, WithTheLinkAloneIpuThroughputsAreWithin10PercentToo) {
  Device ipu = device_named("ipu");
  ipu.launch_seconds->value = 0;
  ipu.to_device->value = 21e9 / 16;
  EXPECT_NEAR(chop_time(ipu, images(256, 4, false)).bytes_per_second() / 1.2e9, 1, 0.1);
  EXPECT_NEAR(chop_time(ipu, images(512, 2, true)).bytes_per_second() / 21e9, 1, 0.1);
  const double low = (chop_time(ipu, images(256, 7, true)).bytes_per_second() +
                      chop_time(ipu, images(256, 6, true)).bytes_per_second()) /
                     2;
  EXPECT_NEAR(low / 2e9, 1, 0.1);
}

TEST(PredictedTimes, OtherThroughputsAreWithin15Percent) {
  EXPECT_NEAR(chop_time(device_named("cs2"), images(512, 7, true)).bytes_per_second() / 16e9, 1,
              0.15);
  EXPECT_NEAR(chop_time(device_named("sn30"), images(256, 2, false)).bytes_per_second() / 10e9, 1,
              0.15);
  EXPECT_NEAR(chop_time(device_named("sn30"), images(256, 7, false)).bytes_per_second() / 7e9, 1,
              0.15);
  const Device a100 = device_named("a100");
  double least = 1e99, most = 0;
  for (std::uint64_t cf = 2; cf <= 7; ++cf) {
    const double rate = chop_time(a100, images(256, cf, true)).bytes_per_second();
    EXPECT_NEAR(rate / 2.5e9, 1, 0.15) << cf;
    least = std::min(least, rate);
    most = std::max(most, rate);
  }
  EXPECT_LT(most / least, 1.1);  // "little variation across each compression ratio"
}

TEST(PredictedTimes, SerializationSlowsDownWithinThePublishedRange) {
  for (const char* name : {"ipu", "sn30"}) {
    const Device device = device_named(name);
    for (std::uint64_t cf = 2; cf <= 7; ++cf) {
      const double slower = chop_time(device, images(512, cf, true, 2)).total /
                            chop_time(device, images(256, cf, true)).total;
      EXPECT_GE(slower, 2.5) << name << cf;
      EXPECT_LE(slower, 3.8) << name << cf;
    }
  }
}

TEST(PredictedTimes, WholePlanesAreFasterOnIpuByOneToEightPercent) {
  const Device ipu = device_named("ipu");
  for (std::uint64_t cf = 2; cf <= 7; ++cf) {
    const double percent = 100 * (chop_time(ipu, images(512, cf, true, 2)).total /
                                      chop_time(ipu, images(512, cf, true)).total -
                                  1);
    EXPECT_GE(std::round(percent), 1) << cf;
    EXPECT_LE(std::round(percent), 8) << cf;
  }
}

TEST(PredictedTimes, TheTriangleSlowsDownWithinThePublishedRange) {
  const Device ipu = device_named("ipu");
  for (std::uint64_t cf = 2; cf <= 7; ++cf) {
    ChopTask task = images(32, cf, true);
    const double square = chop_time(ipu, task).total;
    task.triangle = true;
    const double slower = chop_time(ipu, task).total / square;
    EXPECT_GE(slower, 1.5) << cf;
    EXPECT_LE(slower, 2.7) << cf;
  }
}

TEST(PredictedTimes, MachinesRankAsInThePaper) {
  const auto rate = [](const char* name) {
    return chop_time(device_named(name), images(256, 7, true)).bytes_per_second();
  };
  EXPECT_GT(rate("cs2"), rate("sn30"));
  EXPECT_GT(rate("sn30"), rate("a100"));
  EXPECT_GT(rate("a100"), rate("ipu"));
  EXPECT_GT(rate("ipu"), rate("groqchip"));
}

TEST(PredictedTimes, Sn30UsesAtMostThreePercentOfItsUnits) {
  const Device sn30 = device_named("sn30");
  for (std::uint64_t cf = 2; cf <= 7; ++cf) {
    EXPECT_LE(chop_time(sn30, images(256, cf, true)).unit_share, 0.03);
    EXPECT_LE(chop_time(sn30, images(256, cf, false)).unit_share, 0.03);
  }
}

TEST(Sweep, FiguresHoldWhatThePaperPlots) {
  const auto figure = paper_figure(11);
  ASSERT_TRUE(figure.ok());
  ASSERT_EQ(figure->size(), 4U);
  for (const Sweep& sweep : *figure) {
    ASSERT_EQ(sweep.series.size(), 6U);
    EXPECT_EQ(sweep.series.front().name, "CR 16.00");
    EXPECT_EQ(sweep.series.back().name, "CR 1.31");
    const bool stops_at_256 = sweep.device == "sn30" || sweep.device == "groqchip";
    for (const SweepSeries& series : sweep.series) {
      ASSERT_EQ(series.points.size(), 5U);
      EXPECT_EQ(series.points.back().time.has_value(), !stops_at_256) << sweep.device;
      EXPECT_EQ(series.points.back().reason.empty(), !stops_at_256) << sweep.device;
    }
  }
  EXPECT_EQ(paper_figure(14)->front().device, "a100");
  EXPECT_EQ(paper_figure(15)->size(), 2U);
  EXPECT_EQ(paper_figure(17)->front().series.size(), 2U);
  EXPECT_FALSE(paper_figure(16).ok());
}

TEST(PortedCodec, TheWafersOwnMeshGivesThePublishedThroughput) {
  const auto time = ceresz2_time(device_named("cs2"), 512 * 512, 10);
  ASSERT_TRUE(time.ok());
  EXPECT_NEAR(time->on_chip_bytes_per_second / 852.54e9, 1, 0.001);
}

TEST(PortedCodec, AnIpuIsSlowerByItsCoresAndFasterByItsClock) {
  const auto wafer = ceresz2_time(device_named("cs2"), 1472, 10);
  const auto ipu = ceresz2_time(device_named("ipu"), 0, 10);
  ASSERT_TRUE(wafer.ok() && ipu.ok());
  EXPECT_NEAR(ipu->on_chip_bytes_per_second / wafer->on_chip_bytes_per_second, 1.85 / 0.85, 1e-9);
  EXPECT_LT(ipu->with_host_bytes_per_second, device_named("ipu").to_device->value);
}

TEST(PortedCodec, MachinesWithoutShiftsRefuse) {
  for (const char* name : {"sn30", "groqchip"}) {
    const auto time = ceresz2_time(device_named(name), 0, 10);
    ASSERT_FALSE(time.ok());
    EXPECT_NE(time.error().message.find("bit shifts"), std::string::npos);
  }
}

}  // namespace
}  // namespace tensorpress::devices
