#include "model_arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "base/cpu.h"
#include "base/errors.h"
#include "model/text/elaborate.h"

namespace tensorpress::cli {

void ModelArguments::declare(Arguments& arguments) {
  arguments.option("MODEL", file, "the model's text, a file ending in .tpm").required();
  arguments.option("--batch", batch, "the batch size N that bytes are given for (100)");
  arguments.option("--size", sizes, "a number for another open dimension, as E=5000; repeatable");
}

Result<model::Sizes> ModelArguments::given(const model::Graph& graph) const {
  if (batch < 1 || batch > (1 << 30)) {
    return bad_argument("--batch is ", batch, "; it must be 1 to ", 1 << 30);
  }
  constexpr std::int64_t kMostSize = std::int64_t{1} << 40;
  model::Sizes named;
  for (const std::string& each : sizes) {
    const std::size_t at = each.find('=');
    std::int64_t size = 0;
    const char* end = each.data() + each.size();
    if (at == std::string::npos || at == 0 ||
        std::from_chars(each.data() + at + 1, end, size).ptr != end) {
      return bad_argument("--size is '", each, "'; it is NAME=NUMBER");
    }
    if (size < 1 || size > kMostSize) {
      return bad_argument("--size is '", each, "'; its number must be from 1 to ", kMostSize);
    }
    if (std::ranges::find(graph.symbols, each.substr(0, at)) == graph.symbols.end()) {
      return bad_argument("--size names '", each.substr(0, at), "', which model '", graph.name,
                          "' does not have");
    }
    named[each.substr(0, at)] = size;
  }
  return named;
}

Result<model::Sizes> ModelArguments::numbers(const model::Graph& graph) const {
  TRY(const model::Sizes named, given(graph));
  return model::complete_sizes(graph, named, batch);
}

Result<std::int64_t> ModelArguments::samples(const model::Graph& graph) const {
  TRY(const model::Sizes all, numbers(graph));
  const std::string symbol = model::batch_symbol(graph);
  if (symbol.empty()) return batch;
  const std::int64_t given = all.at(symbol);
  if (given != batch) {
    return bad_argument("--size ", symbol, "=", given, " is the batch, whose samples are counted, ",
                        "but --batch is ", batch, "; give --batch ", given);
  }
  return batch;
}

void StepArguments::declare(Arguments& arguments) {
  ModelArguments::declare(arguments);
  arguments
      .option("--optimizer", optimizer,
              "sgd or adam: as in emit, the update stands in the backward pass")
      .one_of(std::vector<std::string>{"sgd", "adam"});
  arguments
      .option("--state", state,
              "values that the optimizer keeps for each parameter (1; 2 for adam)")
      .between(0, 16);
}

void StepArguments::declare_statistics(Arguments& arguments) {
  arguments.option("--statistics", statistics,
                   "a JSON file of what tensorpress.torch.measure_activations found");
}

Result<model::Graph> StepArguments::graph() const {
  return model::read_model(file);
}

Result<model::StepOptions> StepArguments::options(const model::Graph& graph) const {
  model::StepOptions options;
  TRY(options.lowering.sizes, numbers(graph));
  options.lowering.optimizer = optimizer;
  TRY(const Isa isa, active_isa());
  options.lowering.avx512 = isa == Isa::avx512;
  options.state_per_parameter = static_cast<int>(state.value_or(optimizer == "adam" ? 2 : 1));
  return options;
}

Result<Report> report_mistake(Error error) {
  if (error.message.find('\n') == std::string::npos) return error;
  return Report{.text = text(error.message, "\n"),
                .status = ExitStatus::bad_input,
                .to = Channel::standard_error};
}

Result<std::int64_t> parse_bytes(const std::string& words, const std::string& option) {
  static const std::map<std::string, double> kUnits = {{"", 1},
                                                       {"B", 1},
                                                       {"kB", 1e3},
                                                       {"KB", 1e3},
                                                       {"MB", 1e6},
                                                       {"GB", 1e9},
                                                       {"TB", 1e12},
                                                       {"KiB", 1024},
                                                       {"MiB", 1048576},
                                                       {"GiB", 1ULL << 30},
                                                       {"TiB", 1ULL << 40}};
  double amount = 0;
  const char* const end = words.data() + words.size();
  const auto [after, problem] = std::from_chars(words.data(), end, amount);
  std::string unit(after, end);
  unit.erase(0, unit.find_first_not_of(' '));
  const auto found = kUnits.find(unit);
  if (problem != std::errc() || found == kUnits.end() || !(amount > 0) ||
      amount * found->second >= 0x1p50) {
    return bad_argument(option, " is '", words,
                        "'; it is an amount of memory such as 2GiB, 500MB or 1048576");
  }
  return static_cast<std::int64_t>(std::floor(amount * found->second));
}

}  // namespace tensorpress::cli
