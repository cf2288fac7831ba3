// Where an operator emits its lines: one node in the forward or the backward pass. Lines are
// Python. Variables are found again in later lines by their names, so an operator writes plain text
// and the rest (how long each variable lives, what is deleted when, what the peak is) follows:
//
//   void forward(Site& s) const {
//     s.define(s.out(), text("F.gelu(", s.in(), ")"));
//   }
//   void backward(Site& s) const {
//     s.give(0, text("aten.gelu_backward(", s.grad(), ", ", s.in(), ")"));
//   }
//
// In backward, in() and out() are what was stored: the value itself, or its decoded copy. Asking
// for one that needs() did not name is a bug (the line would refer to a variable that does not
// exist).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/graph/operator.h"

namespace tensorpress::model {

class Lowering;

/// A variable to define: its name, bytes it takes, or the variable whose memory it shares.
struct Definition {
  std::string name;
  TensorType type;
  std::string shares = {};              // a variable: no memory of its own
  std::vector<std::string> holds = {};  // variables whose memory lives as long as it does
};

class Site {
 public:
  /// rebuild: outputs are made again in the backward pass, inputs are what is stored.
  enum class Mode : std::uint8_t { forward, backward, rebuild };
  Site(Lowering& lowering, NodeId node, Mode mode)
      : lowering_(lowering), node_(node), mode_(mode) {}

  NodeView view() const;
  const Attributes& attributes() const { return view().attributes(); }
  const Sizes& sizes() const;
  /// The step runs on a CPU with AVX-512.
  bool avx512() const;
  /// The step runs on CPUs only, with the package; portable ones run wherever PyTorch does.
  bool native() const;

  // --- names ---
  std::string in(std::size_t i = 0);
  /// All inputs, after commas.
  std::string ins();
  std::string out(std::size_t j = 0);
  /// P["path"] of a parameter of this node, B.get("path") of a buffer; "None" if there is none.
  std::string parameter(std::string_view local) const;
  /// A fresh variable of this node: "layer1_0_bn1_mean".
  std::string local(std::string_view suffix) const;
  /// An expression: the seed of this node's random numbers, the same in both passes.
  std::string seed();

  // --- lines ---
  /// `name = expression`. `scratch`: bytes that the expression takes besides, while it runs.
  void define(const Definition& variable, const std::string& expression, std::int64_t scratch = 0);
  /// Output j of this node.
  void define_output(std::size_t j, const std::string& expression, std::int64_t scratch = 0);
  /// Output j in the memory of another variable.
  void define_output_in(std::size_t j, const std::string& shares, const std::string& expression,
                        std::int64_t scratch = 0);
  /// `a, b, c = expression`; "_" stands for what is None or not wanted.
  void define_all(const std::vector<Definition>& variables, const std::string& expression,
                  std::int64_t scratch = 0);
  /// Output j in the memory of another variable, of which it shows some elements several times, so
  /// that nobody may write to it.
  void define_output_repeated(std::size_t j, const std::string& shares,
                              const std::string& expression);
  void line(const std::string& code, std::int64_t scratch = 0);

  // --- forward ---
  /// Nobody needs the memory of input i after this line, so that it may be overwritten.
  bool may_overwrite(std::size_t i = 0) const;
  /// The plan wants exact compact forms: seeds for masks, small indices.
  bool compact() const;
  /// Some activation is stored with an error.
  bool lossy() const;
  /// The step is lossy anyway and the package packs: operators may work on slices of the batch,
  /// which can round differently.
  bool sliced() const;
  /// in() is computed slice by slice in this node's own line.
  bool in_is_lazy(std::size_t i = 0) const;
  /// A variable that only such an input reads and that has the type of the output, so that each
  /// slice of the output may take the place of one that was read; or empty.
  std::string place_for_output() const;
  /// Bytes of input 0, or of the largest of the values that are put side by side in it.
  std::int64_t largest_piece_bytes() const;
  /// Keeps a small variable for backward, exactly, under NODE:suffix.
  void save(std::string_view suffix, const std::string& variable);
  /// The same for an expression that makes something of `packed_bytes`.
  void save_packed(std::string_view suffix, const std::string& expression,
                   std::int64_t packed_bytes);
  /// The plan stores the hidden output. Define it as output `hidden()`, call store_hidden(), and
  /// then its memory may be overwritten if that returned true.
  bool split() const;
  std::size_t hidden() const;
  bool store_hidden();

  // --- backward ---
  /// A variable or number kept by save().
  std::string saved(std::string_view suffix) const;
  /// The plan stores only signs for this output: use signs() where autograd uses the values.
  bool only_signs(std::size_t j = 0) const;
  std::string signs(std::size_t j = 0) const;
  /// Output 0 again, from input 0; and the gradient of input 0, from grad(): times `slope` where
  /// the sign of output 0 is not set. In the same memory if that may be overwritten.
  void define_by_signs(double slope = 0);
  void give_by_signs(double slope = 0);
  /// A variable of which [a:b] decodes samples a to b of what in() or out() is, so that it never
  /// exists whole; empty if it is not stored in a way that samples can be taken of.
  std::string in_slices(std::size_t i = 0);
  std::string out_slices(std::size_t j = 0);
  /// Bits a value of the stored hidden output if it is quantized and has slices, else empty; and
  /// where it is stored. For functions that unpack it themselves, slice by slice.
  std::string hidden_bits();
  std::string stored_hidden() const;
  std::string grad(std::size_t j = 0);
  /// No other gradient shares the memory of grad(j), so that it may be overwritten.
  bool may_overwrite_grad(std::size_t j = 0);
  /// The decoded copy of a value is ours alone, so that it may be overwritten.
  bool may_overwrite_in(std::size_t i = 0) const;
  bool may_overwrite_out(std::size_t j = 0) const;
  /// For functions that take of input 0 only its shape: whether grad() has as many elements at
  /// least, and its first elements in that shape.
  bool fits_in_grad() const;
  std::string shaped_as_in();
  bool wants(std::size_t i = 0) const;
  bool wants_parameter(std::string_view local) const;
  /// The gradient of input i, or a further contribution to it.
  void give(std::size_t i, const std::string& expression, std::int64_t scratch = 0);
  /// The same, in the memory of a variable that holds the gradient of something else (views, adds).
  void give_shared(std::size_t i, const std::string& shares, const std::string& expression,
                   std::int64_t scratch = 0);
  /// The same for one that shows elements of grad() several times: nobody may write to it.
  void give_repeated(std::size_t i, const std::string& expression);
  /// Where slices of the gradient of input i go, past lazy nodes to gradients of their inputs, so
  /// that it never exists whole; empty if input i is no such value. Call given_by_slices() after
  /// the line that fills it.
  std::string input_sink(std::size_t i);
  void given_by_slices();
  /// The gradient of input i that is there already, for an expression that adds to it in place and
  /// calls added() then; empty if there is none, or somebody shares it.
  std::string gradient_to_add_to(std::size_t i);
  void added(std::size_t i);
  /// The gradient of a parameter, or a further contribution to it.
  void give_parameter(std::string_view local, const std::string& expression,
                      std::int64_t scratch = 0);
  /// Names for define_all when one expression makes several gradients; hand each to give() or
  /// give_parameter() afterwards.
  std::string grad_name_of(std::size_t i);
  std::string grad_name_of_parameter(std::string_view local);

 private:
  /// The call of mask_by_signs_, and the bytes it takes: bits become numbers piece by piece.
  std::string by_signs(const std::string& x, double slope) const;
  std::int64_t by_signs_scratch(double slope) const;

  Lowering& lowering_;
  NodeId node_;
  Mode mode_;
};

}  // namespace tensorpress::model
