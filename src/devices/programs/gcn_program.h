// A two-layer graph convolutional network over a whole graph, as the poster ran it on a CS-2:
// adjacency times features times weights, twice. The adjacency is a dense matrix (PyTorch there has
// no sparse tensors) as an input of matmul or as the weights of a linear layer, or it is CSR.
#pragma once

#include <optional>
#include <string_view>

#include "devices/programs/program.h"
#include "tensorpress/result.h"

namespace tensorpress::devices {

enum class Adjacency : std::uint8_t {
  matmul,  // dense, an input like the features
  linear,  // dense, weights that stay on the chip
  csr,     // compressed sparse rows: 4-byte column and value of each edge, row starts
};

/// "matmul", "linear" (also as "dense") or "csr"; absent for other words.
std::optional<Adjacency> adjacency_named(std::string_view name);

struct GcnTask {
  std::uint64_t nodes = 100'000;
  std::uint64_t edges_per_node = 50;
  std::uint64_t features = 128;
  std::uint64_t hidden = 16;
  std::uint64_t classes = 40;
  Adjacency adjacency = Adjacency::linear;
};

Result<void> check_task(const GcnTask& task);
Program gcn_program(const GcnTask& task);

}  // namespace tensorpress::devices
