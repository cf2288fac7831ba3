// tensorpress device check: does a program compile on a device, and does it fit?
#include <memory>
#include <optional>

#include "base/errors.h"
#include "chop_options.h"
#include "command_line/reports/json_output.h"
#include "command_line/reports/messages.h"
#include "command_line/verb.h"
#include "device_files.h"
#include "devices/check.h"
#include "devices/programs/graph_file.h"
#include "files/bytes/text_files.h"
#include "model_check.h"

namespace tensorpress::cli {
namespace {

using devices::CheckOutcome;
using devices::Device;

struct Options {
  std::string graph;
  std::vector<std::string> names;
  ChopOptions chop;
  std::string network;
  devices::GcnTask gcn;
  std::string adjacency = "dense";
  ModelCheckOptions model;
  std::string stack;
};

Json to_json(const CheckOutcome& outcome) {
  Json operators = Json::array(), requirements = Json::array();
  for (const auto& each : outcome.operators) {
    operators.push_back(
        {{"name", each.name}, {"count", each.count}, {"supported", each.supported}});
  }
  for (const auto& each : outcome.requirements) {
    requirements.push_back({{"what", each.what},
                            {"where", each.where},
                            {"needed", json_number(each.needed)},
                            {"limit", json_number(each.limit)},
                            {"unit", each.bytes ? "B" : ""},
                            {"origin", devices::name_of(each.origin)},
                            {"fits", each.fits()}});
  }
  return {{"device", outcome.device},          {"stack", outcome.stack},
          {"program", outcome.program},        {"fits", outcome.fits()},
          {"reasons", outcome.reasons},        {"way_out", with_flags(outcome.way_out)},
          {"operators", std::move(operators)}, {"requirements", std::move(requirements)}};
}

std::string to_text(const CheckOutcome& outcome) {
  std::string lines =
      text(outcome.device, ": ", outcome.fits() ? "compiles and fits" : "does not fit", "\n");
  for (const auto& each : outcome.requirements) {
    const bool known = each.origin == devices::Origin::fact;
    lines += text("  ", each.fits() ? "yes" : "no ", " ", each.what, ": ", devices::in_words(each),
                  known ? "" : text(" (", name_of(each.origin), ")"), "\n");
  }
  std::string known, unknown;
  for (const auto& each : outcome.operators) {
    (each.supported ? known : unknown) += text(" ", each.count, " ", each.name);
  }
  if (!known.empty()) lines += text("  yes operators of ", outcome.stack, ":", known, "\n");
  if (!unknown.empty()) lines += text("  no  operators of ", outcome.stack, ":", unknown, "\n");
  for (const std::string& reason : outcome.reasons) lines += text("  because ", reason, "\n");
  if (!outcome.way_out.empty()) lines += text("  ", with_flags(outcome.way_out), "\n");
  return lines;
}

Result<devices::GcnTask> gcn_task(const Options& options) {
  devices::GcnTask task = options.gcn;
  const auto adjacency = devices::adjacency_named(options.adjacency);
  if (!adjacency) {
    return bad_argument("--adjacency ", options.adjacency,
                        " is not one of dense (the same as linear), matmul, csr");
  }
  task.adjacency = *adjacency;
  RETURN_IF_ERROR(devices::check_task(task));
  return task;
}

bool names_model(const Options& options) {
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
Result<void> check_subject(const Arguments& arguments, const Options& options) {
  const Subject subject = names_model(options)       ? Subject::model
                          : !options.graph.empty()   ? Subject::graph
                          : !options.network.empty() ? Subject::network
                                                     : Subject::codec;
  for (const SubjectOption& each : kSubjectOptions) {
    if (each.subject != subject && arguments.given(each.name)) {
      return bad_argument(each.name, " is ", each.way_out);
    }
  }
  if (options.adjacency != "csr") {
    return arguments.refuse_ignored(
        {"--edges-per-node"}, "a dense adjacency has every pair of nodes; add --adjacency csr");
  }
  return {};
}

/// The program of GRAPH.json, if one was named.
Result<std::optional<devices::Program>> exported(const Options& options) {
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

Result<CheckOutcome> check_one(const Device& device, const Options& options,
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

Result<Report> run(const Arguments& arguments, const Options& options, Reporter& reporter) {
  RETURN_IF_ERROR(check_subject(arguments, options));
  TRY(const auto chosen, open_devices(options.names));
  TRY(const auto program, exported(options));
  std::optional<model::ResizableStep> step;
  if (names_model(options)) {
    auto opened = options.model.open(options.graph);
    if (!opened.ok()) return report_mistake(std::move(opened).error());
    step = std::move(opened).value();
  }
  bool all_fit = true;
  Json outcomes = Json::array();
  for (const Device& device : chosen) {
    TRY(const CheckOutcome outcome, step ? model::check_step(device, options.stack, *step)
                                         : check_one(device, options, program));
    all_fit = all_fit && outcome.fits();
    outcomes.push_back(to_json(outcome));
    reporter.show(text(outcomes.size() == 1 ? text(outcome.program, "\n") : "", to_text(outcome)));
  }
  return Report{.json = json_text(outcomes.size() == 1 ? outcomes.front() : outcomes),
                .status = all_fit ? ExitStatus::fine : ExitStatus::check_failed};
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments
      .option("GRAPH", options->graph, "a graph.json of tensorpress.torch.write_graph, or a model")
      .shown_as("[GRAPH.json | MODEL.tpm]");
  arguments.option("--device", options->names, "a name, a .toml file, or all; repeatable")
      .one_at_a_time()
      .required()
      .shown_as("DEVICE");
  options->chop.declare(arguments);
  options->model.declare(arguments);
  arguments.option("--network", options->network, "gcn instead of a codec").shown_as("gcn");
  arguments.option("--nodes", options->gcn.nodes, "of the graph").shown_as("N");
  arguments.option("--edges-per-node", options->gcn.edges_per_node, "in CSR (50)").shown_as("N");
  arguments.option("--features", options->gcn.features, "of a node (128)").shown_as("N");
  arguments.option("--adjacency", options->adjacency, "dense, matmul or csr (dense)")
      .shown_as("WORD");
  arguments.option("--stack", options->stack, "how it is programmed (pytorch)").shown_as("NAME");
  return [arguments, options](Reporter& reporter) { return run(arguments, *options, reporter); };
}

}  // namespace

Verb device_check_verb() {
  return {.name = "check",
          .summary = "does a program compile there, and does it fit (status 1: no)",
          .json = "print JSON: fits, reasons, way_out, ...",
          .declare = declare};
}

}  // namespace tensorpress::cli
