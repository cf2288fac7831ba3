// Table IV of the CereSZ-II paper, recomputed: the smallest, largest and mean compression ratio
// over the fields of each data set of SDRBench (sdrbench.github.io) at REL 1e-2, 1e-3 and 1e-4, for
// ceresz2, ceresz and the size that cuSZp's format would take. What the paper prints stands beside
// what is measured, and neither is mistaken for the other.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/tensor/tensor_files.h"
#include "tensorpress/bound.h"
#include "tensorpress/result.h"

namespace tensorpress::benchmark {

inline constexpr std::array<double, 3> kTable4Bounds = {1e-2, 1e-3, 1e-4};  // REL
/// In the order of the paper's rows.
inline constexpr std::array<std::string_view, 3> kTable4Codecs = {"ceresz2", "ceresz",
                                                                  "cuszp-size"};

struct RatioRange {
  double min = 0;
  double max = 0;
  double avg = 0;
};

struct Table4DataSet {
  std::string_view name;    // as in the paper
  std::string_view folder;  // a folder whose name has this in it, in any case, holds the data set
  Shape shape;              // of each field, if its name says nothing else; f32
  std::size_t fields = 0;   // in the paper
  std::array<std::array<RatioRange, 3>, 3> published;  // by codec, by bound
};

std::span<const Table4DataSet> table4_data_sets();

/// The fields of one folder.
struct FoundDataSet {
  std::string name;                          // the paper's, or the folder's
  const Table4DataSet* published = nullptr;  // absent for folders that the paper does not know
  struct File {
    std::string path;
    files::RawFormat format;
  };
  std::vector<File> files = {};
  std::vector<std::string> skipped = {};  // a sentence each: which file, and why
};

struct FoundData {
  std::vector<FoundDataSet> data_sets;
  std::vector<std::string> missing;  // the paper's data sets that have no folder
};

/// Looks into the folders of `directory`: files that end in .f32, .dat or .bin with the data set's
/// size, and files with their shape in the name.
Result<FoundData> find_table4_data(const std::string& directory);

/// One cell of the table, and how it came about.
struct Table4Row {
  std::string data_set;
  double bound = 0;  // REL
  std::string codec;
  std::size_t fields = 0;  // measured
  std::optional<RatioRange> measured = {};
  std::optional<RatioRange> published = {};
  std::string cannot = {};  // why nothing, or not every field, was measured
};

/// All rows of a data set: bounds, and codecs within each. `threads` work on a file.
Result<std::vector<Table4Row>> measure_table4(const FoundDataSet& data_set, std::size_t threads);

}  // namespace tensorpress::benchmark
