#include "model_check.h"

#include <algorithm>

#include "base/errors.h"
#include "model/device/device_program.h"
#include "model/policy/plan_file.h"

namespace tensorpress::cli {

using devices::CheckOutcome;
using devices::Device;

void ModelCheckOptions::declare(CLI::App& app) {
  app.add_option("--batch", step.batch, "of a model (100)")->option_text("N");
  app.add_option("--size", step.sizes, "of a model: another open dimension; repeatable")
      ->allow_extra_args(false)
      ->option_text("NAME=N");
  app.add_option("--plan", plan, "of a model: off, lossless, safe, balanced, max, or a .json file")
      ->option_text("PLAN");
}

Result<ModelCheck> ModelCheck::open(const ModelCheckOptions& options, const std::string& file) {
  ModelCheck made;
  made.step_ = options.step;
  made.step_.file = file;
  TRY(made.graph_, made.step_.graph());
  // The search for a batch that fits sets it by --batch alone.
  RETURN_IF_ERROR(made.step_.samples(made.graph_));
  std::erase_if(made.step_.sizes, [&, symbol = batch_symbol(made.graph_)](const std::string& size) {
    return size.starts_with(symbol + "=");
  });
  TRY(made.plan_, model::read_plan(options.plan.empty() ? "off" : options.plan, made.graph_.name));
  return made;
}

Result<CheckOutcome> ModelCheck::check(const Device& device, const std::string& stack,
                                       const model::Policy& plan, std::int64_t batch) const {
  StepArguments step = step_;
  step.batch = batch;
  TRY(const model::StepOptions options, step.options(graph_));
  TRY(const devices::Program program, model::device_program(graph_, plan, options, batch));
  return devices::check(device, program, stack);
}

Result<std::string> ModelCheck::way_out(const Device& device, const std::string& stack) const {
  TRY(const model::Policy strongest, model::read_plan("max", graph_.name));
  for (const model::Policy* const plan : {&plan_, &strongest}) {
    std::int64_t fits = 0, too_many = step_.batch + (plan == &plan_ ? 0 : 1);
    std::string words;
    while (too_many - fits > 1) {
      const std::int64_t middle = fits + (too_many - fits) / 2;
      TRY(const CheckOutcome outcome, check(device, stack, *plan, middle));
      (outcome.fits() ? fits : too_many) = middle;
      const auto tightest = std::ranges::max_element(
          outcome.requirements, {}, [](const auto& each) { return each.needed / each.limit; });
      if (outcome.fits()) words = devices::in_words(*tightest);
    }
    if (fits == 0) continue;
    return text("a batch of ", fits, plan == &plan_ ? "" : " with --plan max", " fits: ", words);
  }
  return std::string("not even one sample fits, nor does it with --plan max");
}

Result<CheckOutcome> ModelCheck::check(const Device& device, const std::string& stack) const {
  TRY(CheckOutcome outcome, check(device, stack, plan_, step_.batch));
  // No batch and no plan gives a device an operator or a type.
  const bool only_memory =
      outcome.reasons.size() ==
      static_cast<std::size_t>(std::ranges::count_if(
          outcome.requirements, [](const auto& each) { return !each.fits(); }));
  if (!outcome.fits() && only_memory) {
    TRY(outcome.way_out, way_out(device, stack));
  }
  return outcome;
}

}  // namespace tensorpress::cli
