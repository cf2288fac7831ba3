// A model's training step as the program that an accelerator would compile: the operators of the
// portable lines of both passes, the types of its values, and its memory by the same liveness that
// `model profile` draws. src/devices judges it without knowing models.
#pragma once

#include "devices/programs/program.h"
#include "model/memory/step_memory.h"
#include "model/policy/policy.h"

namespace tensorpress::model {

/// `batch` is the number that stands for the samples among the sizes of `options`.
Result<devices::Program> device_program(const Graph& graph, const Policy& policy,
                                        StepOptions options, std::int64_t batch);

}  // namespace tensorpress::model
