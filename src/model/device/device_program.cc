#include "model/device/device_program.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/errors.h"
#include "model/emit/functions/functions.h"

namespace tensorpress::model {
namespace {

using devices::ProgramTensor;
using devices::TensorRole;

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Python's name -> ATen's; "" for what is no operator on tensors.
std::string aten_name(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {{"pop", ""},
                                                                       {"get", ""},
                                                                       {"size", ""},
                                                                       {"numel", ""},
                                                                       {"dim", ""},
                                                                       {"append", ""},
                                                                       {"prod", ""},
                                                                       {"is_contiguous", ""},
                                                                       {"float", "to"},
                                                                       {"long", "to"},
                                                                       {"tensor", "to"},
                                                                       {"as_tensor", "to"},
                                                                       {"interpolate", "upsample"}};
  for (const auto& [python, aten] : kOthers) {
    if (name == python) return std::string(aten);
  }
  return std::string(name);
}

/// The call whose name ends before `open`, if a dot stands before it.
std::string call_before(std::string_view code, std::size_t open) {
  std::size_t first = open;
  while (first > 0 && is_name(code[first - 1])) --first;
  if (first == open || first == 0 || code[first - 1] != '.') return {};
  std::string name = aten_name(code.substr(first, open - first));
  constexpr std::string_view kSparse = "sparse.";
  if (first >= kSparse.size() && code.substr(first - kSparse.size(), kSparse.size()) == kSparse) {
    name = text("sparse_", name);
  }
  if (name == "upsample") {
    const bool smooth = code.find("mode=\"bilinear\"", open) != std::string_view::npos;
    name = smooth ? "upsample_bilinear2d" : "upsample_nearest2d";
  }
  return name;
}

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

}  // namespace

std::vector<std::string> operators_in(std::string_view code) {
  constexpr std::pair<std::string_view, const char*> kInfix[] = {
      {" + ", "add"}, {" - ", "sub"}, {" * ", "mul"}, {" / ", "div"}, {" > ", "gt"}, {" < ", "lt"}};
  std::vector<std::string> found;
  int depth = 0;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const char c = code[i];
    if (c == '(') {
      std::string name = call_before(code, i);
      if (!name.empty()) found.push_back(std::move(name));
    }
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (code.substr(i, 3) == " @ ") found.emplace_back("matmul");
    if (depth != 0) continue;
    for (const auto& [sign, name] : kInfix) {
      if (code.substr(i, 3) == sign) found.emplace_back(name);
    }
  }
  return found;
}

Result<devices::Program> device_program(const Graph& graph, const Plan& plan, StepOptions options,
                                        std::int64_t batch) {
  options.lowering.native = false;
  TRY(const Program lowered, lower(graph, plan, options.lowering));
  const Sizes& sizes = options.lowering.sizes;
  devices::Program program;
  program.name = text("training step of ", graph.name, ", batch ", batch, ", plan ", plan.name);
  for (const Value& value : graph.values) {
    program.add({.name = value.name,
                 .shape = extents(value.type.shape, sizes),
                 .type = type_name(value.type.element),
                 .role = role_of(value)});
  }
  std::string all;
  for (const auto* const pass : {&lowered.forward, &lowered.backward}) {
    for (const Line& line : *pass) {
      all += text(line.code, "\n");
      for (std::string& name : operators_in(line.code)) {
        devices::ProgramOperator made{.name = std::move(name)};
        if (line.node != kNone) {
          const Node& node = graph.nodes[line.node];
          made.inputs = node.inputs;
          made.outputs = node.outputs;
        }
        program.operators.push_back(std::move(made));
      }
    }
  }
  // What the lines call of the file's own functions: each function counts once.
  const std::string functions = emitted_functions(all, false);
  for (std::string& name : operators_in(functions)) {
    program.operators.push_back({.name = std::move(name)});
  }
  for (const char* type : {"uint8", "float16", "bfloat16", "float64"}) {
    if ((all + functions).find(text("torch.", type)) == std::string::npos) continue;
    program.add({.name = "of the packing functions", .shape = {}, .type = type});
  }
  program.step = step_bytes(graph, lowered, options, batch);
  return program;
}

}  // namespace tensorpress::model
