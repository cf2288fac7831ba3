// Memory over a training step, by the node that runs: what `model profile` draws and `model plan`
// limits. Positions are the nodes forward, the start of the backward pass, and the nodes backward;
// a position's bytes are those of its line with the most.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/lowering/lower.h"

namespace tensorpress::model {

/// Values that an optimizer keeps for each parameter: 1 for SGD with momentum, 2 for Adam.
struct StepOptions {
  LowerOptions lowering;
  int state_per_parameter = 1;
};

struct StepPosition {
  std::string name;  // "forward of layer1.conv1"
  NodeId node = kNone;
  std::int64_t parameters = 0;  // and buffers
  std::int64_t state = 0;
  std::int64_t inputs = 0;
  std::int64_t weight_gradients = 0;
  std::int64_t saved = 0;
  std::int64_t activations = 0;  // that forward is working on, or backward has unpacked
  std::int64_t gradients = 0;    // of activations
  std::int64_t scratch = 0;

  std::int64_t total() const {
    return parameters + state + inputs + weight_gradients + saved + activations + gradients +
           scratch;
  }
};

struct StepMemory {
  std::vector<StepPosition> positions;  // 2 * nodes + 1
  std::size_t first_backward = 0;
  std::size_t peak = 0;          // position
  std::int64_t saved_bytes = 0;  // waiting between the passes, inputs not counted

  std::int64_t peak_bytes() const { return positions[peak].total(); }
};

StepMemory step_memory(const Graph& graph, const Program& program, const StepOptions& options);

}  // namespace tensorpress::model
