#include "whole_files.h"

#include "array_files.h"
#include "base/errors.h"
#include "command_line/inputs/history_line.h"
#include "command_line/interruption.h"
#include "command_line/reports/json_output.h"
#include "command_line/reports/messages.h"
#include "command_line/reports/progress_bar.h"
#include "table.h"
#include "verify/verify_files.h"

namespace tensorpress::cli {
namespace {

using files::RewrittenVariable;
using files::Treatment;

std::string in_words(const RewrittenVariable& variable) {
  switch (variable.treatment) {
    case Treatment::as_it_was:
      return "as it was";
    case Treatment::compressed:
      return variable.bound;
    case Treatment::exact:
      return "exact, shuffle and deflate";
    case Treatment::kept_already:
      return "as it was, keeps the bound already";
    case Treatment::not_smaller:
      return "as it was, would not get smaller";
    case Treatment::restored:
      return variable.filters;
  }
  return {};
}

/// One word for programs.
const char* name_of(Treatment treatment) {
  switch (treatment) {
    case Treatment::as_it_was:
      return "copied";
    case Treatment::compressed:
      return "compressed";
    case Treatment::exact:
      return "exact";
    case Treatment::kept_already:
      return "kept_already";
    case Treatment::not_smaller:
      return "not_smaller";
    case Treatment::restored:
      return "restored";
  }
  return "";
}

Json to_json(const RewrittenVariable& variable) {
  Json fields = {{"variable", variable.path},
                 {"treatment", name_of(variable.treatment)},
                 {"bytes_in", variable.bytes_in},
                 {"stored_before", variable.stored_before},
                 {"bytes_out", variable.bytes_out},
                 {"bound", variable.bound.empty() ? Json() : Json(variable.bound)}};
  if (!variable.filters.empty()) fields["filters"] = variable.filters;
  return fields;
}

FileReport report_of(const files::RewriteReport& rewritten, const std::string& output) {
  std::vector<TableRow> rows;
  Json all = Json::array();
  FileReport report;
  for (const RewrittenVariable& variable : rewritten.variables) {
    rows.push_back({.variable = variable.path,
                    .type = variable.type,
                    .extents = variable.extents,
                    .bytes_in = variable.bytes_in,
                    .stored = variable.stored_before,
                    .bytes_out = variable.bytes_out,
                    .remark = in_words(variable)});
    all.push_back(to_json(variable));
    report.bytes_in += variable.bytes_in;
    report.bytes_out += variable.bytes_out;
  }
  report.lines = table_of(rows);
  report.fields = {{"output", output}, {"copied", rewritten.copied}, {"variables", all}};
  return report;
}

/// What is unlike what was asked for.
void add_remarks(const files::RewriteReport& rewritten, const std::string& input,
                 FileReport& report) {
  std::string larger;
  for (const RewrittenVariable& variable : rewritten.variables) {
    if (variable.treatment != Treatment::not_smaller) continue;
    larger += text(larger.empty() ? "" : ", ", variable.path);
  }
  if (rewritten.copied) {
    report.remarks.push_back(
        text(input, ": nothing in it gets smaller without loss, so the output is a copy"));
  } else if (!larger.empty()) {
    report.remarks.push_back(text(input, ": these variables would take more space compressed, so ",
                                  "they are copied exactly: ", larger));
  }
}

files::RewriteStep show_on(const Progress& show) {
  return [&show](std::uint64_t done, std::uint64_t total) {
    if (show) show(done, total);
    return check_interruption();
  };
}

}  // namespace

Result<FileReport> rewrite_whole_file(RewriteRequest request) {
  RETURN_IF_ERROR(prepare_for(request.input));
  RETURN_IF_ERROR(register_filter());
  TRY(request.options.history_line, history_line());
  note_interruptions();
  ProgressBar bar("compressing");
  const auto show = bar.callback();
  request.options.progress = show_on(show);
  TRY(const auto rewritten,
      about(request.input, files::rewrite_file(request.input, request.output, request.options)));
  FileReport report = report_of(rewritten, request.output);
  add_remarks(rewritten, request.input, report);
  if (request.verify) {
    TRY(const auto verification, verify_files(request.input, request.output, {}));
    report.lines += "\n" + verification.table;
    report.fields["verify"] = verification.fields;
    add_breaches(verification, request.output, report);
  }
  return report;
}

Result<FileReport> restore_whole_file(const RestoreRequest& request) {
  if (!files::is_array_file_name(request.output)) {
    return bad_argument("'", request.input,
                        "' is a NetCDF or HDF5 file, which decompress writes again without our "
                        "filter; name the output .nc or .h5 with -o");
  }
  RETURN_IF_ERROR(prepare_for(request.input));
  files::RestoreOptions options{.threads = request.threads};
  TRY(options.history_line, history_line());
  note_interruptions();
  ProgressBar bar("decompressing");
  const auto show = bar.callback();
  options.progress = show_on(show);
  TRY(const auto restored,
      about(request.input, files::restore_file(request.input, request.output, options)));
  return report_of(restored, request.output);
}

}  // namespace tensorpress::cli
