#include "model_check.h"

#include "base/errors.h"
#include "model/policy/plan_file.h"

namespace tensorpress::cli {

void ModelCheckOptions::declare(Arguments& arguments) {
  arguments.option("--batch", step.batch, "of a model (100)").shown_as("N");
  arguments.option("--size", step.sizes, "of a model: another open dimension; repeatable")
      .one_at_a_time()
      .shown_as("NAME=N");
  arguments
      .option("--plan", plan, "of a model: off, lossless, safe, balanced, max, or a .json file")
      .shown_as("PLAN");
}

Result<model::ResizableStep> ModelCheckOptions::open(const std::string& file) const {
  StepArguments named = step;
  named.file = file;
  TRY(model::Graph graph, named.graph());
  TRY(const std::int64_t batch, named.samples(graph));
  TRY(model::Policy policy, model::read_plan(plan.empty() ? "off" : plan, graph.name));
  TRY(model::StepOptions options, named.options(graph));
  TRY(model::Sizes sizes, named.given(graph));
  sizes.erase(model::batch_symbol(graph));
  return model::ResizableStep{std::move(graph), std::move(policy), std::move(options),
                              std::move(sizes), batch};
}

}  // namespace tensorpress::cli
