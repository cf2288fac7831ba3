#include "compress_variables.h"

#include "array_files/array_files.h"
#include "array_files/table.h"
#include "base/errors.h"
#include "command_line/inputs/paths.h"
#include "command_line/inputs/stream_file.h"
#include "command_line/inputs/variable_source.h"
#include "command_line/reports/messages.h"
#include "command_line/reports/stream_report.h"
#include "compression.h"

namespace tensorpress::cli {
namespace {

/// The variables, each with its own bound if it has one.
Result<std::vector<files::ChosenVariable>> chosen_with_bounds(const CompressArguments& options,
                                                              const files::NetcdfFile& file) {
  TRY(const auto rules, options.bound.per_variable());
  if (!rules.empty()) {
    TRY(auto chosen, rules.choose(file, options.variables, true));
    if (chosen.empty()) return bad_argument("no variable has a bound");
    return chosen;
  }
  TRY(const auto variables, chosen_variables(file, options.variables));
  std::vector<files::ChosenVariable> chosen;
  for (const auto* const variable : variables) chosen.push_back({variable, {}});
  return chosen;
}

Result<Compression> compression_of(const CompressArguments& options, files::NetcdfFile& file,
                                   const files::ChosenVariable& chosen, const std::string& output,
                                   Reporter& reporter) {
  const files::NetcdfVariable& variable = *chosen.variable;
  Compression job{
      .name = text(is_pipe(options.input) ? "standard input" : options.input, ": ", variable.path),
      .variable = variable.path,
      .output = output};
  TRY(job.write, options.write_options());
  if (chosen.choice.compress.bound) job.write = chosen.choice.options_beside(job.write);
  TRY(auto opened,
      about(options.input, open_variable(file, variable, options.earlier_loss(), job.write)));
  if (!opened.remark.empty()) reporter.remark(text(job.name, ": ", opened.remark));
  job.source = std::move(opened.source);
  return job;
}

/// Without --var there must be one.
Result<void> check_chosen(const CompressArguments& options,
                          const std::vector<const files::NetcdfVariable*>& chosen) {
  if (!options.variables.empty() || chosen.size() == 1) return {};
  std::string listed;
  for (const auto* variable : chosen) listed += text(listed.empty() ? "" : ", ", variable->path);
  return bad_argument(options.input, " has several variables: ", listed,
                      "; choose with --var NAME, or --var '*' for all of them");
}

/// A stream that was made, and what its elements took in the file.
struct CompressedVariable {
  const files::NetcdfVariable& variable;
  std::string output;
  std::uint64_t stored = 0;
  Compressed done;
};

Json to_json(const CompressArguments& options, const CompressedVariable& made) {
  Json fields = to_json(options, made.done);
  fields["variable"] = made.variable.path;
  fields["output"] = made.output;
  if (made.stored > 0) fields["stored_bytes"] = made.stored;
  return fields;
}

TableRow row_of(const CompressedVariable& made) {
  return {.variable = made.variable.path,
          .type = made.variable.type,
          .extents = made.variable.extents,
          .bytes_in = bytes_in_file(made.done.info),
          .stored = made.stored,
          .bytes_out = made.done.info.bytes_out,
          .remark = text(error_in_words(made.done.info), ", ", made.output)};
}

/// One in a line, several in a table.
std::string to_text(const CompressArguments& options, const std::vector<CompressedVariable>& all) {
  if (all.size() > 1) {
    std::vector<TableRow> rows;
    for (const CompressedVariable& each : all) rows.push_back(row_of(each));
    return table_of(rows);
  }
  const CompressedVariable& only = all.front();
  const std::string line =
      compression_in_one_line(text(options.input, ":", only.variable.path), only.output,
                              only.done.info, only.done.seconds, only.stored);
  return options.verify ? line + only.done.verification.fields.to_text() : line;
}

FileReport report_on(const CompressArguments& options, const std::vector<CompressedVariable>& all) {
  FileReport report{.lines = to_text(options, all)};
  Json fields = Json::array();
  for (const CompressedVariable& each : all) {
    fields.push_back(to_json(options, each));
    report.bytes_in += bytes_in_file(each.done.info);
    report.bytes_out += each.done.info.bytes_out;
    add_remarks(options, text(each.variable.path, ": "), each.output, each.done, report);
  }
  report.fields = all.size() > 1 ? Json{{"variables", std::move(fields)}} : fields.front();
  if (is_pipe(all.front().output)) report.to = Channel::standard_error;
  return report;
}

}  // namespace

Result<FileReport> compress_variables(const CompressArguments& options, const std::string& path,
                                      Reporter& reporter) {
  RETURN_IF_ERROR(prepare_for(path));
  TRY(const auto file, about(options.input, files::NetcdfFile::open(path)));
  TRY(const auto choices, about(options.input, chosen_with_bounds(options, *file)));
  std::vector<const files::NetcdfVariable*> chosen;
  for (const auto& each : choices) chosen.push_back(each.variable);
  RETURN_IF_ERROR(check_chosen(options, chosen));
  TRY(const auto outputs, outputs_for(options.input, options.output, chosen));
  for (const std::string& output : outputs) {
    RETURN_IF_ERROR(options.force.check_data(options.inputs, output));
  }
  if (chosen.size() == 1) RETURN_IF_ERROR(check_stream_name(outputs.front()));
  TRY(const Codec codec, options.codec.codec());
  std::vector<CompressedVariable> all;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    TRY(const std::uint64_t stored, about(options.input, file->stored_bytes(*chosen[i])));
    TRY(Compression job, compression_of(options, *file, choices[i], outputs[i], reporter));
    TRY(Compressed done,
        run_compression(options, choices[i].choice.codec.value_or(codec), std::move(job)));
    all.push_back({*chosen[i], outputs[i], stored, std::move(done)});
  }
  return report_on(options, all);
}

}  // namespace tensorpress::cli
