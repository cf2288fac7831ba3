// What the verbs on models have in common: the model and its sizes; of its training step also the
// optimizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command_line/options/arguments.h"
#include "command_line/reports/report.h"
#include "model/memory/step_memory.h"

namespace tensorpress::cli {

/// A model and its open dimensions: what every verb takes.
struct ModelArguments {
  std::string file;
  std::vector<std::string> sizes;
  std::int64_t batch = 100;

  void declare(Arguments& arguments);
  /// The numbers of --size.
  Result<model::Sizes> given(const model::Graph& graph) const;
  /// A number for every open dimension.
  Result<model::Sizes> numbers(const model::Graph& graph) const;
  /// Samples of a step: the batch. An error if --size says otherwise of it.
  Result<std::int64_t> samples(const model::Graph& graph) const;
};

struct StepArguments : ModelArguments {
  std::string optimizer;
  std::optional<std::int64_t> state;
  std::string statistics;

  void declare(Arguments& arguments);
  /// Of verbs that read them.
  void declare_statistics(Arguments& arguments);
  /// The model, or an error whose text may have several lines.
  Result<model::Graph> graph() const;
  Result<model::StepOptions> options(const model::Graph& graph) const;
};

/// Mistakes in a model's text are shown over several lines, as compilers do.
Result<Report> report_mistake(Error error);

/// "2GiB", "500MB", "1.5 GB", "1048576": whole bytes.
Result<std::int64_t> parse_bytes(const std::string& words, const std::string& option);

}  // namespace tensorpress::cli
