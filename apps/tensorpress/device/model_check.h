// tensorpress device check MODEL.tpm: a model's training step instead of a codec.
#pragma once

#include <string>

#include "model/device/step_check.h"
#include "model/model_arguments.h"

namespace tensorpress::cli {

struct ModelCheckOptions {
  StepArguments step;
  std::string plan;  // empty: off

  void declare(Arguments& arguments);
  /// The step of the model in `file`.
  Result<model::ResizableStep> open(const std::string& file) const;
};

}  // namespace tensorpress::cli
