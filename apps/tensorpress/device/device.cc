// tensorpress device: accelerators on paper. What there is, what compiles and fits, how long it
// takes (device_time.cc).
#include <cstdio>
#include <memory>
#include <optional>

#include "base/errors.h"
#include "chop_options.h"
#include "command_line/help/usage.h"
#include "command_line/reports/json_output.h"
#include "command_line/reports/messages.h"
#include "command_line/verb.h"
#include "device_files.h"
#include "devices/check.h"
#include "devices/programs/graph_file.h"
#include "files/bytes/text_files.h"
#include "model_check.h"
#include "train.h"

namespace tensorpress::cli {
namespace {

using devices::CheckOutcome;
using devices::Device;

struct ListOptions {
  bool json = false;
};

Result<ExitStatus> run_list(const ListOptions& options) {
  TRY(const auto all, open_devices({"all"}));
  Json list = Json::array();
  for (const Device& device : all) {
    if (options.json) {
      list.push_back({{"name", device.name},
                      {"title", device.title},
                      {"architecture", device.architecture},
                      {"units", to_json(device.units->value)},
                      {"on_chip_bytes", to_json(device.on_chip_bytes->value)}});
      continue;
    }
    std::printf("%-10s %-20s %-9s %7.0f %s%s, %s on chip\n", device.name.c_str(),
                device.title.c_str(), device.architecture.c_str(), device.units->value,
                device.unit_name.c_str(), device.units->value == 1 ? "" : "s",
                devices::bytes_in_words(device.on_chip_bytes->value).c_str());
  }
  if (options.json) print_json(list, stdout);
  return ExitStatus::fine;
}

struct ShowOptions {
  std::string device;
  bool json = false;
  bool toml = false;
};

Json device_to_json(const Device& device) {
  Json numbers = Json::object();
  for (const devices::Described& each : devices::describe(device)) {
    numbers[each.key] = {{"value", to_json(each.fact.value)},
                         {"unit", each.field->unit},
                         {"meaning", each.field->meaning},
                         {"origin", devices::name_of(each.fact.origin)},
                         {"source", each.fact.source}};
  }
  Json stacks = Json::object();
  for (const auto& [name, stack] : device.stacks) {
    stacks[name] = {{"operators", stack.operators},
                    {"static_shapes", stack.static_shapes},
                    {"source", stack.source}};
  }
  return {{"name", device.name},        {"title", device.title},
          {"about", device.about},      {"architecture", device.architecture},
          {"types", device.types},      {"numbers", std::move(numbers)},
          {"stacks", std::move(stacks)}};
}

Result<ExitStatus> run_show(const ShowOptions& options) {
  if (options.toml && options.json) {
    return bad_argument("--toml and --json exclude each other; leave one out");
  }
  if (options.toml) {
    if (options.device.ends_with(".toml")) {
      return bad_argument("--toml prints the file of a device that the program knows, and '",
                          options.device, "' is a file already");
    }
    TRY(const std::string content, devices::builtin_text(options.device));
    std::fputs(content.c_str(), stdout);
    return ExitStatus::fine;
  }
  TRY(const Device device, open_device(options.device));
  if (options.json) {
    print_json(device_to_json(device), stdout);
    return ExitStatus::fine;
  }
  std::printf("%s: %s, %s\n%s\n", device.name.c_str(), device.title.c_str(),
              device.architecture.c_str(), device.about.c_str());
  for (const devices::Described& each : devices::describe(device)) {
    std::printf("  %-40s %11s %-6s %-8s %s\n", each.key.c_str(),
                rounded(each.fact.value, 6).c_str(), each.field->unit,
                std::string(devices::name_of(each.fact.origin)).c_str(), each.fact.source.c_str());
  }
  for (const auto& [name, stack] : device.stacks) {
    std::string operators;
    for (const std::string& each : stack.operators) operators += text(" ", each);
    std::printf("  %s%s:%s\n", name.c_str(), stack.static_shapes ? ", fixed shapes" : "",
                operators.c_str());
  }
  return ExitStatus::fine;
}

struct CheckOptions {
  std::string graph;
  std::vector<std::string> names;
  ChopOptions chop;
  std::string network;
  devices::GcnTask gcn;
  std::string adjacency = "dense";
  ModelCheckOptions model;
  std::string stack;
  bool json = false;
};

Json outcome_to_json(const CheckOutcome& outcome) {
  Json operators = Json::array(), requirements = Json::array();
  for (const auto& each : outcome.operators) {
    operators.push_back(
        {{"name", each.name}, {"count", each.count}, {"supported", each.supported}});
  }
  for (const auto& each : outcome.requirements) {
    requirements.push_back({{"what", each.what},
                            {"where", each.where},
                            {"needed", to_json(each.needed)},
                            {"limit", to_json(each.limit)},
                            {"unit", each.bytes ? "B" : ""},
                            {"origin", devices::name_of(each.origin)},
                            {"fits", each.fits()}});
  }
  return {{"device", outcome.device},          {"stack", outcome.stack},
          {"program", outcome.program},        {"fits", outcome.fits()},
          {"reasons", outcome.reasons},        {"way_out", with_flags(outcome.way_out)},
          {"operators", std::move(operators)}, {"requirements", std::move(requirements)}};
}

void print_outcome(const CheckOutcome& outcome) {
  std::printf("%s: %s\n", outcome.device.c_str(),
              outcome.fits() ? "compiles and fits" : "does not fit");
  for (const auto& each : outcome.requirements) {
    std::printf(
        "  %-3s %s: %s%s\n", each.fits() ? "yes" : "no", each.what.c_str(),
        devices::in_words(each).c_str(),
        each.origin == devices::Origin::fact ? "" : text(" (", name_of(each.origin), ")").c_str());
  }
  std::string known, unknown;
  for (const auto& each : outcome.operators) {
    (each.supported ? known : unknown) += text(" ", each.count, " ", each.name);
  }
  if (!known.empty())
    std::printf("  yes operators of %s:%s\n", outcome.stack.c_str(), known.c_str());
  if (!unknown.empty()) {
    std::printf("  no  operators of %s:%s\n", outcome.stack.c_str(), unknown.c_str());
  }
  for (const std::string& reason : outcome.reasons) std::printf("  because %s\n", reason.c_str());
  if (!outcome.way_out.empty()) std::printf("  %s\n", with_flags(outcome.way_out).c_str());
}

Result<devices::GcnTask> gcn_task(const CheckOptions& options) {
  devices::GcnTask task = options.gcn;
  constexpr std::pair<const char*, devices::Adjacency> kNames[] = {
      {"dense", devices::Adjacency::linear},
      {"linear", devices::Adjacency::linear},
      {"matmul", devices::Adjacency::matmul},
      {"csr", devices::Adjacency::csr}};
  for (const auto& [name, adjacency] : kNames) {
    if (options.adjacency != name) continue;
    task.adjacency = adjacency;
    RETURN_IF_ERROR(devices::check_task(task));
    return task;
  }
  return bad_argument("--adjacency ", options.adjacency,
                      " is not one of dense (the same as linear), matmul, csr");
}

bool names_model(const CheckOptions& options) {
  return options.graph.ends_with(".tpm");
}

/// What is checked: a codec unless something else is named.
enum class Subject { codec, network, graph, model };

/// Options that say something of one subject alone.
struct SubjectOption {
  const char* name;
  Subject subject;
  const char* way_out;
};
constexpr const char* kOfCodec = "of a codec: leave out the model, graph or network";
constexpr const char* kOfNetwork = "of --network gcn: add it";
constexpr const char* kOfModel =
    "of a model's training step: name a MODEL.tpm (a codec's batch is the first number of --shape)";
constexpr SubjectOption kSubjectOptions[] = {
    {"--codec", Subject::codec, kOfCodec},
    {"--shape", Subject::codec, kOfCodec},
    {"--cf", Subject::codec, kOfCodec},
    {"--layout", Subject::codec, kOfCodec},
    {"--serialize", Subject::codec, kOfCodec},
    {"--decompress", Subject::codec, kOfCodec},
    {"--nodes", Subject::network, kOfNetwork},
    {"--edges-per-node", Subject::network, kOfNetwork},
    {"--features", Subject::network, kOfNetwork},
    {"--adjacency", Subject::network, kOfNetwork},
    {"--batch", Subject::model, kOfModel},
    {"--size", Subject::model, kOfModel},
    {"--plan", Subject::model, kOfModel},
};

/// An option that would be ignored is a mistake.
Result<void> check_subject(const CLI::App& app, const CheckOptions& options) {
  const Subject subject = names_model(options)       ? Subject::model
                          : !options.graph.empty()   ? Subject::graph
                          : !options.network.empty() ? Subject::network
                                                     : Subject::codec;
  for (const SubjectOption& each : kSubjectOptions) {
    if (each.subject != subject && app.count(each.name) > 0) {
      return bad_argument(each.name, " is ", each.way_out);
    }
  }
  if (options.adjacency != "csr") {
    return refuse_ignored(app, {"--edges-per-node"},
                          "a dense adjacency has every pair of nodes; add --adjacency csr");
  }
  return {};
}

/// The program of GRAPH.json, if one was named.
Result<std::optional<devices::Program>> exported(const CheckOptions& options) {
  std::optional<devices::Program> program;
  if (!options.graph.empty() && !options.network.empty()) {
    return bad_argument("GRAPH.json or MODEL.tpm and --network exclude each other");
  }
  if (options.graph.empty() || names_model(options)) return program;
  constexpr std::uint64_t kMost = std::uint64_t{256} << 20;
  TRY(const std::string content, files::read_text(options.graph, kMost, "a graph"));
  TRY(program, devices::parse_graph(content, options.graph));
  return program;
}

Result<CheckOutcome> check_one(const Device& device, const CheckOptions& options,
                               const std::optional<devices::Program>& program) {
  if (program) return devices::check(device, *program, options.stack);
  if (!options.network.empty()) {
    if (options.network != "gcn") {
      return bad_argument("--network ", options.network, " is unknown; there is gcn");
    }
    TRY(const devices::GcnTask task, gcn_task(options));
    return devices::check(device, task, options.stack);
  }
  TRY(const devices::ChopTask task, options.chop.task());
  return devices::check(device, task, options.stack);
}

Result<ExitStatus> run_check(const CheckOptions& options) {
  TRY(const auto chosen, open_devices(options.names));
  TRY(const auto program, exported(options));
  std::optional<ModelCheck> model;
  if (names_model(options)) {
    auto opened = ModelCheck::open(options.model, options.graph);
    if (!opened.ok()) return show_mistake(std::move(opened).error());
    model = std::move(opened).value();
  }
  bool all_fit = true;
  Json outcomes = Json::array();
  for (const Device& device : chosen) {
    TRY(const CheckOutcome outcome,
        model ? model->check(device, options.stack) : check_one(device, options, program));
    all_fit = all_fit && outcome.fits();
    if (options.json) {
      outcomes.push_back(outcome_to_json(outcome));
    } else {
      if (&device == &chosen.front()) std::printf("%s\n", outcome.program.c_str());
      print_outcome(outcome);
    }
  }
  if (options.json) print_json(outcomes.size() == 1 ? outcomes.front() : outcomes, stdout);
  return all_fit ? ExitStatus::fine : ExitStatus::check_failed;
}

Action declare(CLI::App& app) {
  app.require_subcommand(1);
  auto list = std::make_shared<ListOptions>();
  CLI::App* const list_app = app.add_subcommand("list", "the devices that the program knows");
  list_app->add_flag("--json", list->json, "print JSON");

  auto show = std::make_shared<ShowOptions>();
  CLI::App* const show_app = app.add_subcommand("show", "a device's numbers and their sources");
  show_app->add_option("DEVICE", show->device, "a name, or a .toml file")->required();
  show_app->add_flag("--toml", show->toml, "print the file of a known device, to copy and edit");
  show_app->add_flag("--json", show->json, "print one JSON object");

  auto check = std::make_shared<CheckOptions>();
  CLI::App* const check_app =
      app.add_subcommand("check", "does a program compile there, and does it fit (status 1: no)");
  check_app
      ->add_option("GRAPH", check->graph,
                   "a graph.json of tensorpress.torch.write_graph, or a model")
      ->option_text("[GRAPH.json | MODEL.tpm]");
  check_app->add_option("--device", check->names, "a name, a .toml file, or all; repeatable")
      ->allow_extra_args(false)
      ->required()
      ->option_text("DEVICE");
  check->chop.declare(*check_app);
  check->model.declare(*check_app);
  check_app->add_option("--network", check->network, "gcn instead of a codec")->option_text("gcn");
  check_app->add_option("--nodes", check->gcn.nodes, "of the graph")->option_text("N");
  check_app->add_option("--edges-per-node", check->gcn.edges_per_node, "in CSR (50)")
      ->option_text("N");
  check_app->add_option("--features", check->gcn.features, "of a node (128)")->option_text("N");
  check_app->add_option("--adjacency", check->adjacency, "dense, matmul or csr (dense)")
      ->option_text("WORD");
  check_app->add_option("--stack", check->stack, "how it is programmed (pytorch)")
      ->option_text("NAME");
  check_app->add_flag("--json", check->json, "print JSON: fits, reasons, way_out, ...");

  auto train = std::make_shared<TrainOptions>();
  CLI::App* const train_app =
      app.add_subcommand("train", "predict training of a network on one or many devices");
  train->declare(*train_app);

  auto time = std::make_shared<TimeOptions>();
  CLI::App* const time_app = app.add_subcommand("time", "predict how long it takes, and why");
  time->declare(*time_app);

  return [=]() -> Result<ExitStatus> {
    if (time_app->parsed()) return run_device_time(*time_app, *time);
    if (train_app->parsed()) return run_device_train(*train_app, *train);
    if (list_app->parsed()) return run_list(*list);
    if (show_app->parsed()) return run_show(*show);
    RETURN_IF_ERROR(check_subject(*check_app, *check));
    return run_check(*check);
  };
}

}  // namespace

Verb device_verb() {
  return {"device", "accelerators on paper: what compiles, what fits, how long it takes",
          "  tensorpress device list\n"
          "  tensorpress device check --device sn30 --codec dct-chop --cf 4 --shape 100x3x512x512\n"
          "  tensorpress device time --device ipu --codec dct-chop --cf 2 --decompress\n"
          "  tensorpress device train resnet34 --device ipu --search --count 16\n",
          declare};
}

}  // namespace tensorpress::cli
