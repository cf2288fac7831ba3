// The script that --check writes beside the emitted file.
#include "base/errors.h"
#include "model/emit/emit.h"
#include "model/graph/operator.h"
#include "model/graph/python_names.h"

namespace tensorpress::model {
namespace {

/// How many different whole numbers an input may hold: what reads it says so.
std::int64_t classes_of(const Graph& graph, ValueId id, int depth = 0) {
  for (const NodeId consumer : graph.values[id].consumers) {
    const Node& node = graph.nodes[consumer];
    const std::string_view name = node.op->signature().name;
    if (name == "embedding") return node.attributes.integer("count");
    if (name == "cross_entropy" || name == "nll_loss") {
      return graph.values[node.inputs[0]].type.shape[1].factor;
    }
    if (node.op->is_view() && depth < 8) return classes_of(graph, node.outputs[0], depth + 1);
  }
  return 2;
}

std::string made_input(const Graph& graph, ValueId id) {
  const TensorType& type = graph.values[id].type;
  const std::string shape = to_python(type.shape);
  if (type.sparse) {
    return text("((torch.rand(", shape, ") < 0.3) * torch.rand(", shape,
                ")).double().to_sparse_csr()");
  }
  if (is_floating(type.element)) return text("torch.rand(", shape, ", dtype=torch.float64)");
  return text("torch.randint(", classes_of(graph, id), ", ", shape,
              ", dtype=", torch_name(type.element), ")");
}

}  // namespace

std::string emit_check(const Graph& model, const std::string& step_module) {
  Sizes none;
  const Graph graph = with_python_symbols(model, none);
  std::string out =
      text("\"\"\"Compares the gradients of ", step_module,
           ".py with numerical ones, in double precision: along random directions, one for\n"
           "each parameter. Run it in the folder of that file.\n\"\"\"\nimport torch\n\nfrom ",
           step_module, " import Step\n\n");
  for (const std::string& symbol : graph.symbols) out += text(symbol, " = 3\n");
  out += "EPSILON = 1e-6\ntorch.manual_seed(0)\nstep = Step().double()\ninputs = (\n";
  for (const ValueId id : graph.inputs) out += text("    ", made_input(graph, id), ",\n");
  out +=
      ")\n\n\ndef loss():\n    torch.manual_seed(1)  # the same dropout every time\n"
      "    return step(*inputs).item()\n\n\nloss()\nstep.backward()\nworst = 0.0\n"
      "for name, parameter in step.named_parameters():\n"
      "    torch.manual_seed(2)\n"
      "    direction = torch.randn_like(parameter)\n"
      "    slope = (parameter.grad * direction).sum().item()\n"
      "    kept = parameter.detach().clone()\n"
      "    with torch.no_grad():\n"
      "        parameter.copy_(kept + EPSILON * direction)\n"
      "        above = loss()\n"
      "        parameter.copy_(kept - EPSILON * direction)\n"
      "        below = loss()\n"
      "        parameter.copy_(kept)\n"
      "    numerical = (above - below) / (2 * EPSILON)\n"
      "    error = abs(slope - numerical) / max(abs(numerical), 1e-3)\n"
      "    worst = max(worst, error)\n"
      "    print(f\"{name:40} {slope:14.8f} {numerical:14.8f} {error:10.2e}\")\n"
      "print(f\"largest relative difference {worst:.2e}\")\n"
      "raise SystemExit(worst > 1e-3)\n";
  return out;
}

}  // namespace tensorpress::model
