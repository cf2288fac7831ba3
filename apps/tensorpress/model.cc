// tensorpress model: a model's text checked, and made into readable PyTorch.
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/errors.h"
#include "files/byte_files.h"
#include "json_output.h"
#include "messages.h"
#include "model/difference.h"
#include "model/elaborate.h"
#include "model/emit.h"
#include "model/operator.h"
#include "model/plan_file.h"
#include "model_options.h"
#include "verb.h"

namespace tensorpress::cli {
namespace {

/// Mistakes in a text are shown over several lines, as compilers do.
Result<ExitStatus> show(Error error) {
  if (error.message.find('\n') == std::string::npos) return error;
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return ExitStatus::bad_input;
}

struct ModelOptions {
  std::string file;
  std::vector<std::string> sizes;
  std::int64_t batch = 100;
  std::string plan = "off";
  bool json = false;

  void declare(CLI::App& app) {
    app.add_option("MODEL", file, "the model's text, a file ending in .tpm")->required();
    app.add_option("--batch", batch, "the batch size N that bytes are given for (100)");
    app.add_option("--size", sizes, "a number for another open dimension, as E=5000; repeatable");
  }

  /// A number for every open dimension.
  Result<model::Sizes> numbers(const model::Graph& graph) const;
};

Result<model::Sizes> ModelOptions::numbers(const model::Graph& graph) const {
  model::Sizes numbers;
  if (batch < 1 || batch > (1 << 30)) return bad_argument("--batch is ", batch);
  for (const std::string& symbol : graph.symbols) numbers[symbol] = batch;
  for (const std::string& each : sizes) {
    const std::size_t at = each.find('=');
    std::int64_t size = 0;
    const char* end = each.data() + each.size();
    if (at == std::string::npos || at == 0 ||
        std::from_chars(each.data() + at + 1, end, size).ptr != end || size < 1 ||
        size > (std::int64_t{1} << 40)) {
      return bad_argument("--size is '", each, "'; it is NAME=NUMBER");
    }
    if (!numbers.contains(each.substr(0, at))) {
      return bad_argument("--size names '", each.substr(0, at), "', which model '", graph.name,
                          "' does not have");
    }
    numbers[each.substr(0, at)] = size;
  }
  return numbers;
}

Result<ExitStatus> run_check(const ModelOptions& options) {
  auto graph = model::read_model(options.file);
  if (!graph.ok()) return show(std::move(graph).error());
  TRY(const model::Sizes sizes, options.numbers(*graph));
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
  std::printf("%s: %zu operations, %lld parameters, %s forward flops at batch %lld\n",
              graph->name.c_str(), graph->nodes.size(), static_cast<long long>(count),
              rounded(flops).c_str(), static_cast<long long>(options.batch));
  return ExitStatus::fine;
}

struct EmitChoice {
  ModelOptions model;
  std::string output = "-";
  bool portable = false;
  bool native = false;
  std::string optimizer;
  bool check = false;
  bool diff = false;
};

Result<void> write(const std::string& path, const std::string& source) {
  TRY(const auto file, files::AtomicFile::create(path));
  RETURN_IF_ERROR(file->append(std::as_bytes(std::span(source))));
  return file->finish();
}

Result<ExitStatus> run_emit(const EmitChoice& options) {
  auto graph = model::read_model(options.model.file);
  if (!graph.ok()) return show(std::move(graph).error());
  if (options.portable && options.native) {
    return bad_argument("--portable and --native exclude each other");
  }
  TRY(const model::Sizes sizes, options.model.numbers(*graph));
  TRY(const model::Plan plan, model::read_plan(options.model.plan, graph->name));
  model::EmitOptions emission;
  emission.lowering.sizes = sizes;
  emission.lowering.native = !options.portable;
  emission.lowering.optimizer = options.optimizer;
  emission.command =
      text("tensorpress model emit ", std::filesystem::path(options.model.file).filename().string(),
           " --plan ", std::filesystem::path(options.model.plan).filename().string(),
           options.portable ? " --portable" : " --native");
  const std::filesystem::path output = options.output;
  if (options.check && (options.output == "-" || output.extension() != ".py")) {
    return bad_argument("--check writes beside the file of -o, whose name must end in .py");
  }
  TRY(const std::string source, model::emit(*graph, plan, emission));
  if (options.diff) {
    TRY(const std::string plain, model::emit(*graph, model::plan_off(), emission));
    RETURN_IF_ERROR(write("-", model::difference(plain, source)));
    if (options.output == "-") return ExitStatus::fine;
  }
  RETURN_IF_ERROR(write(options.output, source));
  if (options.check) {
    const std::string module = output.stem().string();
    RETURN_IF_ERROR(write((output.parent_path() / (module + "_check.py")).string(),
                          model::emit_check(*graph, module)));
  }
  return ExitStatus::fine;
}

Action declare(CLI::App& app) {
  app.require_subcommand(1);
  auto check = std::make_shared<ModelOptions>();
  CLI::App* const check_app = app.add_subcommand("check", "say what is wrong with a model's text");
  check->declare(*check_app);
  check_app->add_flag("--json", check->json, "print one JSON object");

  auto emit = std::make_shared<EmitChoice>();
  CLI::App* const emit_app = app.add_subcommand(
      "emit", "write PyTorch with an explicit backward pass and one line per stored activation");
  emit->model.declare(*emit_app);
  emit_app->add_option("--plan", emit->model.plan,
                       "off, lossless, safe, balanced, max, or a plan in a .json file (off)");
  emit_app->add_option("-o,--output", emit->output, "the Python file (standard output)");
  emit_app->add_flag("--portable", emit->portable, "use PyTorch's operators only");
  emit_app->add_flag("--native", emit->native, "use the package's packing functions (default)");
  emit_app
      ->add_option("--optimizer", emit->optimizer, "sgd or adam: update inside the backward pass")
      ->check(CLI::IsMember({"sgd", "adam"}));

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
