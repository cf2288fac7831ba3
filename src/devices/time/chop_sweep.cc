#include "devices/time/chop_sweep.h"

#include <charconv>
#include <utility>

#include "base/errors.h"
#include "devices/check.h"

namespace tensorpress::devices {
namespace {

constexpr std::uint64_t kResolutions[] = {32, 64, 128, 256, 512};
constexpr std::uint64_t kBatches[] = {10, 50, 100, 500, 1000, 2000, 5000};
constexpr std::uint64_t kSerializations[] = {1, 2, 4, 8};
constexpr std::uint64_t kChopFactors[] = {2, 3, 4, 5, 6, 7};

std::string ratio_name(const ChopTask& task) {
  const ChopSizes sizes = sizes_of(task);
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, sizes.plane / sizes.compressed,
                                 std::chars_format::fixed, 2)
                       .ptr;
  return text("CR ", std::string_view(digits, end));
}

Result<SweepPoint> point(const Device& device, const ChopTask& task, double x,
                         std::uint64_t count) {
  TRY(const CheckOutcome outcome, check(device, chop_program(task)));
  SweepPoint made{.x = x, .task = task, .time = {}};
  if (outcome.fits()) {
    made.time = chop_time(device, task, count);
  } else {
    made.reason = outcome.reasons.front();
  }
  return made;
}

/// One series over the chop factors.
Result<SweepSeries> over_factors(const Device& device, ChopTask task, const std::string& name,
                                 std::uint64_t count = 1) {
  SweepSeries series{.name = name, .points = {}};
  for (const std::uint64_t cf : kChopFactors) {
    task.cf = cf;
    TRY(SweepPoint made, point(device, task, static_cast<double>(cf), count));
    series.points.push_back(std::move(made));
  }
  return series;
}

Result<std::vector<Sweep>> of_devices(std::initializer_list<const char*> names,
                                      const ChopTask& task, SweepAxis axis) {
  std::vector<Sweep> sweeps;
  for (const char* const name : names) {
    TRY(const Device device, builtin_device(name));
    TRY(Sweep made, sweep(device, task, axis));
    sweeps.push_back(std::move(made));
  }
  return sweeps;
}

/// Figure 15: s = 2 at 512 x 512 beside 256 x 256 of Figure 11.
Result<std::vector<Sweep>> serialization() {
  std::vector<Sweep> sweeps;
  for (const char* const name : {"ipu", "sn30"}) {
    TRY(const Device device, builtin_device(name));
    Sweep made{.title = text(device.title, ": decompression in 2 x 2 parts"),
               .device = device.name,
               .axis = SweepAxis::cf,
               .throughput = true,
               .series = {}};
    const ChopTask whole{.shape = {100, 3, 256, 256}, .decompress = true};
    const ChopTask parts{.shape = {100, 3, 512, 512}, .serialize = 2, .decompress = true};
    const ChopTask large{.shape = {100, 3, 512, 512}, .decompress = true};
    for (const auto& [task, label] :
         {std::pair(parts, "512 x 512, s = 2"), std::pair(large, "512 x 512, whole"),
          std::pair(whole, "256 x 256, whole")}) {
      TRY(SweepSeries series, over_factors(device, task, label));
      made.series.push_back(std::move(series));
    }
    sweeps.push_back(std::move(made));
  }
  return sweeps;
}

/// Figure 17: "opt" (triangle) against "dct" (square).
Result<std::vector<Sweep>> triangle() {
  TRY(const Device device, builtin_device("ipu"));
  Sweep made{.title = text(device.title, ": decompression with torch.scatter"),
             .device = device.name,
             .axis = SweepAxis::cf,
             .throughput = true,
             .series = {}};
  ChopTask task{.shape = {100, 3, 32, 32}, .decompress = true};
  TRY(SweepSeries square, over_factors(device, task, "square"));
  task.triangle = true;
  TRY(SweepSeries opt, over_factors(device, task, "triangle"));
  made.series = {std::move(square), std::move(opt)};
  return std::vector<Sweep>{std::move(made)};
}

}  // namespace

std::optional<SweepAxis> sweep_axis_named(std::string_view name) {
  constexpr std::pair<std::string_view, SweepAxis> kNames[] = {
      {"resolution", SweepAxis::resolution},
      {"batch", SweepAxis::batch},
      {"cf", SweepAxis::cf},
      {"serialize", SweepAxis::serialize}};
  for (const auto& [each, value] : kNames) {
    if (each == name) return value;
  }
  return std::nullopt;
}

Result<Sweep> sweep(const Device& device, const ChopTask& task, SweepAxis axis,
                    std::uint64_t count) {
  RETURN_IF_ERROR(check_task(task));
  const std::size_t rank = task.shape.rank();
  if (rank < 3 && axis == SweepAxis::batch) {
    return bad_argument("`shape` ", task.shape.to_string(),
                        " has no batch to sweep over; it needs three axes or more");
  }
  const std::string devices = count > 1 ? text(count, " x ") : "";
  const char* const action = task.decompress ? "decompression" : "compression";
  Sweep made{.title = text(devices, device.title, ": ", action),
             .device = device.name,
             .axis = axis,
             .throughput = axis == SweepAxis::cf,
             .series = {}};
  if (axis == SweepAxis::cf) {
    TRY(SweepSeries series, over_factors(device, task, action, count));
    made.series.push_back(std::move(series));
    return made;
  }
  const std::span<const std::uint64_t> values =
      axis == SweepAxis::batch        ? std::span<const std::uint64_t>(kBatches)
      : axis == SweepAxis::resolution ? std::span<const std::uint64_t>(kResolutions)
                                      : kSerializations;
  for (const std::uint64_t cf : kChopFactors) {
    ChopTask each = task;
    each.cf = cf;
    SweepSeries series{.name = ratio_name(each), .points = {}};
    for (const std::uint64_t value : values) {
      if (axis == SweepAxis::batch) {
        each.shape[0] = value;
      } else if (axis == SweepAxis::serialize) {
        each.serialize = value;
      } else {
        each.shape[rank - 2] = each.shape[rank - 1] = value;
      }
      TRY(SweepPoint at, point(device, each, static_cast<double>(value), count));
      series.points.push_back(std::move(at));
    }
    made.series.push_back(std::move(series));
  }
  return made;
}

Result<std::vector<Sweep>> paper_figure(int number) {
  const ChopTask images{.shape = {100, 3, 256, 256}};
  const ChopTask batch{.shape = {100, 3, 64, 64}};
  const auto back = [](ChopTask task) {
    task.decompress = true;
    return task;
  };
  switch (number) {
    case 10:
      return of_devices({"cs2", "sn30", "groqchip", "ipu"}, images, SweepAxis::resolution);
    case 11:
      return of_devices({"cs2", "sn30", "groqchip", "ipu"}, back(images), SweepAxis::resolution);
    case 12:
      return of_devices({"cs2", "sn30", "groqchip", "ipu"}, batch, SweepAxis::batch);
    case 13:
      return of_devices({"cs2", "sn30", "groqchip", "ipu"}, back(batch), SweepAxis::batch);
    case 14:
      return of_devices({"a100"}, back(images), SweepAxis::resolution);
    case 15:
      return serialization();
    case 17:
      return triangle();
    default:
      return bad_argument("Figure ", number,
                          " of the DCT+Chop paper shows no times; 10 to 15 and 17 do");
  }
}

}  // namespace tensorpress::devices
