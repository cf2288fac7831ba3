#include "chop_options.h"

#include <cstdio>

#include "base/errors.h"
#include "command_line/help/usage.h"
#include "command_line/inputs/paths.h"
#include "command_line/reports/json_output.h"
#include "device_files.h"
#include "devices/check.h"
#include "devices/programs/ported_codec.h"
#include "devices/time/chop_sweep.h"
#include "devices/time/chop_time.h"
#include "files/bytes/text_files.h"
#include "report/pages/device_page.h"

namespace tensorpress::cli {
namespace {

using devices::ChopTask;
using devices::ChopTime;
using devices::Device;
using devices::Sweep;
using devices::SweepAxis;

Json time_to_json(const ChopTime& time) {
  Json terms = Json::object();
  for (const auto& [name, seconds] : devices::terms_of(time)) terms[name] = to_json(seconds);
  return {{"seconds", to_json(time.total)},
          {"seconds_by_term", std::move(terms)},
          {"bound_by", time.bound_by()},
          {"bytes", to_json(time.bytes)},
          {"count", to_json(time.count)},
          {"gb_per_s", to_json(time.bytes_per_second() / 1e9)},
          {"samples_per_second", to_json(time.samples_per_second())},
          {"share_of_units", to_json(time.unit_share)}};
}

void print_time(const Device& device, const ChopTime& time, double training_rate) {
  std::printf("%s: %s ms, %s GB/s, %s samples/s%s, predicted\n", device.name.c_str(),
              rounded(1e3 * time.total).c_str(), rounded(time.bytes_per_second() / 1e9).c_str(),
              rounded(time.samples_per_second(), 6).c_str(),
              time.count > 1 ? text(" on ", time.count, " devices").c_str() : "");
  for (const auto& [name, seconds] : devices::terms_of(time)) {
    if (seconds == 0) continue;
    std::printf("  %-12s %10s ms  %5.1f %%%s\n", name.c_str(), rounded(1e3 * seconds).c_str(),
                100 * seconds / time.total,
                device.overlaps && (name == "compute" || name == "memory") ? "  (overlapped)" : "");
  }
  std::printf("  uses %s %% of the %ss\n", rounded(100 * time.unit_share, 3).c_str(),
              device.unit_name.empty() ? "unit" : device.unit_name.c_str());
  if (training_rate > 0) {
    const bool hides = time.samples_per_second() >= training_rate;
    std::printf("  training takes %s samples/s: it %s behind that\n",
                rounded(training_rate, 6).c_str(), hides ? "hides" : "does not hide");
  }
}

Result<ExitStatus> time_chop(const TimeOptions& options) {
  TRY(const ChopTask task, options.chop.task());
  TRY(const auto chosen, open_devices(options.names));
  Json all = Json::array();
  bool all_fit = true;
  if (!options.json) std::printf("%s\n", devices::name_of(task).c_str());
  for (const Device& device : chosen) {
    TRY(const auto outcome, devices::check(device, task));
    all_fit = all_fit && outcome.fits();
    const double rate =
        options.training_rate > 0 ? options.training_rate : Device::value_of(device.training_rate);
    if (!outcome.fits()) {
      if (!options.json) {
        std::printf("%s: does not compile: %s\n", device.name.c_str(),
                    outcome.reasons.front().c_str());
      }
      all.push_back({{"device", device.name}, {"fits", false}, {"reasons", outcome.reasons}});
      continue;
    }
    const ChopTime time = devices::chop_time(device, task, options.count);
    if (!options.json) print_time(device, time, rate);
    Json object = {{"device", device.name}, {"program", devices::name_of(task)}, {"fits", true}};
    object.update(time_to_json(time));
    object["training_samples_per_second"] = rate > 0 ? to_json(rate) : Json(nullptr);
    object["hides_behind_training"] =
        rate > 0 ? Json(time.samples_per_second() >= rate) : Json(nullptr);
    object["label"] = "predicted";
    all.push_back(std::move(object));
  }
  if (options.json) print_json(all.size() == 1 ? all.front() : all, stdout);
  return all_fit ? ExitStatus::fine : ExitStatus::check_failed;
}

Result<ExitStatus> time_ceresz2(const TimeOptions& options) {
  TRY(const auto chosen, open_devices(options.names));
  Json all = Json::array();
  for (const Device& device : chosen) {
    const auto made = devices::ceresz2_time(device, options.units, options.ratio);
    if (!made.ok() && chosen.size() == 1) return made.error();
    if (!made.ok()) {
      if (!options.json) {
        std::printf("%s: cannot: %s\n", device.name.c_str(), made.error().message.c_str());
      }
      all.push_back(
          {{"device", device.name}, {"fits", false}, {"reasons", {made.error().message}}});
      continue;
    }
    if (!options.json) {
      std::printf(
          "%s: ceresz2 on %s %ss: %s GB/s on the chip, %s GB/s with the host link (ratio %s), "
          "predicted\n",
          device.name.c_str(), rounded(made->units, 9).c_str(), device.unit_name.c_str(),
          rounded(made->on_chip_bytes_per_second / 1e9).c_str(),
          rounded(made->with_host_bytes_per_second / 1e9).c_str(), rounded(options.ratio).c_str());
    }
    all.push_back({{"device", device.name},
                   {"codec", "ceresz2"},
                   {"fits", true},
                   {"units", to_json(made->units)},
                   {"cycles_per_block", devices::kCeresz2CyclesPerBlock},
                   {"gb_per_s", to_json(made->on_chip_bytes_per_second / 1e9)},
                   {"with_host_gb_per_s", to_json(made->with_host_bytes_per_second / 1e9)},
                   {"label", "predicted"}});
  }
  if (options.json) print_json(all.size() == 1 ? all.front() : all, stdout);
  return ExitStatus::fine;
}

Json sweep_to_json(const Sweep& sweep) {
  Json series = Json::array();
  for (const auto& each : sweep.series) {
    Json points = Json::array();
    for (const auto& point : each.points) {
      Json object = {{"x", to_json(point.x)}, {"fits", point.time.has_value()}};
      if (point.time) {
        object["seconds"] = to_json(point.time->total);
        object["gb_per_s"] = to_json(point.time->bytes_per_second() / 1e9);
        object["bound_by"] = point.time->bound_by();
      } else {
        object["reasons"] = {point.reason};
      }
      points.push_back(std::move(object));
    }
    series.push_back({{"name", each.name}, {"points", std::move(points)}});
  }
  return {{"device", sweep.device}, {"title", sweep.title}, {"series", std::move(series)}};
}

Result<std::vector<Sweep>> wanted_sweeps(const TimeOptions& options) {
  if (options.figure != 0) return devices::paper_figure(options.figure);
  constexpr std::pair<const char*, SweepAxis> kAxes[] = {{"resolution", SweepAxis::resolution},
                                                         {"batch", SweepAxis::batch},
                                                         {"cf", SweepAxis::cf},
                                                         {"serialize", SweepAxis::serialize}};
  for (const auto& [name, axis] : kAxes) {
    if (options.sweep != name) continue;
    TRY(const ChopTask task, options.chop.task());
    TRY(const auto chosen, open_devices(options.names));
    std::vector<Sweep> sweeps;
    for (const Device& device : chosen) {
      TRY(Sweep made, devices::sweep(device, task, axis, options.count));
      sweeps.push_back(std::move(made));
    }
    return sweeps;
  }
  return bad_argument("--sweep ", options.sweep, " is not one of resolution, batch, cf, serialize");
}

Result<ExitStatus> time_sweeps(const TimeOptions& options) {
  TRY(const auto sweeps, wanted_sweeps(options));
  if (!options.page.empty()) {
    const std::string title = options.figure != 0
                                  ? text("DCT+Chop, Figure ", options.figure, ", predicted")
                                  : text("DCT+Chop by ", options.sweep, ", predicted");
    RETURN_IF_ERROR(files::write_text(options.page, report::sweeps_html(title, sweeps)));
  }
  Json all = Json::array();
  for (const Sweep& sweep : sweeps) {
    if (options.json) {
      all.push_back(sweep_to_json(sweep));
    } else {
      std::printf("%s\n", report::sweep_text(sweep).c_str());
    }
  }
  if (options.json) print_json(all, stdout);
  return ExitStatus::fine;
}

Result<void> check_given(const CLI::App& app, const TimeOptions& options) {
  if (options.figure != 0) {
    return refuse_ignored(
        app,
        {"--device", "--codec", "--shape", "--cf", "--layout", "--serialize", "--decompress",
         "--count", "--units", "--ratio", "--training-rate", "--sweep"},
        "--figure is as the paper has it");
  }
  if (options.chop.codec == "ceresz2") {
    return refuse_ignored(app,
                          {"--shape", "--cf", "--layout", "--serialize", "--decompress", "--count",
                           "--training-rate", "--sweep"},
                          "the prediction for ceresz2 takes --units and --ratio only");
  }
  RETURN_IF_ERROR(refuse_ignored(app, {"--units", "--ratio"}, "it is of --codec ceresz2"));
  if (options.sweep.empty()) return {};
  RETURN_IF_ERROR(refuse_ignored(app, {"--cf"}, "a sweep goes over all chop factors"));
  RETURN_IF_ERROR(
      refuse_ignored(app, {"--training-rate"}, "a sweep does not compare with training"));
  if (options.sweep != "serialize") return {};
  return refuse_ignored(app, {"--serialize"}, "the sweep goes over it");
}

}  // namespace

void ChopOptions::declare(CLI::App& app) {
  app.add_option("--codec", codec, "dct-chop")->option_text("NAME");
  app.add_option("--shape", shape, "of the uncompressed float32 tensor (100x3x256x256)")
      ->option_text("SHAPE");
  app.add_option("--cf", cf, "chop factor, 1 to 8 (4)")->option_text("N");
  app.add_option("--layout", layout, "square or triangle")->option_text("WORD");
  app.add_option("--serialize", serialize, "s: planes in s x s parts, one after the other (1)")
      ->option_text("S");
  app.add_flag("--decompress", decompress, "decompression instead of compression");
}

Result<ChopTask> ChopOptions::task() const {
  if (codec != "dct-chop") {
    return bad_argument("--codec ", codec, " is not made of matrix products; dct-chop is");
  }
  ChopTask task;
  TRY(task.shape, Shape::parse(shape));
  task.cf = cf;
  if (layout != "square" && layout != "triangle") {
    return bad_argument("--layout ", layout, " is neither square nor triangle");
  }
  task.triangle = layout == "triangle";
  task.serialize = serialize;
  task.decompress = decompress;
  RETURN_IF_ERROR(devices::check_task(task));
  return task;
}

void TimeOptions::declare(CLI::App& app) {
  app.add_option("--device", names, "a name, a .toml file, or all; repeatable")
      ->allow_extra_args(false)
      ->option_text("DEVICE");
  chop.declare(app);
  app.get_option("--codec")->description("dct-chop, or ceresz2 (a prediction of ports to come)");
  app.add_option("--count", count, "devices side by side: 8 GroqChips, 64 IPUs (1)")
      ->option_text("N");
  app.add_option("--units", units, "of the device, for ceresz2 (all)")->option_text("N");
  app.add_option("--ratio", ratio, "of the compressed data, for ceresz2 (10)")->option_text("R");
  app.add_option("--training-rate", training_rate,
                 "samples/s that training takes (the device's ResNet-34, if known)")
      ->option_text("R");
  app.add_option("--sweep", sweep, "over resolution, batch, cf or serialize")->option_text("WORD");
  app.add_option("--figure", figure, "of the DCT+Chop paper: 10 to 15, 17")->option_text("N");
  app.add_option("--html", page, "write the sweeps as a page with plots")->option_text("FILE");
  force.declare(app);
  app.add_flag("--json", json, "print JSON");
}

Result<ExitStatus> run_device_time(const CLI::App& app, const TimeOptions& options) {
  RETURN_IF_ERROR(check_given(app, options));
  if (options.names.empty() && options.figure == 0) return bad_argument("say which --device");
  if (app.count("--units") > 0 && !(options.units >= 1)) {
    return bad_argument("--units ", options.units, " is below 1; leave it out for all of them");
  }
  constexpr std::uint64_t kMost = 1'000'000;
  if (options.count < 1 || options.count > kMost) {
    return bad_argument("--count ", options.count, " is not in 1..", kMost);
  }
  if (!(options.training_rate >= 0)) {
    return bad_argument("--training-rate ", options.training_rate, " is below 0");
  }
  const bool sweeps = options.figure != 0 || !options.sweep.empty();
  if (!options.page.empty() && !sweeps) {
    return bad_argument("--html is for sweeps: add --figure or --sweep");
  }
  RETURN_IF_ERROR(options.force.check(options.names, options.page, "--html"));
  if (sweeps) return time_sweeps(options);
  return options.chop.codec == "ceresz2" ? time_ceresz2(options) : time_chop(options);
}

}  // namespace tensorpress::cli
