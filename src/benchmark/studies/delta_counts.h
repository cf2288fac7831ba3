// How often each difference of quanta occurs in tensor files: what codebooks are built from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codecs/ceresz2/codebook.h"
#include "files/tensor/tensor_files.h"
#include "tensorpress/result.h"

namespace tensorpress::benchmark {

struct DeltaOptions {
  double bound = 1e-4;
  bool relative = true;  // to the value range of each file; else absolute
  std::vector<double> fill_values = {};
  std::uint32_t symbols = ceresz2::kDefaultSymbols;
  std::optional<files::RawFormat> raw = {};  // of files that are not .npy
};

/// One data set: the fields of one origin, counted together.
struct DeltaDistribution {
  std::string name;
  ceresz2::DeltaCounts counts;
  std::uint64_t values = 0;
  unsigned element_bits = 32;
};

/// `files` are fields in f32 or f64, each of one type with the others. NaN, infinities and fill
/// values take the value before them and do not count in the range. Reads a chunk at a time.
Result<DeltaDistribution> count_deltas_of_files(const std::string& name,
                                                const std::vector<std::string>& files,
                                                const DeltaOptions& options);

}  // namespace tensorpress::benchmark
