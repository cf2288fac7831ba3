// Data sets and the bound to quantize them with: what `codebook build` and `codebook study` take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "benchmark/studies/codebook_study.h"
#include "command_line/options/tensor_options.h"
#include "files/tensor/codebook_file.h"

namespace tensorpress::cli {

struct DataSets {
  std::vector<std::string> sets;  // fields of one are separated by commas
  std::optional<double> relative;
  std::optional<double> absolute;
  std::vector<double> fill_values;
  RawFormatOptions raw;

  void declare(Arguments& arguments);
  /// Every field of every data set.
  std::vector<std::string> files() const;
  /// "REL 0.0001".
  std::string bound_in_words() const;
  Result<std::vector<benchmark::DeltaDistribution>> count(std::uint32_t symbols) const;
};

/// The files of one data set.
std::vector<std::string> fields_of(const std::string& set);

/// A file, or "default".
Result<files::CodebookFile> open_codebook(const std::string& name);

}  // namespace tensorpress::cli
