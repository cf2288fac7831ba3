// The emitted file: readable PyTorch with the two passes as straight-line code.
#pragma once

#include <string>

#include "model/lower.h"

namespace tensorpress::model {

struct EmitOptions {
  LowerOptions lowering;
  /// What stands in the first line: "tensorpress model emit resnet18.tpm --plan balanced".
  std::string command;
};

/// The source of a module that defines Step (and train_step, if portable).
Result<std::string> emit(const Graph& graph, const Plan& plan, const EmitOptions& options);

/// A script that compares the gradients of the emitted file with numerical ones in double
/// precision.
std::string emit_check(const Graph& graph, const std::string& step_module);

/// Parameters, gradients and what moves, at the line where it is most; without optimizer state.
struct PeakPrediction {
  std::int64_t parameters = 0;
  std::int64_t stored = 0;  // held between the passes, without the inputs
  std::int64_t peak = 0;    // of everything but the parameters
  std::size_t line = 0;     // forward lines first
  std::string code;         // of that line
};
PeakPrediction predict_peak(const Graph& graph, const Program& program);

}  // namespace tensorpress::model
