// Arbitrary bytes as a plan and as statistics of activations: errors that say what is wrong, or
// PyTorch for a small model, and a search that answers.
#include "inputs/must.h"
#include "model/emit/emit.h"
#include "model/planner/planned_file.h"
#include "model/policy/plan_file.h"
#include "model/text/elaborate.h"

namespace tensorpress::fuzz {
namespace {

using namespace model;

constexpr const char* kModel = R"(model small
input x: f32[N, 4, 16, 16]
target y: i64[N]
h = conv1: conv2d(x, 8, 3, padding = 1)
h = norm1: batch_norm(h)
h = relu1: relu(h)
h = pool1: max_pool2d(h, 2)
h = act2: gelu(conv2: conv2d(h, 8, 3, padding = 1))
loss cross_entropy(head: linear(flatten(h), 10), y)
)";

const Graph& small_model() {
  static const Graph kGraph = [] {
    auto graph = elaborate(SourceText("small.tpm", kModel));
    must(graph.ok(), graph.ok() ? "" : graph.error().message);
    return std::move(graph).value();
  }();
  return kGraph;
}

void check_plan(const Policy& policy) {
  for (const bool native : {true, false}) {
    const LowerOptions lowering{.sizes = {{"N", 16}}, .native = native};
    const auto source = emit(small_model(), policy, {.lowering = lowering, .command = "fuzz"});
    if (!told(source)) continue;
    must(source->find("class Step") != std::string::npos, "the emitted file has a Step");
  }
}

void check_statistics(const Statistics& statistics) {
  StepOptions options;
  options.lowering.sizes["N"] = 16;
  const auto planned = plan_step(small_model(), options, {.ratio = 2.0}, statistics);
  if (!told(planned)) return;
  const auto again = parse_plan(plan_to_json(*planned, "small", options), "small");
  must(again.ok(), "a plan that was made is read");
  check_plan(*again);
}

}  // namespace
}  // namespace tensorpress::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tensorpress;
  const std::string json(reinterpret_cast<const char*>(data), size);
  if (const auto policy = model::parse_plan(json, "small"); fuzz::told(policy))
    fuzz::check_plan(*policy);
  const auto statistics = model::statistics_from_json(json, "s.json");
  if (fuzz::told(statistics)) fuzz::check_statistics(*statistics);
  return 0;
}
