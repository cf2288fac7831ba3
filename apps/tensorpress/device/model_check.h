// tensorpress device check MODEL.tpm: a model's training step instead of a codec.
#pragma once

#include <string>

#include "devices/check.h"
#include "model/model_arguments.h"
#include "model/policy/policy.h"

namespace tensorpress::cli {

struct ModelCheckOptions {
  StepArguments step;
  std::string plan;  // empty: off

  void declare(CLI::App& app);
};

/// Checks the step on one device after another.
class ModelCheck {
 public:
  static Result<ModelCheck> open(const ModelCheckOptions& options, const std::string& file);

  /// With a way out if it does not fit: the largest batch, or a plan that fits one.
  Result<devices::CheckOutcome> check(const devices::Device& device,
                                      const std::string& stack) const;

 private:
  Result<devices::CheckOutcome> check(const devices::Device& device, const std::string& stack,
                                      const model::Policy& plan, std::int64_t batch) const;
  Result<std::string> way_out(const devices::Device& device, const std::string& stack) const;

  StepArguments step_;
  model::Graph graph_;
  model::Policy plan_;
};

}  // namespace tensorpress::cli
