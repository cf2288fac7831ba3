// tensorpress model check: is a model's text right, and how large is it?
#include <memory>

#include "base/errors.h"
#include "command_line/reports/json_output.h"
#include "command_line/verb.h"
#include "model/graph/operator.h"
#include "model/text/elaborate.h"
#include "model_arguments.h"

namespace tensorpress::cli {
namespace {

/// What there is to say about a model that is right.
struct CheckedModel {
  const model::Graph& graph;
  std::int64_t parameters = 0;
  double flops = 0;  // of the forward pass
};

CheckedModel measured(const model::Graph& graph, const model::Sizes& sizes) {
  CheckedModel checked{graph};
  for (const model::ValueId id : graph.parameters) {
    checked.parameters += model::elements(graph.values[id].type.shape, {});
  }
  for (const model::Node& node : graph.nodes) {
    checked.flops += node.op->flops(model::NodeView{graph, node}, sizes);
  }
  return checked;
}

Json to_json(const CheckedModel& checked) {
  Json json;
  json["model"] = checked.graph.name;
  json["operations"] = checked.graph.nodes.size();
  json["parameters"] = checked.parameters;
  json["parameter_bytes"] = model::parameter_bytes(checked.graph);
  json["forward_flops"] = checked.flops;
  json["symbols"] = checked.graph.symbols;
  return json;
}

/// "batch 100", or every size where some are given.
std::string in_words(const ModelArguments& options, const model::Sizes& sizes) {
  if (options.sizes.empty()) return text("batch ", options.batch);
  std::string words;
  for (const auto& [symbol, size] : sizes) {
    words += text(words.empty() ? "" : ", ", symbol, " = ", size);
  }
  return words;
}

Result<Report> run(const ModelArguments& options) {
  auto graph = model::read_model(options.file);
  if (!graph.ok()) return report_mistake(std::move(graph).error());
  TRY(const model::Sizes sizes, options.numbers(*graph));
  const CheckedModel checked = measured(*graph, sizes);
  return Report{.text = text(graph->name, ": ", graph->nodes.size(), " operations, ",
                             checked.parameters, " parameters, ", rounded(checked.flops),
                             " forward flops at ", in_words(options, sizes), "\n"),
                .json = json_text(to_json(checked))};
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<ModelArguments>();
  options->declare(arguments);
  return [options](Reporter&) { return run(*options); };
}

}  // namespace

Verb model_check_verb() {
  return {.name = "check",
          .summary = "say what is wrong with a model's text",
          .json = kOneObject,
          .declare = declare};
}

}  // namespace tensorpress::cli
