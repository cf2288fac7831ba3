// What the papers print, recomputed: a registry of reproductions, each of which makes tables of
// rows with the published number, ours, the command that prints ours, and a label that says how
// ours came about. Adding one is a file `<name>_reproduction.cc` in this folder that defines
// `Reproduction <name>_reproduction();` and one line in the list of reproduction.cc:
//
//   Result<void> run(const ReproductionRequest& request, const ShowTable& show) {
//     show({.source = "Some paper, Table 3",
//           .rows = {{.what = "IPU, decompression at CF 2", .unit = "GB/s", .published = 21,
//                     .ours = number(ipu), .basis = basis_of("some: IPU, ...", ipu, number),
//                     .command = "tensorpress device time ipu ..."}}});
//     return {};
//   }
//   Reproduction some_reproduction() { return {"some", "one line", "", run}; }
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reproduction/label.h"
#include "tensorpress/result.h"

namespace tensorpress::report {

struct ReproductionRow {
  std::string what;
  std::string unit = {};  // of both numbers
  std::optional<double> published = {};
  std::optional<double> published_to = {};  // a range from `published` on; infinite: "over ..."
  std::optional<double> ours = {};          // absent: the note says why
  Basis basis = {};                         // measured, unless a model made it
  std::string command = {};                 // prints `ours`; empty: this reproduction alone does
  std::string note = {};
};

/// (ours - published) / published, if there are both; of the nearer end of a range, 0 inside it.
std::optional<double> relative_error(const ReproductionRow& row);

/// "21", "2.50-3.80", "over 16", "up to 3", "-".
std::string published_text(const ReproductionRow& row);

struct ReproductionTable {
  std::string source;  // "CereSZ-II, Table II"
  std::vector<ReproductionRow> rows;
  std::vector<std::string> remarks = {};  // a sentence each
};

/// The errors of all rows with one label.
struct ErrorSummary {
  std::size_t rows = 0;
  double largest = 0;  // of the absolute relative errors
  double mean = 0;
};
/// Nothing when no row has that label and both numbers.
std::optional<ErrorSummary> summarize(const ReproductionTable& table, RowLabel label);

/// "Error of the 12 measured: at most 3.10 %, 1.02 % on average" for each label that has any.
std::vector<std::string> error_sentences(const ReproductionTable& table);

/// "91 rows: 12 predicted, 50 inferred, ..."
std::string count_sentence(const std::vector<ReproductionTable>& tables);

struct ReproductionRequest {
  std::string data = {};  // folder that the user named; empty: none
  std::size_t threads = 1;
};
/// Called with each table as soon as it is there.
using ShowTable = std::function<void(const ReproductionTable& table)>;

struct Reproduction {
  std::string_view name;
  std::string_view summary;
  std::string_view needs;  // what the user must give; empty: nothing
  Result<void> (*run)(const ReproductionRequest& request, const ShowTable& show);
};

std::vector<Reproduction> reproductions();
/// The error lists what there is.
Result<Reproduction> find_reproduction(std::string_view name);

/// Columns for a terminal, the remarks, and a line of errors for each label that has any.
std::string table_text(const ReproductionTable& table);

}  // namespace tensorpress::report
