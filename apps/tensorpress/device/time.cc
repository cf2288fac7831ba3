// tensorpress device time: how long it takes, and why.
#include <memory>

#include "base/errors.h"
#include "command_line/reports/formatted.h"
#include "command_line/reports/json_output.h"
#include "command_line/verb.h"
#include "device_files.h"
#include "devices/check.h"
#include "devices/programs/ported_codec.h"
#include "devices/time/chop_time.h"
#include "sweeps.h"

namespace tensorpress::cli {
namespace {

using devices::ChopTask;
using devices::ChopTime;
using devices::Device;

Json to_json(const ChopTime& time) {
  Json terms = Json::object();
  for (const auto& [name, seconds] : devices::terms_of(time)) terms[name] = json_number(seconds);
  return {{"seconds", json_number(time.total)},
          {"seconds_by_term", std::move(terms)},
          {"bound_by", time.bound_by()},
          {"bytes", json_number(time.bytes)},
          {"count", json_number(time.count)},
          {"gb_per_s", json_number(time.bytes_per_second() / 1e9)},
          {"samples_per_second", json_number(time.samples_per_second())},
          {"share_of_units", json_number(time.unit_share)}};
}

std::string to_text(const Device& device, const ChopTime& time, double training_rate) {
  std::string lines = text(
      device.name, ": ", rounded(1e3 * time.total), " ms, ", rounded(time.bytes_per_second() / 1e9),
      " GB/s, ", rounded(time.samples_per_second(), 6), " samples/s",
      time.count > 1 ? text(" on ", time.count, " devices") : "", ", predicted\n");
  for (const auto& [name, seconds] : devices::terms_of(time)) {
    if (seconds == 0) continue;
    const bool overlapped = device.overlaps && (name == "compute" || name == "memory");
    lines +=
        formatted("  %-12s %10s ms  %5.1f %%%s\n", name.c_str(), rounded(1e3 * seconds).c_str(),
                  100 * seconds / time.total, overlapped ? "  (overlapped)" : "");
  }
  lines += text("  uses ", rounded(100 * time.unit_share, 3), " % of the ",
                device.unit_name.empty() ? "unit" : device.unit_name, "s\n");
  if (training_rate > 0) {
    const bool hides = time.samples_per_second() >= training_rate;
    lines += text("  training takes ", rounded(training_rate, 6), " samples/s: it ",
                  hides ? "hides" : "does not hide", " behind that\n");
  }
  return lines;
}

/// An object for one device, a list for several.
std::string json_for(const Json& all) {
  return json_text(all.size() == 1 ? all.front() : all);
}

Result<Report> time_chop(const TimeOptions& options, Reporter& reporter) {
  TRY(const ChopTask task, options.chop.task());
  TRY(const auto chosen, open_devices(options.names));
  Json all = Json::array();
  bool all_fit = true;
  reporter.show(text(devices::name_of(task), "\n"));
  for (const Device& device : chosen) {
    TRY(const auto outcome, devices::check(device, task));
    all_fit = all_fit && outcome.fits();
    if (!outcome.fits()) {
      reporter.show(text(device.name, ": does not compile: ", outcome.reasons.front(), "\n"));
      all.push_back({{"device", device.name}, {"fits", false}, {"reasons", outcome.reasons}});
      continue;
    }
    const double rate =
        options.training_rate > 0 ? options.training_rate : Device::value_of(device.training_rate);
    const ChopTime time = devices::chop_time(device, task, options.count);
    reporter.show(to_text(device, time, rate));
    Json object = {{"device", device.name}, {"program", devices::name_of(task)}, {"fits", true}};
    object.update(to_json(time));
    object["training_samples_per_second"] = rate > 0 ? json_number(rate) : Json(nullptr);
    object["hides_behind_training"] =
        rate > 0 ? Json(time.samples_per_second() >= rate) : Json(nullptr);
    object["label"] = "predicted";
    all.push_back(std::move(object));
  }
  return Report{.json = json_for(all),
                .status = all_fit ? ExitStatus::fine : ExitStatus::check_failed};
}

Result<Report> time_ceresz2(const TimeOptions& options) {
  TRY(const auto chosen, open_devices(options.names));
  Report report;
  Json all = Json::array();
  for (const Device& device : chosen) {
    const auto made = devices::ceresz2_time(device, options.units, options.ratio);
    if (!made.ok() && chosen.size() == 1) return made.error();
    if (!made.ok()) {
      report.text += text(device.name, ": cannot: ", made.error().message, "\n");
      all.push_back(
          {{"device", device.name}, {"fits", false}, {"reasons", {made.error().message}}});
      continue;
    }
    report.text +=
        text(device.name, ": ceresz2 on ", rounded(made->units, 9), " ", device.unit_name,
             "s: ", rounded(made->on_chip_bytes_per_second / 1e9), " GB/s on the chip, ",
             rounded(made->with_host_bytes_per_second / 1e9), " GB/s with the host link (ratio ",
             rounded(options.ratio), "), predicted\n");
    all.push_back({{"device", device.name},
                   {"codec", "ceresz2"},
                   {"fits", true},
                   {"units", json_number(made->units)},
                   {"cycles_per_block", devices::kCeresz2CyclesPerBlock},
                   {"gb_per_s", json_number(made->on_chip_bytes_per_second / 1e9)},
                   {"with_host_gb_per_s", json_number(made->with_host_bytes_per_second / 1e9)},
                   {"label", "predicted"}});
  }
  report.json = json_for(all);
  return report;
}

Result<Report> run(const TimeOptions& options, Reporter& reporter) {
  if (options.sweeps()) return report_sweeps(options);
  return options.chop.codec == "ceresz2" ? time_ceresz2(options) : time_chop(options, reporter);
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<TimeOptions>();
  options->declare(arguments);
  return [arguments, options](Reporter& reporter) -> Result<Report> {
    RETURN_IF_ERROR(options->check(arguments));
    return run(*options, reporter);
  };
}

}  // namespace

Verb device_time_verb() {
  return {.name = "time",
          .summary = "predict how long it takes, and why",
          .json = "print JSON",
          .declare = declare};
}

}  // namespace tensorpress::cli
