// tensorpress model profile: what a training step keeps in memory, and for how long.
#include <cstdio>
#include <memory>

#include "base/errors.h"
#include "command_line/inputs/paths.h"
#include "command_line/options/force_option.h"
#include "command_line/reports/json_output.h"
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
  bool json = false;
};

Json json_of(const model::ProfiledActivation& row) {
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

Json json_of(const model::StepPosition& position) {
  return {{"name", position.name},           {"total", position.total()},
          {"weights", position.parameters},  {"optimizer_state", position.state},
          {"inputs", position.inputs},       {"weight_gradients", position.weight_gradients},
          {"saved", position.saved},         {"working", position.activations},
          {"gradients", position.gradients}, {"scratch", position.scratch}};
}

Json json_of(const model::Graph& graph, const model::Profile& profile,
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
  for (const auto& row : profile.activations) json["activations"].push_back(json_of(row));
  json["timeline"] = Json::array();
  for (const auto& each : profile.memory.positions) json["timeline"].push_back(json_of(each));
  return json;
}

Result<ExitStatus> run(const Options& options) {
  auto graph = options.step.graph();
  if (!graph.ok()) return show_mistake(std::move(graph).error());
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
  if (options.json) {
    print_json(json_of(*graph, profile, step), stdout);
    return ExitStatus::fine;
  }
  std::fputs(report::memory_text(page).c_str(), stdout);
  for (const std::string& fact : page.facts) std::printf("\n%s\n", fact.c_str());
  return ExitStatus::fine;
}

}  // namespace

ModelVerb declare_model_profile(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* const verb =
      app.add_subcommand("profile", "show what a training step keeps in memory, and for how long");
  options->step.declare(*verb);
  options->step.declare_statistics(*verb);
  verb->add_option("--plan", options->plan,
                   "off, lossless, safe, balanced, max, or a plan in a .json file (off)");
  verb->add_option("--html", options->html, "write the timeline and the table as a page");
  options->force.declare(*verb);
  verb->add_flag("--json", options->json, "print one JSON object");
  return {verb, [options] { return run(*options); }};
}

}  // namespace tensorpress::cli
