#include "devices/time/training_cost.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/errors.h"
#include "devices/check.h"

namespace tensorpress::devices {
namespace {

double over(double amount, double rate) {
  return rate > 0 ? amount / rate : 0;
}

/// The memory that a stage lives in, and the one beyond it.
struct Memories {
  double capacity;
  double bandwidth;  // 0: not known, not a limit
  double beyond_capacity;
  double beyond_bandwidth;
};
Memories memories_of(const Device& device) {
  const double host = std::min(device.to_device->value, device.from_device->value);
  if (device.placement == Placement::off_chip) {
    return {device.off_chip_bytes->value, Device::value_of(device.off_chip_bytes_per_second), 1e15,
            host};
  }
  const bool beside = device.off_chip_bytes && device.off_chip_bytes_per_second;
  return {device.on_chip_bytes->value, Device::value_of(device.on_chip_bytes_per_second),
          beside ? device.off_chip_bytes->value : 1e15,
          beside ? device.off_chip_bytes_per_second->value : host};
}

double peak_of(const Device& device) {
  return (device.training_flops ? device.training_flops : device.f32_flops)->value;
}

double compute_seconds(const Device& device, const WorkloadOperator& each) {
  const double flops = each.forward_flops + each.backward_flops;
  return std::max(over(flops, peak_of(device)),
                  over(each.moved_bytes, memories_of(device).bandwidth));
}

double link_rate(const Device& device) {
  const double efficiency =
      device.device_link_efficiency ? device.device_link_efficiency->value : 1;
  return Device::value_of(device.device_link) * efficiency;
}

/// What crosses the border before operator `first`: each output once, however many read it.
double crossing_bytes(const Workload& workload, std::size_t first, std::size_t end) {
  std::vector<bool> crosses(first, false);
  for (std::size_t i = first; i < end; ++i) {
    for (const std::size_t input : workload.operators[i].inputs) {
      if (input < first) crosses[input] = true;
    }
  }
  double bytes = 0;
  for (std::size_t i = 0; i < first; ++i) {
    if (crosses[i]) bytes += workload.operators[i].output_bytes;
  }
  return bytes;
}

StageCost stage_cost(const Device& device, const Workload& workload, const TrainingSetup& setup,
                     std::size_t number, std::size_t first, std::size_t end) {
  const double samples = workload.batch / static_cast<double>(setup.micro_batches);
  const Memories memories = memories_of(device);
  StageCost stage{.first = first, .end = end};
  for (std::size_t i = first; i < end; ++i) {
    const WorkloadOperator& each = workload.operators[i];
    stage.compute += samples * compute_seconds(device, each);
    stage.parameters += workload.parameter_copies * each.parameter_bytes;
    double touched = each.output_bytes;
    for (const std::size_t input : each.inputs) touched += workload.operators[input].output_bytes;
    stage.working = std::max(stage.working, samples * touched);
  }
  double waiting = 0;  // of one micro-batch
  for (const SavedTensor& saved : workload.saved) {
    if (saved.made_by < first || saved.made_by >= end) continue;
    const double ratio = setup.compress ? saved.ratio : 1;
    waiting += samples * saved.bytes / ratio;
    if (setup.compress) stage.codec += over(samples * saved.codec_flops, peak_of(device));
  }
  const auto in_flight = static_cast<double>(std::min(setup.micro_batches, setup.stages - number));
  stage.stash = waiting * in_flight;
  const double free = memories.capacity - stage.parameters - stage.working;
  stage.stash_on_chip = setup.stash == Stash::where_it_fits && stage.stash <= free;
  if (!stage.stash_on_chip) stage.stream = over(2 * waiting, memories.beyond_bandwidth);
  if (first > 0) {
    stage.exchange = over(2 * samples * crossing_bytes(workload, first, end), link_rate(device)) +
                     2 * Device::value_of(device.device_link_latency);
  }
  return stage;
}

void check_stage(const Device& device, const StageCost& stage, std::size_t number,
                 TrainingCost& cost) {
  const Memories memories = memories_of(device);
  const std::string name = text("stage ", number + 1, " of ", cost.setup.stages);
  if (stage.parameters + stage.working > memories.capacity) {
    cost.reasons.push_back(text(name, ": weights, gradients and the largest operator need ",
                                bytes_in_words(stage.parameters + stage.working), " of the ",
                                bytes_in_words(memories.capacity), " of a device"));
  }
  if (!stage.stash_on_chip && stage.stash > memories.beyond_capacity) {
    cost.reasons.push_back(text(name, ": activations of ", bytes_in_words(stage.stash),
                                " fit neither on the device nor in the ",
                                bytes_in_words(memories.beyond_capacity), " beside it"));
  }
}

Result<void> check_setup(const Device& device, const Workload& workload,
                         const TrainingSetup& setup) {
  if (workload.operators.empty()) return bad_argument("the model has no operators");
  if (setup.stages < 1 || setup.replicas < 1 || setup.micro_batches < 1) {
    return bad_argument("stages, replicas and micro-batches start at 1");
  }
  if (setup.stages > workload.operators.size()) {
    return bad_argument(setup.stages, " stages, but ", workload.name, " has only ",
                        workload.operators.size(), " operators to put into them");
  }
  if (!(workload.batch >= 1)) return bad_argument("a batch of ", workload.batch, " samples");
  if (static_cast<double>(setup.micro_batches) > workload.batch) {
    return bad_argument(setup.micro_batches, " micro-batches, but the batch has ",
                        rounded(workload.batch, 9), " samples");
  }
  if (setup.stages * setup.replicas > 1 && !device.device_link) {
    return bad_argument("the file of ", device.name,
                        " has no device_link.bytes_per_second, so several cannot work together");
  }
  return {};
}

}  // namespace

std::vector<std::size_t> balanced_stages(const std::vector<double>& seconds, std::size_t stages) {
  // best[k][i]: the slowest of k + 1 stages over the first i operators; cut[k][i]: where the last
  // of them starts. Every stage has an operator.
  const std::size_t n = seconds.size();
  std::vector<double> sums(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) sums[i + 1] = sums[i] + seconds[i];
  std::vector<std::vector<double>> best(stages, std::vector<double>(n + 1, INFINITY));
  std::vector<std::vector<std::size_t>> cut(stages, std::vector<std::size_t>(n + 1, 0));
  for (std::size_t i = 1; i <= n; ++i) best[0][i] = sums[i];
  for (std::size_t k = 1; k < stages; ++k) {
    for (std::size_t i = k + 1; i <= n; ++i) {
      for (std::size_t j = k; j < i; ++j) {
        const double slowest = std::max(best[k - 1][j], sums[i] - sums[j]);
        if (slowest < best[k][i]) {
          best[k][i] = slowest;
          cut[k][i] = j;
        }
      }
    }
  }
  std::vector<std::size_t> firsts(stages, 0);
  std::size_t end = n;
  for (std::size_t k = stages; k-- > 1;) end = firsts[k] = cut[k][end];
  return firsts;
}

Result<TrainingCost> training_cost(const Device& device, const Workload& workload,
                                   const TrainingSetup& setup) {
  RETURN_IF_ERROR(check_setup(device, workload, setup));
  std::vector<double> seconds;
  for (const WorkloadOperator& each : workload.operators) {
    seconds.push_back(compute_seconds(device, each));
  }
  const std::vector<std::size_t> firsts = balanced_stages(seconds, setup.stages);
  TrainingCost cost{.setup = setup, .stages = {}, .reasons = {}};
  cost.capacity = memories_of(device).capacity;
  double slowest = 0;
  for (std::size_t i = 0; i < setup.stages; ++i) {
    const std::size_t end = i + 1 < setup.stages ? firsts[i + 1] : workload.operators.size();
    cost.stages.push_back(stage_cost(device, workload, setup, i, firsts[i], end));
    const StageCost& stage = cost.stages.back();
    check_stage(device, stage, i, cost);
    slowest = std::max(slowest, stage.seconds());
    const auto replicas = static_cast<double>(setup.replicas);
    const double gradients = stage.parameters / workload.parameter_copies;
    if (setup.replicas > 1) {
      cost.reduce = std::max(cost.reduce,
                             over(2 * (replicas - 1) / replicas * gradients, link_rate(device)) +
                                 2 * (replicas - 1) * Device::value_of(device.device_link_latency));
    }
  }
  const auto turns = static_cast<double>(setup.micro_batches + setup.stages - 1);
  cost.step = turns * slowest + cost.reduce;
  cost.bubble_share = (turns - static_cast<double>(setup.micro_batches)) * slowest / cost.step;
  cost.samples = workload.batch * static_cast<double>(setup.replicas);
  return cost;
}

double largest_batch(const Device& device, Workload workload, const TrainingSetup& setup) {
  double fits = 0, too_large = std::floor(workload.batch) + 1;
  while (too_large - fits > 1) {
    workload.batch = std::floor((fits + too_large) / 2);
    TrainingSetup tried = setup;
    tried.micro_batches = std::min(setup.micro_batches, static_cast<std::size_t>(workload.batch));
    const auto cost = training_cost(device, workload, tried);
    (cost.ok() && cost->fits() ? fits : too_large) = workload.batch;
  }
  return fits;
}

std::optional<Parallel> parallel_named(std::string_view name) {
  constexpr std::pair<std::string_view, Parallel> kNames[] = {
      {"pipeline", Parallel::pipeline}, {"data", Parallel::data}, {"mixed", Parallel::mixed}};
  for (const auto& [each, value] : kNames) {
    if (each == name) return value;
  }
  return std::nullopt;
}

Result<TrainingCost> best_split(const Device& device, const Workload& workload, std::size_t devices,
                                bool compress, Parallel parallel, std::size_t micro_batches) {
  constexpr std::size_t kMostDevices = 4096, kMostMicroBatches = 64;
  if (devices < 1 || devices > kMostDevices) {
    return bad_argument(devices, " devices; 1 to ", kMostDevices, " can be searched");
  }
  const auto wanted = [&](std::size_t stages, std::size_t replicas) {
    if (parallel == Parallel::pipeline) return replicas == 1;
    if (parallel == Parallel::data) return stages == 1;
    return parallel == Parallel::any || (stages > 1 && replicas > 1);
  };
  std::optional<TrainingCost> best;
  std::optional<Error> last;
  std::optional<TrainingCost> unfit;
  for (std::size_t stages = 1; stages <= devices; ++stages) {
    if (devices % stages != 0 || !wanted(stages, devices / stages)) continue;
    const std::size_t first = micro_batches == 0 ? 1 : micro_batches;
    const std::size_t most = micro_batches == 0 ? kMostMicroBatches : micro_batches;
    for (std::size_t micro = first; micro <= most; micro *= 2) {
      const TrainingSetup setup{stages, devices / stages, micro, compress, Stash::where_it_fits};
      auto cost = training_cost(device, workload, setup);
      if (!cost.ok()) {
        last = cost.error();
        break;
      }
      if (!cost->fits()) {
        unfit = std::move(cost).value();
      } else if (!best || cost->samples_per_second() > best->samples_per_second()) {
        best = std::move(cost).value();
      }
    }
  }
  if (best) return std::move(*best);
  if (unfit) {
    const double batch = largest_batch(device, workload, unfit->setup);
    const std::string advice = batch >= 1 ? text("a batch of ", rounded(batch, 9), " would fit")
                                          : std::string("not even one sample would fit");
    return too_large(workload.name, " with a batch of ", rounded(workload.batch, 9),
                     " does not fit on ", devices, " ", device.name, ": ", unfit->reasons.front(),
                     "; ", advice);
  }
  if (last) return *last;
  return bad_argument(devices, " devices cannot be several stages of several replicas; 4 can");
}

}  // namespace tensorpress::devices
