// A model's training step as the program that an accelerator would compile: the operators of the
// portable lines of both passes, the types of its values, and its memory by the same liveness that
// `model profile` draws. src/devices judges it without knowing models.
#pragma once

#include <string_view>

#include "devices/programs/program.h"
#include "model/memory/step_memory.h"
#include "model/policy/plan.h"

namespace tensorpress::model {

/// The operators that Python code calls, in its order, by their names in ATen: methods, functions
/// of torch, F and aten, and infix operators outside of brackets.
std::vector<std::string> operators_in(std::string_view code);

/// `batch` is the number that stands for the samples among the sizes of `options`.
Result<devices::Program> device_program(const Graph& graph, const Plan& plan, StepOptions options,
                                        std::int64_t batch);

}  // namespace tensorpress::model
