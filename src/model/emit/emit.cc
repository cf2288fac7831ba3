#include "model/emit/emit.h"

#include <algorithm>
#include <set>

#include "base/columns.h"
#include "base/errors.h"
#include "model/emit/python/functions.h"
#include "model/emit/step_class.h"
#include "model/graph/operator.h"
#include "model/graph/python_names.h"
#include "model/program/print.h"
#include "tensorpress/version.h"

namespace tensorpress::model {
namespace {

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
std::string_view where_of(const Memory& memory) {
  if (memory.kind == Memory::Kind::input) return " (the caller's)";
  return memory.on_host ? " (on the host)" : "";
}

/// The bytes of everything that waits, in the order of the text. What several names keep counts for
/// the first of them.
std::string byte_table(const Graph& graph, const Program& program, const Sizes& sizes) {
  std::map<std::string, const Value*> values;
  for (const Value& value : graph.values) values[value.name] = &value;
  std::string table = text("# Waiting for the backward pass at ", sizes_text(sizes), ":\n");
  std::int64_t total = 0;
  std::vector<bool> counted(program.memories.size(), false);
  std::size_t width = 20;
  for (const auto& [name, bytes] : program.stored) width = std::max(width, name.size());
  for (const Line& line : program.forward) {
    for (const std::size_t id : line.defines) {
      const auto* stored = std::get_if<Stored>(&program.variables[id].name);
      if (stored == nullptr) continue;
      const std::string& name = stored->key;
      const std::size_t place = program.variables[id].memory;
      const Memory& memory = program.memories[place];
      const bool again = counted[place] || memory.kind == Memory::Kind::input;
      const std::int64_t bytes = again ? 0 : memory.bytes;
      counted[place] = true;
      const auto value = values.find(name);
      const std::string type = value == values.end() ? "" : to_text(value->second->type);
      table += text("#   ", at_left(name, width), "  ", at_left(type, 24), " ",
                    at_right(text(bytes), 12), where_of(memory), "\n");
      total += bytes;
    }
  }
  return text(table, "#   ", at_left("total", width), "  ", at_left("", 24), " ",
              at_right(text(total), 12), "\n");
}

/// What is deleted after a line: not what is taken out of S or named anew by the line itself.
std::string deleted_after(const Line& line, const Program& program, const std::set<Name>& kept) {
  std::string gone;
  for (const std::size_t id : line.last) {
    const Name& name = program.variables[id].name;
    const auto* stored = std::get_if<Stored>(&name);
    const bool defined_again = std::any_of(
        line.defines.begin(), line.defines.end(),
        [&](std::size_t made) { return made != id && program.variables[made].name == name; });
    const bool stays =
        stored != nullptr ? line.pops(*stored) : defined_again || kept.contains(name);
    if (!stays) gone += text(gone.empty() ? "" : ", ", to_python(name));
  }
  return gone;
}

std::string python_of(const Program& program, const std::vector<Line>& lines,
                      const std::set<Name>& kept, const Graph& graph) {
  std::string out;
  NodeId node = kNone;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    if (line.node != node && line.node != kNone) {
      out += text("\n        # ", graph.nodes[line.node].name, ": ",
                  graph.nodes[line.node].op->signature().name, "\n");
      node = line.node;
    }
    out += text("        ", to_python(line), "\n");
    const std::string gone = deleted_after(line, program, kept);
    if (!gone.empty() && i + 1 < lines.size()) out += text("        del ", gone, "\n");
  }
  return out;
}

std::string argument_names(const Program& program) {
  std::string names;
  for (const std::string& name : program.inputs) names += text(names.empty() ? "" : ", ", name);
  return names;
}

std::string constructor(const Graph& graph, const Program& program, const GradientGiving& giving) {
  std::string out = text(giving.constructor, "        super().__init__()\n");
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
  out += giving.members;
  return out;
}

/// Gradients and what moves, at the line where it is most; without optimizer state.
struct Peak {
  std::int64_t parameters = 0;
  std::int64_t bytes = 0;  // of everything but the parameters
  const Line* line = nullptr;
};

Peak predict_peak(const Graph& graph, const Program& program) {
  Peak prediction;
  prediction.parameters = parameter_bytes(graph);
  const std::vector<Moment> moments = program.moments();
  for (std::size_t i = 0; i < moments.size(); ++i) {
    if (moments[i].total > prediction.bytes) {
      prediction.bytes = moments[i].total;
      prediction.line = i < program.forward.size() ? &program.forward[i]
                                                   : &program.backward[i - program.forward.size()];
    }
  }
  return prediction;
}

Result<void> check_emittable(const std::string& activation, const Storing& storing, bool native) {
  if (native || storing.kind != Storing::Kind::bounded) return {};
  return unsupported(activation, " is to be stored with ", storing.codec,
                     ", which is a codec of the library; use `native`, or quantize, cast or "
                     "dct-chop with `portable`");
}

/// Step has members besides the model's modules; names that begin with one of them cannot be both.
Result<void> check_member_names(const Graph& graph, const GradientGiving& giving) {
  const std::vector<std::string_view> members = member_names(giving);
  for (const Value& value : graph.values) {
    if (value.role != Role::parameter && value.role != Role::buffer) continue;
    const std::string first = value.name.substr(0, value.name.find('.'));
    if (std::find(members.begin(), members.end(), first) != members.end()) {
      return bad_argument("'", value.name, "' cannot be a name in an emitted step, whose own '",
                          first, "' is something else; call that module otherwise");
    }
  }
  return {};
}

std::string header(const Graph& graph, const Program& program, const Policy& policy,
                   const EmitOptions& options) {
  const Peak peak = predict_peak(graph, program);
  return text("\"\"\"One training step of ", graph.name, ", unrolled.\n\n    step = Step()\n",
              "    loss = step(", argument_names(program), ")   # forward\n",
              "    step.backward()   # fills .grad of every parameter\n\n",
              "Written by: ", escaped_for_python(options.command), "\n\"\"\"\n",
              byte_table(graph, program, options.lowering.sizes), "# Parameters ", peak.parameters,
              " bytes. Predicted peak of everything else: ", peak.bytes, " bytes, at\n#   ",
              peak.line == nullptr ? std::string() : to_python(*peak.line),
              "\n# Plan: ", escaped_for_python(policy.name), ". Written by tensorpress ",
              TENSORPRESS_VERSION_STRING, ".\n");
}

std::string imports(const std::vector<const PythonFunction*>& functions) {
  std::set<std::string_view> modules;
  for (const PythonFunction* each : functions) {
    modules.insert(each->modules.begin(), each->modules.end());
  }
  std::string out =
      "import math\n\nimport torch\nimport torch.nn.functional as F\nfrom torch.nn import init\n";
  if (modules.contains("packing")) {
    out += "\nfrom tensorpress.torch import native_packing as packing\n";
    modules.erase("packing");
  }
  for (const std::string_view module : modules) {
    out += text("from tensorpress.torch import ", module, "\n");
  }
  return out + "\naten = torch.ops.aten\n";
}

/// `N = x.size(0)`: from the first input that has the symbol as a dimension.
std::string symbol_line(const Graph& graph, const Program& program, const std::string& symbol,
                        bool kept) {
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Shape& shape = graph.values[graph.inputs[i]].type.shape;
    const auto found = std::find_if(shape.begin(), shape.end(), [&](const Dim& dim) {
      return dim.symbol == symbol && dim.factor == 1;
    });
    if (found == shape.end()) continue;
    return text("        ", symbol, " = ",
                kept ? text(to_python(Name(stored_of_step(symbol))), " = ") : "", program.inputs[i],
                ".size(", found - shape.begin(), ")\n");
  }
  return {};
}

/// `expect(x, "x", (None, 3, 32, 32))`: a size that the text fixes would otherwise be broadcast, or
/// end in a message about some line.
std::string expected_shape(const Graph& graph, const Program& program, std::size_t i) {
  const Value& input = graph.values[graph.inputs[i]];
  std::string sizes;
  for (const Dim& dim : input.type.shape) {
    sizes += text(sizes.empty() ? "" : " ", dim.known() ? text(dim.factor) : "None", ",");
  }
  if (input.type.shape.size() > 1) sizes.pop_back();
  return text("        expect(", program.inputs[i], ", \"", input.name, "\", (", sizes, "))\n");
}

std::string forward_method(const Graph& graph, const Program& program, const std::string& lines) {
  const std::string arguments = argument_names(program);
  std::string out =
      text("\n    @torch.no_grad()\n    def forward(self", arguments.empty() ? "" : ", ", arguments,
           "):\n        P, B = self.tensors()\n        S = self.saved = {}\n");
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) out += expected_shape(graph, program, i);
  if (program.streams > 0) out += "        seed = S[\":seed\"] = self.draw_seed()\n";
  if (!program.adaptive_bits.empty()) out += "        bits = S[\":bits\"] = dict(self.bits)\n";
  const Mentions mentions = mentions_of(program.forward);
  if (mentions.device) out += "        device = next(iter(P.values())).device\n";
  const std::set<std::string>& here = mentions.symbols;
  const std::set<std::string> later = mentions_of(program.backward).symbols;
  for (const std::string& symbol : graph.symbols) {
    const bool kept = later.contains(symbol);
    if (kept || here.contains(symbol)) out += symbol_line(graph, program, symbol, kept);
  }
  return text(out, lines, "        return ", program.loss, "\n");
}

std::string backward_method(const Graph& graph, const Program& program, const std::string& lines) {
  std::string out =
      "\n    @torch.no_grad()\n    def backward(self, gradient=None):\n"
      "        P, B = self.tensors()\n        S, give = self.saved, self.give(P)\n";
  if (!program.stored.empty()) {
    out +=
        "        if not S:\n            raise RuntimeError(\"backward() follows one forward pass: "
        "call the step before it\")\n";
  }
  if (!program.adaptive_bits.empty()) out += "        bits = S[\":bits\"]\n";
  out +=
      "        if gradient is None:\n            gradient = next(iter(P.values())).new_ones(())\n";
  const std::set<std::string> here = mentions_of(program.backward).symbols;
  for (const std::string& symbol : graph.symbols) {
    if (!here.contains(symbol)) continue;
    out += text("        ", symbol, " = ", to_python(Name(stored_of_step(symbol))), "\n");
  }
  return out + lines;
}

}  // namespace

Result<std::string> emit(const Graph& model, const Policy& policy, const EmitOptions& given) {
  EmitOptions options = given;
  const Graph graph = with_python_symbols(model, options.lowering.sizes);
  const bool native = options.lowering.native;
  RETURN_IF_ERROR(check_emittable("the default", policy.fallback, native));
  RETURN_IF_ERROR(check_emittable("the default of smooth functions", policy.smooth, native));
  for (const auto& [name, storing] : policy.by_name) {
    RETURN_IF_ERROR(check_emittable(text("'", name, "'"), storing, native));
  }
  const GradientGiving* giving = find_giving(options.lowering.optimizer);
  if (giving == nullptr) {
    return bad_argument("there is no optimizer '", options.lowering.optimizer,
                        "'; there are sgd and adam");
  }
  RETURN_IF_ERROR(check_member_names(graph, *giving));
  TRY(const Program program, lower(graph, policy, options.lowering));
  std::set<Name> kept = {Local{program.loss}};
  for (const std::string& name : program.inputs) kept.insert(Local{name});
  const std::string forward = python_of(program, program.forward, kept, graph);
  const std::string backward = python_of(program, program.backward, {}, graph);
  std::set<std::string> called = mentions_of(program.forward).functions;
  called.merge(mentions_of(program.backward).functions);
  const std::vector<const PythonFunction*> functions = functions_for(called, native);

  std::string out = header(graph, program, policy, options);
  out += imports(functions);
  for (const PythonFunction* each : functions) out += text("\n\n", each->text);
  out += text("\n\n", registration_functions());
  out +=
      "\n\nclass Step(torch.nn.Module):\n    \"\"\"Parameters with the names of the model; "
      "forward gives the loss, backward the gradients.\"\"\"\n\n";
  out += constructor(graph, program, *giving);
  out += text(tensors_method(), "\n");
  out += draw_seed_method(program.streams);
  out += giving->method;
  out += forward_method(graph, program, forward);
  out += backward_method(graph, program, backward);
  if (!native) out += pure_step(program.streams, argument_names(program));
  return out;
}

}  // namespace tensorpress::model
