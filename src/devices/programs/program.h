// What a device would compile: operators over tensors of known shapes, in the order in which they
// run. It is built from a codec's parameters (chop_program.h, gcn_program.h) or read from a file
// that the Python package writes from torch.export (graph_file.h), or made from a model
// text (src/model); check.h judges it either way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tensorpress::devices {

enum class TensorRole : std::uint8_t {
  input,     // arrives with every call
  constant,  // known when the program is compiled: matrices, weights, indices
  value,     // made by an operator
  output,    // made by an operator and returned
};

struct ProgramTensor {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::string type = "float32";
  TensorRole role = TensorRole::value;
  bool dynamic = false;  // an extent is known only when it runs; `shape` has that of an example
};

struct ProgramOperator {
  std::string name;
  std::vector<std::size_t> inputs = {};  // places in Program::tensors
  std::vector<std::size_t> outputs = {};
};

/// Memory of a training step, counted by who made the program: its values live over two passes.
struct StepBytes {
  double weights = 0;   // with gradients and the optimizer's state
  double saved = 0;     // waiting between the passes
  double peak = 0;      // of everything
  double streamed = 0;  // weights, and one sample of everything else at once
};

struct Program {
  std::string name;
  std::vector<ProgramTensor> tensors = {};
  std::vector<ProgramOperator> operators = {};
  std::optional<StepBytes> step = {};

  std::size_t add(ProgramTensor tensor);
  /// The place of the one tensor that the operator makes.
  std::size_t apply(std::string operator_name, std::vector<std::size_t> inputs,
                    ProgramTensor result);
};

double bytes_of_type(std::string_view type);
/// As doubles: shapes come from files and may be absurd.
double element_count(const ProgramTensor& tensor);
double bytes_of(const ProgramTensor& tensor);
/// Of the last two axes; of all elements if there are fewer.
double plane_bytes(const ProgramTensor& tensor);
double plane_count(const ProgramTensor& tensor);

/// The most bytes alive at a time: inputs until their last use, constants and outputs always.
/// Operators that only reinterpret make no copy.
double peak_bytes(const Program& program);
/// All constants, and one sample of everything else at once: the pipeline of a dataflow machine.
/// A tensor of three or more axes has its samples along the first.
double streamed_bytes(const Program& program);
/// Products of planes: a matmul of 300 planes has 300.
double plane_products(const Program& program);
/// The largest plane among the operands and results of products of planes; 0 without any.
double largest_product_plane(const Program& program, std::string* name);

}  // namespace tensorpress::devices
