#include "model/device/step_check.h"

#include <algorithm>

#include "base/errors.h"
#include "model/device/device_program.h"
#include "model/policy/plan_file.h"

namespace tensorpress::model {
namespace {

using devices::CheckOutcome;
using devices::Device;

Result<CheckOutcome> check_batch(const Device& device, const std::string& stack,
                                 const ResizableStep& step, const Policy& policy,
                                 std::int64_t batch) {
  StepOptions options = step.options;
  options.lowering.sizes = complete_sizes(step.graph, step.sizes, batch);
  TRY(const devices::Program program, device_program(step.graph, policy, options, batch));
  return devices::check(device, program, stack);
}

/// The largest batch that fits, found by halving.
Result<std::string> way_out(const Device& device, const std::string& stack,
                            const ResizableStep& step) {
  TRY(const Policy strongest, read_plan("max", step.graph.name));
  for (const Policy* const policy : {&step.policy, &strongest}) {
    const bool own = policy == &step.policy;
    std::int64_t fits = 0, too_many = step.batch + (own ? 0 : 1);
    std::string words;
    while (too_many - fits > 1) {
      const std::int64_t middle = fits + (too_many - fits) / 2;
      TRY(const CheckOutcome outcome, check_batch(device, stack, step, *policy, middle));
      (outcome.fits() ? fits : too_many) = middle;
      const auto tightest = std::ranges::max_element(
          outcome.requirements, {}, [](const auto& each) { return each.needed / each.limit; });
      if (outcome.fits()) words = devices::in_words(*tightest);
    }
    if (fits == 0) continue;
    return text("a batch of ", fits, own ? "" : " with `plan` max", " fits: ", words);
  }
  return std::string("not even one sample fits, nor does it with `plan` max");
}

}  // namespace

Result<CheckOutcome> check_step(const Device& device, const std::string& stack,
                                const ResizableStep& step) {
  TRY(CheckOutcome outcome, check_batch(device, stack, step, step.policy, step.batch));
  // No batch and no plan gives a device an operator or a type.
  const bool only_memory =
      outcome.reasons.size() ==
      static_cast<std::size_t>(std::ranges::count_if(
          outcome.requirements, [](const auto& each) { return !each.fits(); }));
  if (!outcome.fits() && only_memory) {
    TRY(outcome.way_out, way_out(device, stack, step));
  }
  return outcome;
}

}  // namespace tensorpress::model
