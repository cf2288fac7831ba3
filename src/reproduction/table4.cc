// Table IV of the CereSZ-II paper among the reproductions: ratios measured on the user's copy of
// SDRBench, a table a data set.
#include "benchmark/studies/table4.h"
#include "base/errors.h"
#include "reproduction/reproduction.h"

namespace tensorpress::report {
namespace {

using benchmark::RatioRange;
using benchmark::Table4Row;

void add_rows(const Table4Row& row, std::vector<ReproductionRow>& rows) {
  struct Statistic {
    const char* name;
    double RatioRange::*value;
  };
  constexpr Statistic kStatistics[] = {
      {"min", &RatioRange::min}, {"max", &RatioRange::max}, {"avg", &RatioRange::avg}};
  for (const Statistic& statistic : kStatistics) {
    ReproductionRow& out = rows.emplace_back();
    out.what = text(row.data_set, ' ', Bound::relative(row.bound).to_string(), ' ', row.codec, ' ',
                    statistic.name);
    if (row.published) out.published = row.published.value().*statistic.value;
    if (row.measured) out.ours = row.measured.value().*statistic.value;
    out.note = row.cannot;
  }
}

Result<void> run(const ReproductionRequest& request, const ShowTable& show) {
  if (request.data.empty()) {
    return bad_argument(
        "table4 needs `data` DIR with a folder for each data set of SDRBench (CESM-ATM, HACC, "
        "Hurricane, NYX, QMCPack, RTM, SCALE), or any of them");
  }
  TRY(const auto found, benchmark::find_table4_data(request.data));
  std::string missing;
  for (const std::string& name : found.missing) missing += text(missing.empty() ? "" : ", ", name);
  if (found.data_sets.empty()) {
    return bad_argument(request.data, " has no folder with fields; missing are ", missing,
                        " (sdrbench.github.io has them)");
  }
  for (const auto& data_set : found.data_sets) {
    ReproductionTable table{
        .source = text("CereSZ-II, Table IV: ratios over the fields of ", data_set.name),
        .rows = {},
        .remarks = {}};
    for (const std::string& sentence : data_set.skipped) {
      table.remarks.push_back(text("Left out: ", sentence));
    }
    TRY(const auto measured, benchmark::measure_table4(data_set, request.threads));
    for (const Table4Row& row : measured) add_rows(row, table.rows);
    if (!measured.empty()) {
      table.remarks.push_back(text("Measured on ", measured.front().fields, " fields."));
    }
    if (&data_set == &found.data_sets.back() && !missing.empty()) {
      table.remarks.push_back(text("Not in ", request.data, ": ", missing));
    }
    show(table);
  }
  return {};
}

}  // namespace

Reproduction table4_reproduction() {
  return {"table4", "CereSZ-II, Table IV: ratios of ceresz2, ceresz and cuSZp's format",
          "--data DIR with folders of SDRBench", run};
}

}  // namespace tensorpress::report
