#include "model/device/device_program.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/errors.h"
#include "model/emit/python/functions.h"
#include "model/program/callees.h"

namespace tensorpress::model {
namespace {

using devices::ProgramTensor;
using devices::TensorRole;

std::vector<std::uint64_t> extents(const Shape& shape, const Sizes& sizes) {
  std::vector<std::uint64_t> numbers;
  for (const Dim& each : shape) numbers.push_back(static_cast<std::uint64_t>(extent(each, sizes)));
  return numbers;
}

TensorRole role_of(const Value& value) {
  switch (value.role) {
    case Role::input:
    case Role::target:
      return TensorRole::input;
    case Role::parameter:
    case Role::buffer:
      return TensorRole::constant;
    default:
      return TensorRole::value;
  }
}

std::string type_name(Element element) {
  constexpr std::string_view kTorch = "torch.";
  return std::string(torch_name(element).substr(kTorch.size()));
}

/// A symbol behind the first axis ties the samples together, as the adjacency of a graph does.
bool samples_are_independent(const Graph& graph) {
  return std::ranges::all_of(graph.values, [](const Value& value) {
    const Shape& shape = value.type.shape;
    return shape.empty() ||
           std::all_of(shape.begin() + 1, shape.end(), [](const Dim& d) { return d.known(); });
  });
}

devices::StepBytes step_bytes(const Graph& graph, const Program& program,
                              const StepOptions& options, std::int64_t batch) {
  const StepMemory memory = step_memory(graph, program, options);
  devices::StepBytes bytes;
  std::int64_t gradients = 0;
  for (const StepPosition& each : memory.positions) {
    gradients = std::max(gradients, each.weight_gradients);
  }
  const StepPosition& any = memory.positions.front();
  bytes.weights = static_cast<double>(any.parameters + any.state + gradients);
  bytes.saved = static_cast<double>(memory.saved_bytes);
  bytes.peak = static_cast<double>(memory.peak_bytes());
  double all = 0;
  for (const Memory& each : program.memories) {
    if (each.kind != Memory::Kind::weight_gradient) all += static_cast<double>(each.bytes);
  }
  const double samples = samples_are_independent(graph) ? static_cast<double>(batch) : 1;
  bytes.streamed = bytes.weights + all / samples;
  return bytes;
}

void add_lines(devices::Program& program, const Graph& graph, const std::vector<Line>& lines) {
  for (const Line& line : lines) {
    for (const Expression& each : read_by(line)) {
      for (std::string& name : operators_of(each)) {
        devices::ProgramOperator made{.name = std::move(name)};
        if (line.node != kNone) {
          made.inputs = graph.nodes[line.node].inputs;
          made.outputs = graph.nodes[line.node].outputs;
        }
        program.operators.push_back(std::move(made));
      }
    }
  }
}

/// What the lines call of the file's own functions: each function counts once, and their types
/// stand behind those of the values.
void add_functions(devices::Program& program, const Program& lowered) {
  Mentions mentions = mentions_of(lowered.forward);
  const Mentions later = mentions_of(lowered.backward);
  mentions.functions.insert(later.functions.begin(), later.functions.end());
  mentions.elements.insert(later.elements.begin(), later.elements.end());
  std::set<std::string> types;
  for (const Element each : mentions.elements) types.insert(type_name(each));
  for (const PythonFunction* each : functions_for(mentions.functions, false)) {
    for (const auto& [name, count] : each->operators) {
      for (int i = 0; i < count; ++i) program.operators.push_back({.name = std::string(name)});
    }
    types.insert(each->types.begin(), each->types.end());
  }
  for (const char* type : {"uint8", "float16", "bfloat16", "float64"}) {
    if (!types.contains(type)) continue;
    program.add({.name = "of the packing functions", .shape = {}, .type = type});
  }
}

}  // namespace

Result<devices::Program> device_program(const Graph& graph, const Policy& policy,
                                        StepOptions options, std::int64_t batch) {
  options.lowering.native = false;
  TRY(const Program lowered, lower(graph, policy, options.lowering));
  const Sizes& sizes = options.lowering.sizes;
  devices::Program program;
  program.name = text("training step of ", graph.name, ", batch ", batch, ", plan ", policy.name);
  for (const Value& value : graph.values) {
    program.add({.name = value.name,
                 .shape = extents(value.type.shape, sizes),
                 .type = type_name(value.type.element),
                 .role = role_of(value)});
  }
  add_lines(program, graph, lowered.forward);
  add_lines(program, graph, lowered.backward);
  add_functions(program, lowered);
  program.step = step_bytes(graph, lowered, options, batch);
  return program;
}

}  // namespace tensorpress::model
