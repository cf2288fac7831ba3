// The model as a graph: values and the nodes that make them, in the order of execution. Everything
// is resolved here: blocks are expanded, types are known, parameters have their final names.
//
//   TRY(const Graph graph, read_model("resnet18.tpm"));        // elaborate.h
//   for (const Node& node : graph.nodes) ... node.op->flops(NodeView{graph, node}, {{"N", 100}})
//
// Nodes stand in a topological order, which is the order of the text: node i reads only what the
// inputs, the parameters and nodes before it make. Ids are positions in `values` and `nodes`.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "model/graph/types.h"
#include "model/text/source.h"

namespace tensorpress::model {

class Operator;
using ValueId = std::size_t;
using NodeId = std::size_t;
inline constexpr std::size_t kNone = static_cast<std::size_t>(-1);

enum class Role : std::uint8_t {
  input,
  target,
  parameter,  // trained
  buffer,     // kept with the parameters, changed by forward: running statistics
  activation,
  hidden,  // an activation that exists only if a policy compresses it, such as batch_norm's
           // normalized input; no node of the graph reads it
};

struct Value {
  std::string name;  // dotted and unique: "layer1.0.conv1", "layer1.0.conv1.weight"
  TensorType type;
  Role role = Role::activation;
  NodeId producer = kNone;
  std::size_t output = 0;         // which of the producer's outputs
  std::vector<NodeId> consumers;  // in order; a node that reads it twice stands here twice
  bool needs_gradient = false;
  bool constant = false;  // the same in every step: made of numbers of the text alone
  /// Of parameters and buffers: a Python statement that fills the tensor {}.
  std::string init;
  Place place;
};

using Attribute = std::variant<std::monostate, std::int64_t, double, bool, std::string,
                               std::vector<std::int64_t>, std::vector<double>>;

/// The arguments of a node that are not tensors, by name, complete with defaults.
class Attributes {
 public:
  void set(std::string name, Attribute value);
  bool has(std::string_view name) const;  // given, and not none
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  bool flag(std::string_view name) const;
  const std::string& word(std::string_view name) const;
  /// A list as it is; a single integer is repeated `count` times.
  std::vector<std::int64_t> integers(std::string_view name, std::size_t count = 1) const;
  /// A list of any numbers.
  std::vector<double> numbers(std::string_view name) const;

 private:
  const Attribute* find(std::string_view name) const;
  std::vector<std::pair<std::string, Attribute>> all_;
};

struct Node {
  const Operator* op = nullptr;
  std::string name;  // the instance's path, or the operator's name with a number
  std::vector<ValueId> inputs;
  Attributes attributes;
  /// Parameters and buffers by their local names ("weight"), in the order the operator made them.
  std::vector<std::pair<std::string, ValueId>> parameters;
  std::vector<ValueId> outputs;
  Place place;
};

struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;      // inputs and targets, in the order of the text
  std::vector<ValueId> parameters;  // in the order of creation
  std::vector<ValueId> buffers;
  /// Further names under which a parameter is known: {"head.weight", wte.weight}.
  std::vector<std::pair<std::string, ValueId>> aliases;
  std::vector<ValueId> outputs;  // what `output` lines name
  ValueId loss = kNone;
  std::vector<std::string> symbols;  // N and others, in the order of appearance

  /// An `output` line names it, so that it outlives the step.
  bool is_output(ValueId id) const;
  /// Some output of the node needs a gradient.
  bool is_trained(const Node& node) const;
  /// A view made it; and the value whose memory such a one shows, itself if it is none.
  bool is_view(ValueId id) const;
  ValueId viewed(ValueId id) const;
};

/// A node with its surroundings, as operators see it.
struct NodeView {
  const Graph& graph;
  const Node& node;

  const Value& input(std::size_t i) const { return graph.values[node.inputs[i]]; }
  const Value& output(std::size_t j = 0) const { return graph.values[node.outputs[j]]; }
  std::size_t input_count() const { return node.inputs.size(); }
  const Attributes& attributes() const { return node.attributes; }
  /// The parameter or buffer of this local name, or nullptr.
  const Value* parameter(std::string_view name) const;
};

/// The open dimension that the target begins with, or the first input: its size is the batch. "" if
/// that is a number.
std::string batch_symbol(const Graph& graph);

/// A number for every symbol: those given, kUsualEntries a row for the entries of sparse matrices,
/// and `others` for all others.
Sizes complete_sizes(const Graph& graph, const Sizes& given, std::int64_t others);

/// Parameters and buffers in bytes.
std::int64_t parameter_bytes(const Graph& graph);

}  // namespace tensorpress::model
