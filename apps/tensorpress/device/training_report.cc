#include "training_report.h"

#include <cstdio>

#include "base/errors.h"
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

Json training_to_json(const Device& device, const Workload& workload, const TrainingCost& cost,
                      const TrainingCost& baseline) {
  Json stages = Json::array();
  for (const StageCost& stage : cost.stages) {
    stages.push_back({{"operators", stage.end - stage.first},
                      {"compute_seconds", to_json(stage.compute)},
                      {"codec_seconds", to_json(stage.codec)},
                      {"stream_seconds", to_json(stage.stream)},
                      {"exchange_seconds", to_json(stage.exchange)},
                      {"parameter_bytes", to_json(stage.parameters)},
                      {"working_bytes", to_json(stage.working)},
                      {"stash_bytes", to_json(stage.stash)},
                      {"stash_on_chip", stage.stash_on_chip}});
  }
  return {{"model", workload.name},
          {"device", device.name},
          {"batch", to_json(workload.batch)},
          {"stages", cost.setup.stages},
          {"replicas", cost.setup.replicas},
          {"micro_batches", cost.setup.micro_batches},
          {"compressed", cost.setup.compress},
          {"fits", cost.fits()},
          {"reasons", cost.reasons},
          {"step_seconds", to_json(cost.step)},
          {"reduce_seconds", to_json(cost.reduce)},
          {"bubble_share", to_json(cost.bubble_share)},
          {"samples_per_second", to_json(cost.samples_per_second())},
          {"speedup", to_json(cost.samples_per_second() / baseline.samples_per_second())},
          {"by_stage", std::move(stages)},
          {"label", "predicted"}};
}

void print_training(const Device& device, const Workload& workload, const TrainingCost& cost,
                    const TrainingCost& baseline) {
  const auto& setup = cost.setup;
  std::printf("%s on %zu x %zu %s (replicas x stages), batch %s in %zu micro-batches, %s\n",
              workload.name.c_str(), setup.replicas, setup.stages, device.name.c_str(),
              rounded(workload.batch, 9).c_str(), setup.micro_batches,
              setup.compress ? "activations compressed" : "activations as they are");
  std::printf("%s ms a step, %s samples/s, %s times one device without compression, predicted\n",
              rounded(1e3 * cost.step).c_str(), rounded(cost.samples_per_second(), 6).c_str(),
              rounded(cost.samples_per_second() / baseline.samples_per_second()).c_str());
  std::printf("  bubbles %.1f %%, all-reduce %s ms\n", 100 * cost.bubble_share,
              rounded(1e3 * cost.reduce).c_str());
  std::printf(
      "  stage  operators  compute ms  codec ms  stream ms  exchange ms     on chip  waiting\n");
  for (std::size_t i = 0; i < cost.stages.size(); ++i) {
    const StageCost& stage = cost.stages[i];
    std::printf("  %5zu  %9zu  %10s  %8s  %9s  %11s  %10s  %s %s\n", i + 1, stage.end - stage.first,
                rounded(1e3 * stage.compute, 4).c_str(), rounded(1e3 * stage.codec, 3).c_str(),
                rounded(1e3 * stage.stream, 4).c_str(), rounded(1e3 * stage.exchange, 3).c_str(),
                devices::bytes_in_words(stage.on_chip_bytes()).c_str(),
                devices::bytes_in_words(stage.stash).c_str(),
                stage.stash_on_chip ? "on the chip" : "beside it");
  }
  for (const std::string& reason : cost.reasons)
    std::printf("  does not fit: %s\n", reason.c_str());
}

void print_no_split(const Device& device, const Workload& workload, const std::string& reason,
                    bool json) {
  if (!json) {
    std::printf("%s\n", reason.c_str());
    return;
  }
  print_json({{"model", workload.name},
              {"device", device.name},
              {"batch", to_json(workload.batch)},
              {"fits", false},
              {"reasons", {reason}}},
             stdout);
}

}  // namespace tensorpress::cli
