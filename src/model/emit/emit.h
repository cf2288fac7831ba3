// The emitted file: readable PyTorch with the two passes as straight-line code.
#pragma once

#include <string>

#include "model/lowering/lower.h"

namespace tensorpress::model {

struct EmitOptions {
  LowerOptions lowering;
  /// What the file says it was written by: "tensorpress model emit resnet18.tpm --plan balanced".
  std::string command;
};

/// The source of a module that defines Step (and train_step, if portable).
Result<std::string> emit(const Graph& graph, const Policy& policy, const EmitOptions& options);

/// A script that compares the gradients of the emitted file with numerical ones in double
/// precision.
std::string emit_check(const Graph& graph, const std::string& step_module);

}  // namespace tensorpress::model
