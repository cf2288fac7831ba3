// tensorpress model profile: what a training step keeps in memory, and for how long.
#include <memory>

#include "base/errors.h"
#include "command_line/inputs/paths.h"
#include "command_line/options/force_option.h"
#include "command_line/reports/json_output.h"
#include "command_line/verb.h"
#include "files/bytes/text_files.h"
#include "model/memory/profile.h"
#include "model/planner/planned_file.h"
#include "model/policy/plan_file.h"
#include "model_arguments.h"
#include "report/pages/memory_page.h"

namespace tensorpress::cli {
namespace {

struct Options {
  StepArguments step;
  std::string plan = "off";
  std::string html;
  ForceOption force;
};

Json to_json(const model::ProfiledActivation& row) {
  Json json = {{"name", row.name},
               {"op", row.op},
               {"shape", row.shape},
               {"bytes", row.bytes},
               {"stored_bytes", row.stored_bytes},
               {"storing", row.storing},
               {"needed_by", row.needed_by},
               {"lifetime", row.lifetime},
               {"flops", row.flops}};
  if (row.zeros) json["zeros"] = *row.zeros;
  if (row.dct_energy) json["dct_energy"] = *row.dct_energy;
  if (row.score) json["score"] = *row.score;
  return json;
}

Json to_json(const model::StepPosition& position) {
  return {{"name", position.name},           {"total", position.total()},
          {"weights", position.parameters},  {"optimizer_state", position.state},
          {"inputs", position.inputs},       {"weight_gradients", position.weight_gradients},
          {"saved", position.saved},         {"working", position.activations},
          {"gradients", position.gradients}, {"scratch", position.scratch}};
}

Json to_json(const model::Graph& graph, const model::Profile& profile,
             const model::StepOptions& options) {
  Json json;
  json["model"] = graph.name;
  for (const auto& [symbol, size] : options.lowering.sizes) json["sizes"][symbol] = size;
  json["plan"] = profile.policy.name;
  json["peak_bytes"] = profile.memory.peak_bytes();
  json["peak_at"] = profile.memory.positions[profile.memory.peak].name;
  json["saved_bytes"] = profile.memory.saved_bytes;
  json["plain_peak_bytes"] = profile.plain.peak_bytes();
  json["plain_saved_bytes"] = profile.plain.saved_bytes;
  json["activations"] = Json::array();
  for (const auto& row : profile.activations) json["activations"].push_back(to_json(row));
  json["timeline"] = Json::array();
  for (const auto& each : profile.memory.positions) json["timeline"].push_back(to_json(each));
  return json;
}

Result<Report> run(const Options& options) {
  auto graph = options.step.graph();
  if (!graph.ok()) return report_mistake(std::move(graph).error());
  RETURN_IF_ERROR(options.force.check({options.step.file, options.plan, options.step.statistics},
                                      options.html, "--html"));
  TRY(const model::StepOptions step, options.step.options(*graph));
  TRY(const model::Policy plan, model::read_plan(options.plan, graph->name));
  model::Statistics statistics;
  if (!options.step.statistics.empty()) {
    TRY(statistics, model::read_statistics(options.step.statistics));
  }
  TRY(const model::Profile profile, model::profile_step(*graph, plan, step, statistics));
  const report::MemoryPage page = report::memory_page(*graph, profile, step);
  if (!options.html.empty()) RETURN_IF_ERROR(files::write_text(options.html, memory_html(page)));
  std::string lines = report::memory_text(page);
  for (const std::string& fact : page.facts) lines += text("\n", fact, "\n");
  return Report{.text = std::move(lines), .json = json_text(to_json(*graph, profile, step))};
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  options->step.declare(arguments);
  options->step.declare_statistics(arguments);
  arguments.option("--plan", options->plan,
                   "off, lossless, safe, balanced, max, or a plan in a .json file (off)");
  arguments.option("--html", options->html, "write the timeline and the table as a page");
  options->force.declare(arguments);
  return [options](Reporter&) { return run(*options); };
}

}  // namespace

Verb model_profile_verb() {
  return {.name = "profile",
          .summary = "show what a training step keeps in memory, and for how long",
          .json = kOneObject,
          .declare = declare};
}

}  // namespace tensorpress::cli
