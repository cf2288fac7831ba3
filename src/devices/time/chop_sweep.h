// Sweeps of DCT+Chop over one parameter, a series for each chop factor: the form of the paper's
// Figures 10 to 15 and 17. Points that the device cannot compile are there, without a time.
#pragma once

#include <optional>
#include <string_view>

#include "devices/time/chop_time.h"

namespace tensorpress::devices {

enum class SweepAxis : std::uint8_t { resolution, batch, cf, serialize };

/// By these names; absent for other words.
std::optional<SweepAxis> sweep_axis_named(std::string_view name);

struct SweepPoint {
  double x = 0;
  ChopTask task;
  std::optional<ChopTime> time;  // absent: it does not compile
  std::string reason = {};
};

struct SweepSeries {
  std::string name;  // "CR 16.00"
  std::vector<SweepPoint> points;
};

struct Sweep {
  std::string title;
  std::string device;
  SweepAxis axis = SweepAxis::resolution;
  bool throughput = false;  // what the figure shows; else time
  std::vector<SweepSeries> series;
};

/// Resolutions 32 to 512, batches 10 to 5000, chop factors 2 to 7, as in the paper, or s from 1 to
/// 8; other parameters from `task`. `count` devices side by side.
Result<Sweep> sweep(const Device& device, const ChopTask& task, SweepAxis axis,
                    std::uint64_t count = 1);

/// The sweeps of a figure of the paper, one a device: Figures 10 to 13 for all but the A100, 14 for
/// the A100, 15 (partial serialization) for IPU and SN30, 17 (triangle) for the IPU.
Result<std::vector<Sweep>> paper_figure(int number);

}  // namespace tensorpress::devices
