#include "model/emit.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/errors.h"
#include "model/emitted/functions.h"
#include "model/operator.h"
#include "tensorpress/version.h"

namespace tensorpress::model {
namespace {

std::string padded(std::string word, std::size_t width) {
  if (word.size() < width) word.append(width - word.size(), ' ');
  return word;
}

std::string left_padded(const std::string& word, std::size_t width) {
  return word.size() < width ? std::string(width - word.size(), ' ') + word : word;
}

std::string replaced(std::string pattern, const std::string& tensor) {
  const std::size_t at = pattern.find("{}");
  if (at != std::string::npos) pattern.replace(at, 2, tensor);
  return pattern;
}

std::string sizes_text(const Sizes& sizes) {
  std::string all;
  for (const auto& [symbol, size] : sizes)
    all += text(all.empty() ? "" : ", ", symbol, " = ", size);
  return all;
}

/// A remark for what waits elsewhere than on the device, or is there anyway.
std::string_view where_of(const Line& line, const Memory& memory) {
  if (memory.kind == Memory::Kind::input) return " (the caller's)";
  return line.code.find(" = to_host(") != std::string::npos ? " (on the host)" : "";
}

/// The bytes of everything that waits, largest lines as they are in the order of the text.
std::string byte_table(const Graph& graph, const Program& program, const Sizes& sizes) {
  std::map<std::string, const Value*> values;
  for (const Value& value : graph.values) values[value.name] = &value;
  std::string table = text("# Waiting for the backward pass at ", sizes_text(sizes), ":\n");
  std::int64_t total = 0;
  std::size_t width = 20;
  for (const auto& [name, bytes] : program.stored) width = std::max(width, name.size());
  for (const Line& line : program.forward) {
    for (const std::size_t id : line.defines) {
      const std::string& variable = program.variables[id].name;
      if (variable.compare(0, 3, "S[\"") != 0) continue;
      const std::string name = variable.substr(3, variable.size() - 5);
      const Memory& memory = program.memories[program.variables[id].memory];
      const std::int64_t bytes = memory.kind == Memory::Kind::input ? 0 : memory.bytes;
      const auto value = values.find(name);
      const std::string type = value == values.end() ? "" : to_text(value->second->type);
      table += text("#   ", padded(name, width), "  ", padded(type, 24), " ",
                    left_padded(text(bytes), 12), where_of(line, memory), "\n");
      total += bytes;
    }
  }
  return text(table, "#   ", padded("total", width), "  ", padded("", 24), " ",
              left_padded(text(total), 12), "\n");
}

void append_lines(std::string& out, const Program& program, const std::vector<Line>& lines,
                  const std::vector<std::string>& kept, const Graph& graph) {
  NodeId node = kNone;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    if (line.node != node && line.node != kNone) {
      out += text("\n        # ", graph.nodes[line.node].name, ": ",
                  graph.nodes[line.node].op->signature().name, "\n");
      node = line.node;
    }
    out += text("        ", line.code, "\n");
    std::string gone;
    for (const std::size_t id : line.last) {
      const std::string& name = program.variables[id].name;
      const bool defined_again =
          line.code.compare(0, name.size() + 3, name + " = ") == 0 &&
          std::find(line.defines.begin(), line.defines.end(), id) == line.defines.end();
      if (name.compare(0, 2, "S[") == 0) {
        if (line.code.find("S.pop(" + name.substr(2, name.size() - 3)) == std::string::npos) {
          gone += text(gone.empty() ? "" : ", ", name);
        }
        continue;
      }
      if (defined_again || std::find(kept.begin(), kept.end(), name) != kept.end()) continue;
      gone += text(gone.empty() ? "" : ", ", name);
    }
    if (!gone.empty() && i + 1 < lines.size()) out += text("        del ", gone, "\n");
  }
}

/// The names in the lines that follow neither a dot nor a quote.
std::set<std::string> words_of(const std::vector<Line>& lines) {
  std::set<std::string> words;
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (const Line& line : lines) {
    const std::string& code = line.code;
    for (std::size_t i = 0; i < code.size();) {
      if (!in_word(code[i])) {
        ++i;
        continue;
      }
      std::size_t end = i;
      while (end < code.size() && in_word(code[end])) ++end;
      const bool stands = (i == 0 || (code[i - 1] != '.' && code[i - 1] != '"')) &&
                          (end == code.size() || code[end] != '"');
      if (stands) words.insert(code.substr(i, end - i));
      i = end;
    }
  }
  return words;
}

std::string argument_names(const Program& program) {
  std::string names;
  for (const std::string& name : program.inputs) names += text(", ", name);
  return names;
}

std::string constructor(const Graph& graph, const Program& program, const EmitOptions& options) {
  const std::string& optimizer = options.lowering.optimizer;
  std::string out =
      optimizer == "sgd"    ? "    def __init__(self, lr=0.01, momentum=0.9, weight_decay=0.0):\n"
      : optimizer == "adam" ? "    def __init__(self, lr=0.001, betas=(0.9, 0.999), eps=1e-8):\n"
                            : "    def __init__(self):\n";
  out += "        super().__init__()\n";
  for (const auto* ids : {&graph.parameters, &graph.buffers}) {
    for (const ValueId id : *ids) {
      const Value& value = graph.values[id];
      const bool buffer = value.role == Role::buffer;
      out += text("        ", buffer ? "buffer" : "parameter", "(self, \"", value.name,
                  "\", torch.empty(", to_python(value.type.shape),
                  ", dtype=", torch_name(value.type.element),
                  "), lambda t: ", replaced(value.init, "t"), ")\n");
    }
  }
  for (const auto& [alias, id] : graph.aliases) {
    out += text("        tie(self, \"", alias, "\", \"", graph.values[id].name, "\")\n");
  }
  out += "        self.saved = {}\n";
  if (!program.adaptive_bits.empty()) {
    out += "        self.bits = {  # of the next steps: 1, 2, 4, 8, or 32 to keep\n";
    for (const auto& [name, bits] : program.adaptive_bits) {
      out += text("            \"", name, "\": ", bits, ",\n");
    }
    out += "        }\n";
  }
  if (optimizer == "sgd") {
    out += "        self.lr, self.momentum, self.weight_decay = lr, momentum, weight_decay\n";
  } else if (optimizer == "adam") {
    out += "        self.lr, self.betas, self.eps, self.steps = lr, betas, eps, 0\n";
  }
  if (!optimizer.empty()) out += "        self.state = {}\n";
  return out;
}

constexpr std::string_view kRegistration = R"(

def owner(module, name):
    """The submodule that a dotted name stands in, made if it is not there."""
    *path, leaf = name.split(".")
    for part in path:
        if part not in module._modules:
            module.add_module(part, torch.nn.Module())
        module = module._modules[part]
    return module, leaf


@torch.no_grad()
def parameter(module, name, tensor, fill):
    fill(tensor)
    place, leaf = owner(module, name)
    place.register_parameter(leaf, torch.nn.Parameter(tensor))


@torch.no_grad()
def buffer(module, name, tensor, fill):
    fill(tensor)
    place, leaf = owner(module, name)
    place.register_buffer(leaf, tensor)


def tie(module, name, other):
    """One parameter under a second name."""
    place, leaf = owner(module, name)
    place.register_parameter(leaf, module.get_parameter(other))
)";

constexpr std::string_view kTensors = R"(
    def tensors(self):
        """Parameters and buffers by their names."""
        return dict(self.named_parameters(remove_duplicate=False)), dict(self.named_buffers())

)";

/// Seeds of two steps are equal, or so far apart that no seed + 0, seed + 1, ... of the one is one
/// of the other.
std::string draw_seed(const Program& program) {
  if (program.streams == 0) return {};
  return text("    def draw_seed(self):\n",
              "        \"\"\"For rounding and dropout, which add a number of their own; follows ",
              "torch.manual_seed.\"\"\"\n        return int(torch.randint(2**40, ())) * ",
              program.streams, "\n\n");
}

constexpr std::string_view kGive = R"(
    def give(self, P):
        def add_gradient(name, gradient):
            if P[name].requires_grad:
                P[name].grad = gradient if P[name].grad is None else P[name].grad.add_(gradient)

        return add_gradient
)";

constexpr std::string_view kSgd = R"(
    def give(self, P):
        """The update of torch.optim.SGD as soon as a gradient is complete; none is kept."""

        def update(name, gradient):
            if self.weight_decay:
                gradient = gradient.add(P[name], alpha=self.weight_decay)
            if self.momentum and name in self.state:
                gradient = self.state[name].mul_(self.momentum).add_(gradient)
            elif self.momentum:
                self.state[name] = gradient = gradient.clone()
            P[name].add_(gradient, alpha=-self.lr)

        return update
)";

constexpr std::string_view kAdam = R"(
    def give(self, P):
        """The update of torch.optim.Adam as soon as a gradient is complete; none is kept."""
        self.steps += 1
        first, second = (1 - beta**self.steps for beta in self.betas)

        def update(name, gradient):
            if name not in self.state:
                self.state[name] = torch.zeros_like(gradient), torch.zeros_like(gradient)
            mean, square = self.state[name]
            mean.lerp_(gradient, 1 - self.betas[0])
            square.mul_(self.betas[1]).addcmul_(gradient, gradient, value=1 - self.betas[1])
            deviation = (square.sqrt() / math.sqrt(second)).add_(self.eps)
            P[name].addcdiv_(mean, deviation, value=-self.lr / first)

        return update
)";

constexpr std::string_view kPure = R"(

class PureStep:
    """The same two passes over tensors from outside."""

    def __init__(self, params, seed):
        self.params, self.seed, self.saved, self.gradients = params, seed, {}, {}

    def tensors(self):
        return self.params, self.params

    def draw_seed(self):
        return self.seed

    def give(self, P):
        return self.gradients.__setitem__

    forward, backward = Step.forward, Step.backward
)";

std::string pure_step(const Program& program, const std::string& arguments) {
  const bool random = program.streams > 0;
  std::string out = text(kPure, "\n\ndef train_step(params", arguments,
                         random ? ", seed=0):\n    \"\"\"Every step has a seed of its own: a whole "
                                  "number, or a tensor with one.\"\"\"\n"
                                : "):\n");
  out += text("    step = PureStep(params, ",
              random ? text("seed * ", program.streams) : std::string("0"), ")\n");
  out += text("    loss = step.forward(", arguments.substr(2), ")\n    step.backward()\n");
  return out + "    return loss, step.gradients\n";
}

}  // namespace

PeakPrediction predict_peak(const Graph& graph, const Program& program) {
  PeakPrediction prediction;
  prediction.parameters = parameter_bytes(graph);
  const std::vector<Moment> moments = program.moments();
  for (std::size_t i = 0; i < moments.size(); ++i) {
    if (moments[i].total > prediction.peak) {
      prediction.peak = moments[i].total;
      prediction.line = i;
      prediction.code = i < program.forward.size()
                            ? program.forward[i].code
                            : program.backward[i - program.forward.size()].code;
    }
  }
  std::vector<bool> counted(program.memories.size(), false);
  for (const Line& line : program.forward) {
    for (const std::size_t id : line.defines) {
      const std::size_t memory = program.variables[id].memory;
      if (program.variables[id].name.compare(0, 2, "S[") != 0 || counted[memory]) continue;
      counted[memory] = true;
      if (program.memories[memory].kind != Memory::Kind::input) {
        prediction.stored += program.memories[memory].bytes;
      }
    }
  }
  return prediction;
}

namespace {

Result<void> check_emittable(const std::string& activation, const Storing& storing, bool native) {
  if (native || storing.kind != Storing::Kind::bounded) return {};
  return unsupported(activation, " is to be stored with ", storing.codec,
                     ", which is a codec of the library; use --native, or quantize, cast or "
                     "dct-chop with --portable");
}

}  // namespace

Result<std::string> emit(const Graph& graph, const Plan& plan, const EmitOptions& options) {
  const bool native = options.lowering.native;
  RETURN_IF_ERROR(check_emittable("the default", plan.fallback, native));
  RETURN_IF_ERROR(check_emittable("the default of smooth functions", plan.smooth, native));
  for (const auto& [name, storing] : plan.by_name) {
    RETURN_IF_ERROR(check_emittable(text("'", name, "'"), storing, native));
  }
  TRY(const Program program, lower(graph, plan, options.lowering));
  const PeakPrediction peak = predict_peak(graph, program);
  std::string forward;
  std::string backward;
  std::vector<std::string> kept = program.inputs;
  kept.push_back(program.loss);
  append_lines(forward, program, program.forward, kept, graph);
  append_lines(backward, program, program.backward, {}, graph);

  std::string out = text("\"\"\"One training step of ", graph.name, ", unrolled.\n\n");
  out += text("    step = Step()\n    loss = step(", argument_names(program).substr(2),
              ")   # forward\n    step.backward()   # fills .grad of every parameter\n\n");
  out += text("Written by: ", options.command, "\n\"\"\"\n");
  out += byte_table(graph, program, options.lowering.sizes);
  out += text("# Parameters ", peak.parameters,
              " bytes. Predicted peak of everything else: ", peak.peak, " bytes, at\n#   ",
              peak.code, "\n");
  out +=
      text("# Plan: ", plan.name, ". Written by tensorpress ", TENSORPRESS_VERSION_STRING, ".\n");
  out +=
      "import math\n\nimport torch\nimport torch.nn.functional as F\nfrom torch.nn import init\n";
  const std::string functions = emitted_functions(forward + backward, native);
  if (native && functions.find("packing.") != std::string::npos) {
    out += "\nfrom tensorpress.torch import native_packing as packing\n";
  }
  for (const char* module : {"pool_indices", "seeded_dropout", "tensor_codecs"}) {
    if (native && functions.find(text(module, ".")) != std::string::npos) {
      out += text("from tensorpress.torch import ", module, "\n");
    }
  }
  out += "\naten = torch.ops.aten\n";
  out += functions;
  out += kRegistration;
  out +=
      text("\n\nclass Step(torch.nn.Module):\n    \"\"\"Parameters with the names of the model; ",
           "forward gives the loss, backward the gradients.\"\"\"\n\n");
  out += constructor(graph, program, options);
  out += kTensors;
  out += draw_seed(program);
  out += options.lowering.optimizer == "sgd"    ? kSgd
         : options.lowering.optimizer == "adam" ? kAdam
                                                : kGive;

  const std::string arguments = argument_names(program);
  out += text("\n    @torch.no_grad()\n    def forward(self", arguments, "):\n");
  out += "        P, B = self.tensors()\n        S = self.saved = {}\n";
  if (program.streams > 0) out += "        seed = S[\"seed\"] = self.draw_seed()\n";
  const bool adaptive = !program.adaptive_bits.empty();
  if (adaptive) out += "        bits = S[\"bits\"] = dict(self.bits)\n";
  const std::set<std::string> in_forward = words_of(program.forward);
  const std::set<std::string> in_backward_pass = words_of(program.backward);
  for (const std::string& symbol : graph.symbols) {
    const bool in_backward = in_backward_pass.contains(symbol);
    if (!in_backward && !in_forward.contains(symbol)) continue;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const Shape& shape = graph.values[graph.inputs[i]].type.shape;
      const auto found = std::find_if(shape.begin(), shape.end(), [&](const Dim& dim) {
        return dim.symbol == symbol && dim.factor == 1;
      });
      if (found == shape.end()) continue;
      out += text("        ", symbol, " = ", in_backward ? text("S[\"", symbol, "\"] = ") : "",
                  program.inputs[i], ".size(", found - shape.begin(), ")\n");
      break;
    }
  }
  out += forward;
  out += text("        return ", program.loss, "\n");

  out += "\n    @torch.no_grad()\n    def backward(self, gradient=None):\n";
  out += "        P, B = self.tensors()\n        S, give = self.saved, self.give(P)\n";
  if (adaptive) out += "        bits = S[\"bits\"]\n";
  out +=
      "        if gradient is None:\n            gradient = next(iter(P.values())).new_ones(())\n";
  for (const std::string& symbol : graph.symbols) {
    if (in_backward_pass.contains(symbol)) {
      out += text("        ", symbol, " = S[\"", symbol, "\"]\n");
    }
  }
  out += backward;
  if (!native) {
    out += pure_step(program, arguments);
  }
  return out;
}

}  // namespace tensorpress::model
