// Where an operator writes its lines: one node in the forward or the backward pass.
//
//   void forward(Site& s) const {
//     s.define_output(0, functional("gelu", s.in()));
//   }
//   void backward(Site& s) const {
//     s.give(0, aten("gelu_backward", s.grad(), s.in()));
//   }
//
// How long each variable lives, whose memory it is in, what is deleted when and what the peak is
// follows from the expressions. In backward, in() and out() are what was stored: the value itself,
// or its decoded copy. Asking for one that needs() did not name is a bug (the line would refer to a
// variable that does not exist).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/graph/operator.h"
#include "model/lowering/line_builder.h"

namespace tensorpress::model {

struct Parts;

class Site {
 public:
  /// rebuild: outputs are made again in the backward pass, inputs are what is stored.
  enum class Mode : std::uint8_t { forward, backward, rebuild };
  Site(Parts& parts, NodeId node, Mode mode) : parts_(parts), node_(node), mode_(mode) {}

  // --- the node and the step ---
  NodeView view() const;
  const Attributes& attributes() const { return view().attributes(); }
  /// What holds for all nodes: compact(), sliced() and others of setting.h.
  const Setting& step() const;
  const Sizes& sizes() const;
  /// The policy stores the hidden output, which is the last one. Define it, call store_hidden(),
  /// and then its memory may be overwritten if that returned true.
  bool split() const;
  std::size_t hidden() const;
  bool store_hidden();

  // --- operands ---
  Expression in(std::size_t i = 0);
  /// A list of all inputs.
  Expression ins();
  Expression out(std::size_t j = 0);
  /// A parameter or buffer of this node; None if there is none.
  Expression parameter(std::string_view local) const;
  /// A fresh variable of this node: "layer1_0_bn1_mean".
  Local local(std::string_view suffix) const;
  /// The seed of this node's random numbers, the same in both passes.
  Expression seed();
  /// What save() kept.
  Stored saved(std::string_view suffix) const;
  /// The bits that stand for output j where only_signs().
  Stored signs(std::size_t j = 0) const;
  bool only_signs(std::size_t j = 0) const;

  // --- lines ---
  /// `name = value`. `scratch`: bytes that the value takes besides, while it is computed.
  void define(const Definition& variable, const Expression& value, std::int64_t scratch = 0);
  /// `a, b, c = value`
  void define_all(const std::vector<Definition>& variables, const Expression& value,
                  std::int64_t scratch = 0);
  void define_output(std::size_t j, const Expression& value, std::int64_t scratch = 0);
  void add_to(const Expression& target, const Expression& value);
  void run(const Expression& value);
  /// Keeps something for backward, exactly, under NODE:suffix: a variable, or a value of so many
  /// bytes.
  void save(std::string_view suffix, const Expression& value, std::int64_t bytes = 8);

  // --- memory that may be overwritten ---
  /// No later line needs the memory of input i.
  bool may_overwrite(std::size_t i = 0) const;
  /// The decoded copy of an output is read once more only.
  bool may_overwrite_out(std::size_t j = 0) const;
  bool may_overwrite_grad(std::size_t j = 0);

  // --- gradients ---
  Expression grad(std::size_t j = 0);
  bool wants(std::size_t i = 0) const;
  bool wants_parameter(std::string_view local) const;
  /// The gradient of input i or of a parameter, or a further contribution to it.
  void give(std::size_t i, const Expression& value, std::int64_t scratch = 0);
  void give_parameter(std::string_view local, const Expression& value, std::int64_t scratch = 0);
  /// Names for define_all when one call makes several gradients; hand each to give() or
  /// give_parameter() afterwards.
  Local grad_name_of(std::size_t i);
  Local grad_name_of_parameter(std::string_view local);
  /// The gradient of input i that is there already, for a line that adds to it in place and calls
  /// added() then; none if there is none, or other variables share its memory.
  std::optional<Local> gradient_to_add_to(std::size_t i);
  void added(std::size_t i);

  // --- slices of the batch ---
  /// Something of which [a:b] is samples a to b of input i, so that it never exists whole; none if
  /// it is not stored in a way that samples can be taken of.
  std::optional<Expression> in_slices(std::size_t i = 0);
  std::optional<Expression> out_slices(std::size_t j = 0);
  /// in() is computed slice by slice in this node's own line.
  bool in_is_lazy(std::size_t i = 0) const;
  /// A variable that only such an input reads and that has the type of the output, so that each
  /// slice of the output may take the place of one that was read.
  std::optional<Local> place_for_output() const;
  /// Bytes of input 0, or of the largest of the values that are put side by side in it.
  std::int64_t largest_piece_bytes() const;
  /// Bits a value of the stored hidden output if it is quantized and has slices; for functions that
  /// unpack it themselves, slice by slice.
  std::optional<Expression> hidden_bits();
  /// Where slices of the gradient of input i go, past lazy nodes to gradients of their inputs, so
  /// that it never exists whole; none if input i is no such value. Call sinks_filled() after the
  /// line that fills it.
  std::optional<Expression> input_sink(std::size_t i);
  void sinks_filled();

 private:
  ValueId input_id(std::size_t i) const { return view().node.inputs[i]; }
  ValueId output_id(std::size_t j) const { return view().node.outputs[j]; }

  Parts& parts_;
  NodeId node_;
  Mode mode_;
};

}  // namespace tensorpress::model
