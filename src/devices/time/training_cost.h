// Time and memory of training a Workload on one or many devices: pipeline (stages of consecutive
// operators), data parallel (replicas), or both, with micro-batches.
//
//   step = (m + P - 1) x slowest stage + all-reduce        m micro-batches, P stages
//   stage = compute + codec + stream + exchange            of one micro-batch
//
//   compute   max(flop / reached peak, bytes / memory bandwidth), forward and backward
//   codec     flop of compressing and decompressing / peak, when the plan is used
//   stream    what waits for the backward pass, out and back, if it is not on the chip
//   exchange  activations to the next stage and their gradients back, over the device link
//   reduce    a ring: 2 (R - 1) / R of a stage's gradients for R replicas
//
// Stage i of P holds the activations of P - i micro-batches (one forward, one backward). They are
// all on the chip or all beside it, as PopTorch's activation location has it. Where tensors are off
// the chip anyway (a GPU), "on the chip" is the memory beside it, and "beside it" is the host's.
#pragma once

#include <optional>
#include <string_view>

#include "devices/description/device.h"
#include "devices/programs/workload.h"

namespace tensorpress::devices {

enum class Stash : std::uint8_t {
  where_it_fits,  // on the chip if all of a stage's activations fit, else beside it
  beside,
};

struct TrainingSetup {
  std::size_t stages = 1;
  std::size_t replicas = 1;
  std::size_t micro_batches = 1;
  bool compress = false;  // use the plan of the workload
  Stash stash = Stash::where_it_fits;
};

struct StageCost {
  std::size_t first = 0;  // operators [first, end)
  std::size_t end = 0;
  // seconds of one micro-batch
  double compute = 0;
  double codec = 0;
  double stream = 0;
  double exchange = 0;
  // bytes on one device
  double parameters = 0;
  double working = 0;  // inputs and outputs of the largest operator
  double stash = 0;
  bool stash_on_chip = true;

  double seconds() const { return compute + codec + stream + exchange; }
  double on_chip_bytes() const { return parameters + working + (stash_on_chip ? stash : 0); }
};

struct TrainingCost {
  TrainingSetup setup;
  std::vector<StageCost> stages;
  double reduce = 0;  // seconds of a step
  double step = 0;    // seconds
  double bubble_share = 0;
  double samples = 0;                // of a step, all replicas
  double capacity = 0;               // bytes of one device
  std::vector<std::string> reasons;  // why it does not fit; empty when it does

  bool fits() const { return reasons.empty(); }
  double samples_per_second() const { return samples / step; }
};

/// Errors: no operators, more stages than operators, more micro-batches than samples, a device
/// without a link between devices when there are several.
Result<TrainingCost> training_cost(const Device& device, const Workload& workload,
                                   const TrainingSetup& setup);

/// Operators [0, n) cut so that the slowest stage is as fast as can be: the first operator of each
/// stage.
std::vector<std::size_t> balanced_stages(const std::vector<double>& seconds, std::size_t stages);

enum class Parallel : std::uint8_t {
  any,
  pipeline,  // one replica
  data,      // one stage
  mixed,     // several of both
};

/// "pipeline", "data" or "mixed"; absent for other words.
std::optional<Parallel> parallel_named(std::string_view name);

/// The fastest of all splits of `devices` into stages and replicas that fits, with 1 to 64
/// micro-batches, or `micro_batches` if that is not 0. If none fits, an error of code too_large
/// says the largest batch that would.
Result<TrainingCost> best_split(const Device& device, const Workload& workload, std::size_t devices,
                                bool compress, Parallel parallel = Parallel::any,
                                std::size_t micro_batches = 0);

/// Largest batch for which `setup` fits, 0 if not even one sample does.
double largest_batch(const Device& device, Workload workload, const TrainingSetup& setup);

}  // namespace tensorpress::devices
