// Reads the graph.json that tensorpress.torch.write_graph writes from torch.export: the real
// program, operator by operator, with the shapes that it will be compiled for.
//
//   {"format": "tensorpress-graph", "version": 1, "name": "ChopCompressor",
//    "tensors": [{"name": "x", "shape": [100, 3, 32, 32], "type": "float32", "role": "input"},
//    ...], "operators": [{"name": "matmul", "inputs": [0, 2], "outputs": [3]}, ...]}
//
// An extent that is known only when it runs is null.
#pragma once

#include <string_view>

#include "devices/programs/program.h"
#include "tensorpress/result.h"

namespace tensorpress::devices {

/// `file` is for messages.
Result<Program> parse_graph(std::string_view json, const std::string& file);

}  // namespace tensorpress::devices
