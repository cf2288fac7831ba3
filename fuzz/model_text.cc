// Arbitrary bytes as the text of a model: an error that shows its line, or a graph. A graph becomes
// PyTorch with the named plans, with the package's operators and without, and all that is predicted
// of it are numbers that can be.
#include <cmath>
#include <string>

#include "inputs/must.h"
#include "model/device/device_program.h"
#include "model/device/workload.h"
#include "model/emit/emit.h"
#include "model/graph/operator.h"
#include "model/memory/profile.h"
#include "model/text/elaborate.h"

namespace tensorpress::fuzz {
namespace {

using namespace model;

void check_emitted(const Graph& graph, const Policy& policy, const LowerOptions& lowering) {
  const auto source = emit(graph, policy, {.lowering = lowering, .command = "fuzz"});
  if (!told(source)) return;
  must(source->find("class Step") != std::string::npos, "the emitted file has a Step");
}

void check_predictions(const Graph& graph, const Policy& policy, const StepOptions& options,
                       std::int64_t batch) {
  const auto profile = profile_step(graph, policy, options, {});
  if (!told(profile)) return;
  must(profile->memory.positions.size() == 2 * graph.nodes.size() + 1,
       "a position a node and pass");
  for (const StepPosition& position : profile->memory.positions) {
    for (const std::int64_t bytes :
         {position.parameters, position.state, position.inputs, position.weight_gradients,
          position.saved, position.activations, position.gradients, position.scratch}) {
      must(bytes >= 0, "bytes are not negative");
    }
    must(position.total() <= profile->memory.peak_bytes(), "no position is above the peak");
  }
  const auto work = workload_of(graph, *profile, options, static_cast<double>(batch));
  for (const devices::WorkloadOperator& each : work.operators) {
    must(std::isfinite(each.forward_flops) && each.forward_flops >= 0, "flops are a number");
    must(std::isfinite(each.moved_bytes) && each.moved_bytes >= 0, "moved bytes are a number");
  }
  told(device_program(graph, policy, options, batch));
}

}  // namespace
}  // namespace tensorpress::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tensorpress;
  const model::SourceText source("fuzz.tpm", {reinterpret_cast<const char*>(data), size});
  const auto graph = model::elaborate(source);
  if (!fuzz::told(graph)) return 0;
  // What the program takes for --batch: 1 to 2^30.
  constexpr std::int64_t kBatches[] = {1, 3, 100, std::int64_t{1} << 30};
  const std::int64_t batch = kBatches[size % 4];
  model::StepOptions options;
  for (const std::string& symbol : graph->symbols) options.lowering.sizes[symbol] = batch;
  // All plans for small models; of large ones, which take long, the length decides. The last
  // `lossless` sends to the host what others make lossy.
  constexpr const char* kPlans[] = {"off", "lossless", "safe", "balanced", "max", "lossless"};
  const bool large = graph->nodes.size() > 20;
  for (std::size_t i = 0; i < std::size(kPlans); ++i) {
    if (large && i != size % std::size(kPlans)) continue;
    auto policy = model::named_policy(kPlans[i]);
    if (i == std::size(kPlans) - 1) policy->fallback.kind = model::Storing::Kind::offload;
    for (const bool native : {true, false}) {
      if (large && native != (size % 2 == 0)) continue;
      options.lowering.native = native;
      options.lowering.optimizer = native ? "" : i % 2 == 0 ? "sgd" : "adam";
      fuzz::check_emitted(*graph, *policy, options.lowering);
    }
    fuzz::check_predictions(*graph, *policy, options, batch);
  }
  fuzz::must(!model::emit_check(*graph, "step").empty(), "the check is a script");
  return 0;
}
