#include "training_report.h"

#include "base/errors.h"
#include "command_line/reports/formatted.h"
#include "devices/check.h"

namespace tensorpress::cli {

using devices::Device;
using devices::StageCost;
using devices::TrainingCost;
using devices::Workload;

Result<TrainingCost> training_baseline(const Device& device, const Workload& workload,
                                       devices::Stash stash) {
  return devices::training_cost(device, workload, {.stash = stash});
}

Json to_json(const TrainingReport& training) {
  const auto& [device, workload, cost, baseline] = training;
  Json stages = Json::array();
  for (const StageCost& stage : cost.stages) {
    stages.push_back({{"operators", stage.end - stage.first},
                      {"compute_seconds", json_number(stage.compute)},
                      {"codec_seconds", json_number(stage.codec)},
                      {"stream_seconds", json_number(stage.stream)},
                      {"exchange_seconds", json_number(stage.exchange)},
                      {"parameter_bytes", json_number(stage.parameters)},
                      {"working_bytes", json_number(stage.working)},
                      {"stash_bytes", json_number(stage.stash)},
                      {"stash_on_chip", stage.stash_on_chip}});
  }
  return {{"model", workload.name},
          {"device", device.name},
          {"batch", json_number(workload.batch)},
          {"stages", cost.setup.stages},
          {"replicas", cost.setup.replicas},
          {"micro_batches", cost.setup.micro_batches},
          {"compressed", cost.setup.compress},
          {"fits", cost.fits()},
          {"reasons", cost.reasons},
          {"step_seconds", json_number(cost.step)},
          {"reduce_seconds", json_number(cost.reduce)},
          {"bubble_share", json_number(cost.bubble_share)},
          {"samples_per_second", json_number(cost.samples_per_second())},
          {"speedup", json_number(cost.samples_per_second() / baseline.samples_per_second())},
          {"by_stage", std::move(stages)},
          {"label", "predicted"}};
}

namespace {

std::string to_text(std::size_t number, const StageCost& stage) {
  return formatted("  %5zu  %9zu  %10s  %8s  %9s  %11s  %10s  %s %s\n", number,
                   stage.end - stage.first, rounded(1e3 * stage.compute, 4).c_str(),
                   rounded(1e3 * stage.codec, 3).c_str(), rounded(1e3 * stage.stream, 4).c_str(),
                   rounded(1e3 * stage.exchange, 3).c_str(),
                   devices::bytes_in_words(stage.on_chip_bytes()).c_str(),
                   devices::bytes_in_words(stage.stash).c_str(),
                   stage.stash_on_chip ? "on the chip" : "beside it");
}

}  // namespace

std::string to_text(const TrainingReport& training) {
  const auto& [device, workload, cost, baseline] = training;
  const auto& setup = cost.setup;
  std::string lines = text(
      workload.name, " on ", setup.replicas, " x ", setup.stages, " ", device.name,
      " (replicas x stages), batch ", rounded(workload.batch, 9), " in ", setup.micro_batches,
      " micro-batches, ", setup.compress ? "activations compressed" : "activations as they are",
      "\n", rounded(1e3 * cost.step), " ms a step, ", rounded(cost.samples_per_second(), 6),
      " samples/s, ", rounded(cost.samples_per_second() / baseline.samples_per_second()),
      " times one device without compression, predicted\n");
  lines += formatted("  bubbles %.1f %%, all-reduce %s ms\n", 100 * cost.bubble_share,
                     rounded(1e3 * cost.reduce).c_str());
  lines +=
      "  stage  operators  compute ms  codec ms  stream ms  exchange ms     on chip  waiting\n";
  for (std::size_t i = 0; i < cost.stages.size(); ++i) lines += to_text(i + 1, cost.stages[i]);
  for (const std::string& reason : cost.reasons) lines += text("  does not fit: ", reason, "\n");
  return lines;
}

Report report_no_split(const Device& device, const Workload& workload, const std::string& reason) {
  return {.text = text(reason, "\n"),
          .json = json_text({{"model", workload.name},
                             {"device", device.name},
                             {"batch", json_number(workload.batch)},
                             {"fits", false},
                             {"reasons", {reason}}}),
          .status = ExitStatus::check_failed};
}

}  // namespace tensorpress::cli
