#include "whole_files.h"

#include "array_files.h"
#include "base/errors.h"
#include "history_line.h"
#include "interruption.h"
#include "json_output.h"
#include "messages.h"
#include "paths.h"
#include "progress_bar.h"
#include "table.h"
#include "verify_files.h"

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

void print_report(const files::RewriteReport& report, const std::string& output,
                  const FileVerification* verification, bool json) {
  std::vector<TableRow> rows;
  Json all = Json::array();
  for (const RewrittenVariable& variable : report.variables) {
    rows.push_back({.variable = variable.path,
                    .type = variable.type,
                    .extents = variable.extents,
                    .bytes_in = variable.bytes_in,
                    .stored = variable.stored_before,
                    .bytes_out = variable.bytes_out,
                    .remark = in_words(variable)});
    all.push_back(to_json(variable));
  }
  if (json) {
    Json fields = {{"output", output}, {"copied", report.copied}, {"variables", all}};
    if (verification != nullptr) fields["verify"] = verification->fields;
    print_json(fields, stdout);
  } else {
    std::fputs(table_of(rows).c_str(), stdout);
    if (verification != nullptr) std::fputs(("\n" + verification->table).c_str(), stdout);
  }
}

/// What is unlike what was asked for.
void print_remarks(const files::RewriteReport& report, const std::string& input) {
  std::string larger;
  for (const RewrittenVariable& variable : report.variables) {
    if (variable.treatment != Treatment::not_smaller) continue;
    larger += text(larger.empty() ? "" : ", ", variable.path);
  }
  if (report.copied) {
    print_message(
        text(input, ": nothing in it gets smaller without loss, so the output is a copy"));
  } else if (!larger.empty()) {
    print_message(text(input, ": compressed, these would take more room than they do now, so they ",
                       "are copied exactly: ", larger));
  }
}

files::RewriteStep show_on(const stream::Progress& show) {
  return [&show](std::uint64_t done, std::uint64_t total) {
    if (show) show(done, total);
    return check_interruption();
  };
}

}  // namespace

Result<ExitStatus> rewrite_whole_file(RewriteRequest request) {
  RETURN_IF_ERROR(check_output(request.input, request.output));
  RETURN_IF_ERROR(prepare_for(request.input));
  RETURN_IF_ERROR(register_filter());
  TRY(request.options.history_line, history_line());
  note_interruptions();
  ProgressBar bar("compressing");
  const auto show = bar.callback();
  request.options.progress = show_on(show);
  TRY(const auto report,
      about(request.input, files::rewrite_file(request.input, request.output, request.options)));
  FileVerification verification;
  if (request.verify) {
    TRY(verification, verify_files(request.input, request.output, {}));
  }
  print_report(report, request.output, request.verify ? &verification : nullptr, request.json);
  print_remarks(report, request.input);
  return told_breaches(verification, request.output);
}

Result<ExitStatus> restore_whole_file(const RestoreRequest& request) {
  if (!files::is_array_file_name(request.output)) {
    return bad_argument("'", request.input,
                        "' is a NetCDF or HDF5 file, which decompress writes again without our "
                        "filter; name the output .nc or .h5 with -o");
  }
  RETURN_IF_ERROR(check_output(request.input, request.output));
  RETURN_IF_ERROR(prepare_for(request.input));
  files::RestoreOptions options{.threads = request.threads};
  TRY(options.history_line, history_line());
  note_interruptions();
  ProgressBar bar("decompressing");
  const auto show = bar.callback();
  options.progress = show_on(show);
  TRY(const auto report,
      about(request.input, files::restore_file(request.input, request.output, options)));
  print_report(report, request.output, nullptr, request.json);
  return ExitStatus::fine;
}

}  // namespace tensorpress::cli
