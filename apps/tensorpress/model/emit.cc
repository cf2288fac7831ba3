// tensorpress model emit: a model's training step as readable PyTorch.
#include <filesystem>
#include <memory>

#include "base/cpu.h"
#include "base/errors.h"
#include "command_line/inputs/shell_words.h"
#include "command_line/options/force_option.h"
#include "command_line/verb.h"
#include "files/bytes/text_files.h"
#include "model/emit/difference.h"
#include "model/emit/emit.h"
#include "model/graph/python_names.h"
#include "model/policy/plan_file.h"
#include "model/text/elaborate.h"
#include "model_arguments.h"

namespace tensorpress::cli {
namespace {

struct Options {
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
std::string command_of(const Options& options) {
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
Result<void> check_checkable(const Options& options, const model::Policy& plan) {
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

Result<Report> run(const Options& options) {
  auto graph = model::read_model(options.model.file);
  if (!graph.ok()) return report_mistake(std::move(graph).error());
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
  Report report;
  if (options.diff) {
    TRY(const std::string plain, model::emit(*graph, model::policy_off(), emission));
    report.text = model::difference(plain, source);
    if (options.output == "-") return report;
  }
  RETURN_IF_ERROR(files::write_text(options.output, source));
  if (options.check) {
    RETURN_IF_ERROR(files::write_text(check, model::emit_check(*graph, module)));
  }
  return report;
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  options->model.declare(arguments);
  arguments.option("--plan", options->plan,
                   "off, lossless, safe, balanced, max, or a plan in a .json file (off)");
  arguments.option("-o,--output", options->output, "the Python file (standard output)");
  options->force.declare(arguments);
  arguments.flag("--portable", options->portable, "use PyTorch's operators only");
  arguments.flag("--native", options->native, "use the package's packing functions (default)");
  arguments
      .option("--optimizer", options->optimizer, "sgd or adam: update inside the backward pass")
      .one_of(std::vector<std::string>{"sgd", "adam"});

  arguments.flag("--adaptive", options->adaptive,
                 "bits may change between steps; see tensorpress.torch.AdaptiveStep");
  arguments.flag("--check", options->check,
                 "also write NAME_check.py, which compares with numerical gradients");
  arguments.flag("--diff", options->diff, "print what changes against the plan off");
  return [options](Reporter&) { return run(*options); };
}

}  // namespace

Verb model_emit_verb() {
  return {
      .name = "emit",
      .summary = "write PyTorch with an explicit backward pass and one line per stored activation",
      .declare = declare};
}

}  // namespace tensorpress::cli
