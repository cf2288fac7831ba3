#include "verify_files.h"

#include <algorithm>
#include <array>
#include <map>

#include "array_files/array_files.h"
#include "base/columns.h"
#include "base/errors.h"
#include "command_line/interruption.h"
#include "command_line/reports/messages.h"
#include "command_line/reports/progress_bar.h"
#include "files/netcdf/file.h"
#include "files/rewriting/file_comparison.h"
#include "metrics/metrics.h"
#include "metrics/verdict.h"

namespace tensorpress::cli {
namespace {

using files::ComparedVariable;
using metrics::ErrorStatistics;

/// A variable, what was measured of it and what is wrong with it.
struct Judged {
  const ComparedVariable& variable;
  ErrorStatistics measured;
  std::vector<std::string> wrong;
};

Judged judge(const ComparedVariable& variable, const ErrorStatistics& measured) {
  Judged judged{variable, measured, variable.differences};
  if (variable.promise.lossy) {
    auto broken = metrics::what_is_wrong(measured, variable.promise.bound);
    if (!broken.empty()) judged.wrong.push_back(std::move(broken));
  }
  return judged;
}

bool is_pointwise(const ComparedVariable& variable) {
  const auto& bound = variable.promise.bound;
  return bound && bound->kind() == Bound::Kind::pointwise_relative;
}

/// "rel 0.0001 (abs 0.0297)": what was asked for, and what it means for every value.
std::string bound_in_words(const ComparedVariable& variable) {
  if (!variable.promise.lossy) return "exact";
  const auto& bound = variable.promise.bound;
  if (!bound) return "none";
  const std::string kept = bound->to_string();
  return variable.asked.empty() || variable.asked == kept ? kept
                                                          : text(variable.asked, " (", kept, ")");
}

std::string error_in_words(const Judged& judged) {
  if (!judged.variable.promise.lossy) return judged.wrong.empty() ? "0" : "-";
  const double error = is_pointwise(judged.variable) ? judged.measured.max_pointwise_error
                                                     : judged.measured.max_abs_error;
  return rounded(error, 4);
}

double ratio_of(const ComparedVariable& variable) {
  return variable.bytes_out == 0
             ? 0
             : static_cast<double>(variable.bytes_in) / static_cast<double>(variable.bytes_out);
}

Json to_json(const Judged& judged) {
  const ComparedVariable& variable = judged.variable;
  const auto& bound = variable.promise.bound;
  const bool lossy = variable.promise.lossy;
  Json fields;
  fields["variable"] = variable.path;
  fields["type"] = variable.type;
  fields["shape"] = variable.extents;
  fields["bound"] = lossy && bound ? Json(bound->to_string()) : Json();
  if (!variable.asked.empty()) fields["asked"] = variable.asked;
  fields["exact"] = !lossy;
  fields["max_abs_error"] = lossy                  ? Json(judged.measured.max_abs_error)
                            : judged.wrong.empty() ? Json(0)
                                                   : Json();
  if (is_pointwise(variable)) fields["max_pointwise_error"] = judged.measured.max_pointwise_error;
  if (lossy) fields["psnr_db"] = judged.measured.psnr_db();
  fields["bytes_in"] = variable.bytes_in;
  fields["bytes_out"] = variable.bytes_out;
  fields["ratio"] = ratio_of(variable) > 0 ? Json(ratio_of(variable)) : Json();
  fields["ok"] = judged.wrong.empty();
  if (!judged.wrong.empty()) fields["reasons"] = judged.wrong;
  return fields;
}

using Cells = std::array<std::string, 7>;

Cells cells_of(const Judged& judged) {
  const ComparedVariable& variable = judged.variable;
  std::string shape;
  for (const auto extent : variable.extents) shape += text(shape.empty() ? "" : "x", extent);
  const double ratio = ratio_of(variable);
  return {variable.path,
          variable.type,
          shape.empty() ? "scalar" : shape,
          bound_in_words(variable),
          error_in_words(judged),
          ratio > 0 ? rounded(ratio, 3) : "-",
          judged.wrong.empty() ? "ok" : "NOT OK"};
}

std::string table_of(const std::vector<Judged>& all) {
  std::vector<Cells> lines = {{"variable", "type", "shape", "bound", "largest error", "ratio", ""}};
  for (const Judged& judged : all) lines.push_back(cells_of(judged));
  std::array<std::size_t, std::tuple_size_v<Cells>> widths{};
  for (const Cells& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string out;
  for (const Cells& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const bool number = i == 4 || i == 5;
      row += (number ? at_right(line[i], widths[i]) : at_left(line[i], widths[i])) + "  ";
    }
    row.erase(row.find_last_not_of(' ') + 1);
    // Names come from files, which may want to play with the terminal.
    std::ranges::replace_if(
        row, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }, ' ');
    out += row + "\n";
  }
  return out;
}

FileVerification summary_of(const files::FileComparison& comparison,
                            const std::vector<Judged>& all) {
  FileVerification result;
  Json rows = Json::array();
  for (const Judged& judged : all) {
    rows.push_back(to_json(judged));
    for (const std::string& each : judged.wrong) {
      result.reasons.push_back(text(judged.variable.path, ": ", each));
    }
  }
  for (const std::string& each : comparison.differences) result.reasons.push_back(each);
  result.fields["ok"] = result.ok();
  result.fields["variables"] = std::move(rows);
  result.fields["differences"] = comparison.differences;
  result.table = table_of(all);
  return result;
}

}  // namespace

bool are_array_files(const std::string& original, const std::string& copy) {
  return files::array_format_of(original) != files::ArrayFormat::other &&
         files::array_format_of(copy) != files::ArrayFormat::other;
}

Result<FileVerification> verify_files(const std::string& original, const std::string& copy,
                                      std::vector<std::string> variables) {
  RETURN_IF_ERROR(register_filter());
  const auto all = std::ranges::find(variables, "*");
  if (all != variables.end()) variables.clear();
  std::map<std::string, ErrorStatistics> measured;
  ProgressBar bar("verifying");
  const auto show = bar.callback();
  files::FileComparisonOptions options{.variables = std::move(variables)};
  options.measure = [&](const ComparedVariable& variable, const TensorView& first,
                        const TensorView& second) -> Result<void> {
    TRY(const auto part, metrics::compare(first, second, variable.promise.fill_values));
    measured[variable.path].merge(part);
    return {};
  };
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    if (show) show(done, total);
    return check_interruption();
  };
  TRY(const auto comparison, about(copy, files::compare_files(original, copy, options)));
  std::vector<Judged> judged;
  for (const ComparedVariable& variable : comparison.variables) {
    judged.push_back(judge(variable, measured[variable.path]));
  }
  return summary_of(comparison, judged);
}

void add_breaches(const FileVerification& verification, const std::string& copy,
                  FileReport& report) {
  for (const std::string& reason : verification.reasons) {
    report.remarks.push_back(text(copy, ": ", reason));
  }
  if (!verification.ok()) report.status = ExitStatus::check_failed;
}

FileReport report_of(const FileVerification& verification, const std::string& copy) {
  FileReport report{.lines = verification.table, .fields = verification.fields};
  add_breaches(verification, copy, report);
  return report;
}

}  // namespace tensorpress::cli
