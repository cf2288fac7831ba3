// An operator: one file in operators/ that defines a class and a function returning its only
// object, and one line in operators/registry.cc. It says
//
//   signature   how it is called in the text: name, number of tensors, attributes with defaults
//   infer       the types of its outputs and the parameters it owns, or what is wrong
//   needs       what its backward pass reads of inputs and outputs, and which error that may have
//   forward     lines that compute the outputs (through site.h)
//   backward    lines that compute the gradients
//   rebuild     optionally: lines that make an output again from what backward needs anyway
//   flops       operations of one forward pass (a multiplication and an addition are two)
//
// With the policy `off` the gradients must be autograd's, bit by bit: call the ATen functions that
// autograd calls, and accumulate in its order (site.give does).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/graph/graph.h"
#include "model/program/expression.h"
#include "tensorpress/result.h"

namespace tensorpress::model {

class Site;

/// Numbers are finite, limits may be infinite.
enum class AttributeKind : std::uint8_t { integer, number, limit, flag, word, integers, numbers };

struct AttributeSpec {
  const char* name;
  AttributeKind kind;
  bool required = false;
  Attribute fallback = {};  // monostate: none
};

struct Signature {
  const char* name;
  std::size_t fewest_inputs = 1;
  std::size_t most_inputs = 1;
  std::vector<AttributeSpec> attributes = {};  // in positional order, after the tensors
};

/// What `infer` sees: no graph yet, only types.
struct Arguments {
  std::span<const TensorType> inputs;
  const Attributes& attributes;
};

struct ParameterSpec {
  std::string name;  // local: "weight"
  TensorType type;
  std::string init;  // a Python statement with {} for the tensor
  bool buffer = false;
};

struct Inferred {
  std::vector<TensorType> outputs;
  std::vector<ParameterSpec> parameters = {};
  /// Type of the hidden last output, if the operator has one; its name ends with `hidden_name`.
  std::vector<TensorType> hidden = {};
  const char* hidden_name = "normalized";
};

/// What an error of a stored value does to the gradients.
enum class Tolerance : std::uint8_t {
  exact,   // something divides by it or compares it: no error is sound
  smooth,  // a smooth function of it enters: 8 bits or more
  linear,  // the gradient is linear in it: an unbiased error stays unbiased
};

struct Need {
  enum class Of : std::uint8_t { input, output };
  Of of = Of::input;
  std::size_t index = 0;
  Tolerance tolerance = Tolerance::linear;
  /// Only one bit an element, such as whether it is above zero; exactly.
  bool signs = false;
};

/// The value that a need of a node names.
inline ValueId value_of(const Node& node, const Need& need) {
  return need.of == Need::Of::input ? node.inputs[need.index] : node.outputs[need.index];
}

inline Need need_input(std::size_t i, Tolerance tolerance) {
  return {Need::Of::input, i, tolerance, false};
}
/// Every input of the node.
std::vector<Need> need_inputs(const NodeView& node, Tolerance tolerance);
inline Need need_output(std::size_t j, Tolerance tolerance) {
  return {Need::Of::output, j, tolerance, false};
}
inline Need need_signs(std::size_t j) {
  return {Need::Of::output, j, Tolerance::exact, true};
}

/// What most operators ask of their input.
Result<void> expect_floating(const TensorType& type);

class Operator {
 public:
  Operator() = default;
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;
  virtual ~Operator() = default;

  virtual const Signature& signature() const = 0;
  virtual Result<Inferred> infer(const Arguments& arguments) const = 0;
  /// `split`: the policy stores the hidden output, so backward reads that instead of the input.
  virtual std::vector<Need> needs(const NodeView& node, bool split) const = 0;
  virtual void forward(Site& site) const = 0;
  virtual void backward(Site& site) const = 0;
  /// What `rebuild` reads; empty: the output cannot be rebuilt. Needs of this node's own outputs
  /// and inputs, all of them stored for other reasons or cheap.
  virtual std::vector<Need> rebuild_needs(const NodeView& node, bool split) const;
  virtual void rebuild(Site& site) const;
  /// An expression that packs what backward needs of an output whose signs it needs: one bit an
  /// element, whether it is above zero unless the operator says otherwise.
  virtual Expression packed_signs(const NodeView& node, const Expression& output) const;
  /// `rebuild` for a slice of the batch at a time, if the operator keeps samples apart: an
  /// expression of in_slices() or out_slices() of what rebuild_needs names.
  virtual bool rebuilds_slices(const NodeView& /*node*/) const { return false; }
  virtual Expression rebuilt_slices(Site& site) const;
  /// The forward pass, too, may be rebuilt_slices() of the inputs, inside a later line.
  virtual bool is_lazy(const NodeView& /*node*/) const { return false; }
  /// For lazy operators: an expression of something that takes slices of the output's gradient,
  /// sink[a:b] = g, and passes them on to input_sink() of the inputs.
  virtual Expression gradient_sink(Site& site) const;
  /// In steps that run over slices of the batch, forward reads its input by slices.
  virtual bool reads_slices(const NodeView& /*node*/, const Sizes& /*sizes*/) const {
    return false;
  }
  /// The output shares the memory of input 0 and is made from it for nothing: flatten, permute.
  virtual bool is_view() const { return false; }
  virtual double flops(const NodeView& node, const Sizes& sizes) const;
};

/// The operator of this name, or nullptr.
const Operator* find_operator(std::string_view name);
/// All names, in the order of the list.
std::vector<std::string_view> operator_names();

}  // namespace tensorpress::model
