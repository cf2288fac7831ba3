#include "devices/programs/gcn_program.h"

#include <utility>

#include "base/errors.h"

namespace tensorpress::devices {

std::optional<Adjacency> adjacency_named(std::string_view name) {
  constexpr std::pair<std::string_view, Adjacency> kNames[] = {{"dense", Adjacency::linear},
                                                               {"linear", Adjacency::linear},
                                                               {"matmul", Adjacency::matmul},
                                                               {"csr", Adjacency::csr}};
  for (const auto& [each, value] : kNames) {
    if (each == name) return value;
  }
  return std::nullopt;
}

Result<void> check_task(const GcnTask& task) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  for (const auto& [name, value] :
       {std::pair("`nodes`", task.nodes), std::pair("`edges_per_node`", task.edges_per_node),
        std::pair("`features`", task.features), std::pair("`hidden`", task.hidden),
        std::pair("`classes`", task.classes)}) {
    if (value < 1 || value > kMost) return bad_argument(name, " ", value, " is not in 1..2^40");
  }
  return {};
}

Program gcn_program(const GcnTask& task) {
  Program program;
  program.name = text("graph convolutional network, ", task.nodes, " nodes, adjacency ",
                      task.adjacency == Adjacency::csr ? "CSR" : "dense");
  const bool csr = task.adjacency == Adjacency::csr;
  std::vector<std::size_t> adjacency;
  if (csr) {
    const std::uint64_t edges = task.nodes * task.edges_per_node;
    const auto add = [&](const char* name, std::uint64_t extent, const char* type) {
      adjacency.push_back(program.add(
          {.name = name, .shape = {extent}, .type = type, .role = TensorRole::constant}));
    };
    add("row_starts", task.nodes + 1, "int64");
    add("columns", edges, "int32");
    add("weights", edges, "float32");
  } else {
    adjacency.push_back(program.add(
        {.name = "adjacency",
         .shape = {task.nodes, task.nodes},
         .role = task.adjacency == Adjacency::linear ? TensorRole::constant : TensorRole::input}));
  }
  std::size_t x = program.add(
      {.name = "features", .shape = {task.nodes, task.features}, .role = TensorRole::input});
  const std::uint64_t widths[] = {task.features, task.hidden, task.classes};
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const std::size_t weights = program.add({.name = text("weights_", layer + 1),
                                             .shape = {widths[layer], widths[layer + 1]},
                                             .role = TensorRole::constant});
    const std::vector<std::uint64_t> shape = {task.nodes, widths[layer + 1]};
    x = program.apply("mm", {x, weights}, {.name = text("features_", layer + 1), .shape = shape});
    std::vector<std::size_t> inputs = adjacency;
    inputs.push_back(x);
    x = program.apply(csr ? "sparse_mm" : "mm", inputs,
                      {.name = text("gathered_", layer + 1), .shape = shape});
    if (layer == 0) x = program.apply("relu", {x}, {.name = "relu", .shape = shape});
  }
  program.tensors[x].role = TensorRole::output;
  return program;
}

}  // namespace tensorpress::devices
