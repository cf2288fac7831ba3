#include "whole_files.h"

#include "array_files.h"
#include "interruption.h"
#include "json_output.h"
#include "messages.h"
#include "paths.h"
#include "progress_bar.h"
#include "table.h"

namespace tensorpress::cli {

Result<ExitStatus> rewrite_whole_file(RewriteRequest request) {
  RETURN_IF_ERROR(check_output(request.input, request.output));
  RETURN_IF_ERROR(prepare_for(request.input));
  RETURN_IF_ERROR(register_filter());
  note_interruptions();
  ProgressBar bar("compressing");
  const auto show = bar.callback();
  request.options.progress = [&](std::uint64_t done, std::uint64_t total) {
    if (show) show(done, total);
    return check_interruption();
  };
  TRY(const auto variables,
      about(request.input, files::rewrite_file(request.input, request.output, request.options)));
  std::vector<TableRow> rows;
  Json all = Json::array();
  for (const auto& variable : variables) {
    rows.push_back({.variable = variable.path,
                    .type = variable.type,
                    .extents = variable.extents,
                    .bytes_in = variable.bytes_in,
                    .bytes_out = variable.bytes_out,
                    .remark = variable.bound.empty() ? "as it was" : variable.bound});
    all.push_back({{"variable", variable.path},
                   {"bytes_in", variable.bytes_in},
                   {"bytes_out", variable.bytes_out},
                   {"bound", variable.bound.empty() ? Json() : Json(variable.bound)}});
  }
  if (request.json) {
    print_json({{"output", request.output}, {"variables", all}}, stdout);
  } else {
    std::fputs(table_of(rows).c_str(), stdout);
  }
  return ExitStatus::fine;
}

}  // namespace tensorpress::cli
