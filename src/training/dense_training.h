// Trains the static tables of codec dense (src/codecs/dense/lorenzo/tables.cc and
// residuals/tables.cc) on files, as the codec would see them: chunk by chunk, with special
// values taken out.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "files/tensor/tensor_files.h"
#include "tensorpress/result.h"

namespace tensorpress::benchmark {

struct DenseTrainingOptions {
  std::vector<double> relative_bounds = {1e-2, 1e-3, 1e-4};
  std::vector<double> fill_values = {};
  std::optional<files::RawFormat> raw = {};  // of raw files whose names do not say it
  int rounds = 3;  // the Lorenzo tables choose axes by the tables of the round before
};

/// C++ source: the whole of lorenzo/tables.cc, and the list of shapes in residuals/tables.cc.
struct DenseTables {
  std::string lorenzo;
  std::string interpolation;
};

Result<DenseTables> train_dense(std::span<const std::string> files,
                                const DenseTrainingOptions& options);

}  // namespace tensorpress::benchmark
