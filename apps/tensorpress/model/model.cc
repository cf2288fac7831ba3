// tensorpress model: a model's text checked, and made into readable PyTorch.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/cpu.h"
#include "base/errors.h"
#include "command_line/inputs/paths.h"
#include "command_line/inputs/shell_words.h"
#include "command_line/options/force_option.h"
#include "command_line/reports/json_output.h"
#include "command_line/reports/messages.h"
#include "command_line/verb.h"
#include "files/bytes/text_files.h"
#include "model/emit/difference.h"
#include "model/emit/emit.h"
#include "model/graph/operator.h"
#include "model/graph/python_names.h"
#include "model/policy/plan_file.h"
#include "model/text/elaborate.h"
#include "model_arguments.h"

namespace tensorpress::cli {
namespace {

struct CheckChoice {
  ModelArguments model;
  bool json = false;
};

Result<ExitStatus> run_check(const CheckChoice& options) {
  auto graph = model::read_model(options.model.file);
  if (!graph.ok()) return show_mistake(std::move(graph).error());
  TRY(const model::Sizes sizes, options.model.numbers(*graph));
  std::int64_t count = 0;
  for (const model::ValueId id : graph->parameters) {
    count += model::elements(graph->values[id].type.shape, {});
  }
  double flops = 0;
  for (const model::Node& node : graph->nodes) {
    flops += node.op->flops(model::NodeView{*graph, node}, sizes);
  }
  if (options.json) {
    Json json;
    json["model"] = graph->name;
    json["operations"] = graph->nodes.size();
    json["parameters"] = count;
    json["parameter_bytes"] = model::parameter_bytes(*graph);
    json["forward_flops"] = flops;
    json["symbols"] = graph->symbols;
    print_json(json, stdout);
    return ExitStatus::fine;
  }
  std::string at = text("batch ", options.model.batch);
  if (!options.model.sizes.empty()) {
    at.clear();
    for (const auto& [symbol, size] : sizes)
      at += text(at.empty() ? "" : ", ", symbol, " = ", size);
  }
  std::printf("%s: %zu operations, %lld parameters, %s forward flops at %s\n", graph->name.c_str(),
              graph->nodes.size(), static_cast<long long>(count), rounded(flops).c_str(),
              at.c_str());
  return ExitStatus::fine;
}

struct EmitChoice {
  ModelArguments model;
  std::string plan = "off";
  std::string output = "-";
  ForceOption force;
  bool portable = false;
  bool native = false;
  std::string optimizer;
  bool adaptive = false;
  bool check = false;
  bool diff = false;
};

/// The command that writes the same file, in the folder of the model and the plan.
std::string command_of(const EmitChoice& options) {
  const auto file = [](const std::string& path) {
    return shell_word(std::filesystem::path(path).filename().string());
  };
  std::string command = text("tensorpress model emit ", file(options.model.file), " --plan ",
                             file(options.plan), " --batch ", options.model.batch);
  for (const std::string& size : options.model.sizes) command += text(" --size ", size);
  command += options.portable ? " --portable" : " --native";
  if (!options.optimizer.empty()) command += text(" --optimizer ", options.optimizer);
  if (options.adaptive) command += " --adaptive";
  return command;
}

/// What the script of --check would stumble over when it runs.
Result<void> check_checkable(const EmitChoice& options, const model::Policy& plan) {
  const std::filesystem::path output = options.output;
  if (options.output == "-" || output.extension() != ".py") {
    return bad_argument("--check writes beside the file of -o, whose name must end in .py");
  }
  const std::string module = output.stem().string();
  if (!model::is_module_name(module)) {
    return bad_argument("--check writes a script that imports the file of -o, but Python cannot ",
                        "import '", module, "'; use another name, of letters, digits and ",
                        "underscores, as -o step.py");
  }
  if (!options.optimizer.empty()) {
    return bad_argument("--check compares gradients, and a step with --optimizer ",
                        options.optimizer, " keeps none; check the step without --optimizer, ",
                        "which has the same lines");
  }
  if (model::is_lossy(plan)) {
    return bad_argument(
        "--check compares with numerical gradients, which lossy plans miss by their "
        "codecs' errors; check --plan off or lossless, which has the same lines");
  }
  return {};
}

Result<ExitStatus> run_emit(const EmitChoice& options) {
  auto graph = model::read_model(options.model.file);
  if (!graph.ok()) return show_mistake(std::move(graph).error());
  if (options.portable && options.native) {
    return bad_argument("--portable and --native exclude each other");
  }
  if (options.adaptive && (options.portable || !options.optimizer.empty())) {
    return bad_argument("--adaptive compares gradients of native steps; leave out ",
                        options.portable ? "--portable" : "--optimizer");
  }
  TRY(const model::Sizes sizes, options.model.numbers(*graph));
  TRY(const model::Policy plan, model::read_plan(options.plan, graph->name));
  model::EmitOptions emission;
  emission.lowering.sizes = sizes;
  emission.lowering.native = !options.portable;
  emission.lowering.optimizer = options.optimizer;
  emission.lowering.adaptive = options.adaptive;
  TRY(const Isa isa, active_isa());
  emission.lowering.avx512 = isa == Isa::avx512;
  emission.command = command_of(options);
  if (options.check) RETURN_IF_ERROR(check_checkable(options, plan));
  const std::filesystem::path output = options.output;
  const std::string module = output.stem().string();
  const std::string check = (output.parent_path() / (module + "_check.py")).string();
  const std::vector<std::string> inputs = {options.model.file, options.plan};
  RETURN_IF_ERROR(options.force.check(inputs, options.output));
  if (options.check) RETURN_IF_ERROR(options.force.check(inputs, check));
  TRY(const std::string source, model::emit(*graph, plan, emission));
  if (options.diff) {
    TRY(const std::string plain, model::emit(*graph, model::policy_off(), emission));
    RETURN_IF_ERROR(files::write_text("-", model::difference(plain, source)));
    if (options.output == "-") return ExitStatus::fine;
  }
  RETURN_IF_ERROR(files::write_text(options.output, source));
  if (options.check) {
    RETURN_IF_ERROR(files::write_text(check, model::emit_check(*graph, module)));
  }
  return ExitStatus::fine;
}

Action declare(CLI::App& app) {
  app.require_subcommand(1);
  auto check = std::make_shared<CheckChoice>();
  CLI::App* const check_app = app.add_subcommand("check", "say what is wrong with a model's text");
  check->model.declare(*check_app);
  check_app->add_flag("--json", check->json, "print one JSON object");

  auto emit = std::make_shared<EmitChoice>();
  CLI::App* const emit_app = app.add_subcommand(
      "emit", "write PyTorch with an explicit backward pass and one line per stored activation");
  emit->model.declare(*emit_app);
  emit_app->add_option("--plan", emit->plan,
                       "off, lossless, safe, balanced, max, or a plan in a .json file (off)");
  emit_app->add_option("-o,--output", emit->output, "the Python file (standard output)");
  emit->force.declare(*emit_app);
  emit_app->add_flag("--portable", emit->portable, "use PyTorch's operators only");
  emit_app->add_flag("--native", emit->native, "use the package's packing functions (default)");
  emit_app
      ->add_option("--optimizer", emit->optimizer, "sgd or adam: update inside the backward pass")
      ->check(CLI::IsMember({"sgd", "adam"}));

  emit_app->add_flag("--adaptive", emit->adaptive,
                     "bits may change between steps; see tensorpress.torch.AdaptiveStep");
  emit_app->add_flag("--check", emit->check,
                     "also write NAME_check.py, which compares with numerical gradients");
  emit_app->add_flag("--diff", emit->diff, "print what changes against the plan off");

  const std::vector<ModelVerb> others = {declare_model_plan(app), declare_model_profile(app),
                                         declare_model_cost(app)};
  return [=] {
    for (const auto& [verb, action] : others) {
      if (verb->parsed()) return action();
    }
    if (check_app->parsed()) return run_check(*check);
    return run_emit(*emit);
  };
}

}  // namespace

Verb model_verb() {
  return {"model", "check a model's text and unroll its training step into PyTorch",
          "  tensorpress model check resnet18.tpm\n"
          "  tensorpress model emit resnet18.tpm --plan balanced -o step.py\n",
          declare};
}

}  // namespace tensorpress::cli
