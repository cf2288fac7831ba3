// tensorpress reproduce: recomputes what the papers print, beside the printed figures.
#include <cstdio>
#include <memory>

#include "base/errors.h"
#include "benchmark/studies/table4.h"
#include "command_line/help/usage.h"
#include "command_line/inputs/paths.h"
#include "command_line/options/force_option.h"
#include "command_line/options/tensor_options.h"
#include "command_line/reports/json_output.h"
#include "command_line/verb.h"
#include "device/device_files.h"
#include "files/bytes/text_files.h"
#include "reproduction/page.h"
#include "reproduction/reproduction.h"

namespace tensorpress::cli {
namespace {

using report::ReproductionRow;
using report::ReproductionTable;
using report::RowLabel;

struct Options {
  std::string name;
  std::string data;
  ThreadsOption threads;
  std::string page;
  ForceOption force;
  bool markdown = false;
  bool json = false;
};

Json number_or_null(const std::optional<double>& value) {
  return value ? to_json(*value) : Json(nullptr);
}

Json row_to_json(const ReproductionRow& row) {
  return {{"what", row.what},
          {"unit", row.unit},
          {"published", number_or_null(row.published)},
          {"published_to", number_or_null(row.published_to)},
          {"ours", number_or_null(row.ours)},
          {"relative_error", number_or_null(report::relative_error(row))},
          {"label", report::name_of(row.label)},
          {"command", row.command},
          {"note", row.note}};
}

Json table_to_json(const ReproductionTable& table) {
  Json rows = Json::array();
  for (const ReproductionRow& row : table.rows) rows.push_back(row_to_json(row));
  Json errors = Json::object();
  for (const RowLabel label : {RowLabel::measured, RowLabel::calibrated, RowLabel::predicted}) {
    if (const auto summary = report::summarize(table, label)) {
      errors[std::string(report::name_of(label))] = {
          {"rows", summary->rows}, {"largest", summary->largest}, {"mean", summary->mean}};
    }
  }
  return {{"reproduces", table.source},
          {"rows", std::move(rows)},
          {"errors", std::move(errors)},
          {"remarks", table.remarks}};
}

Result<ExitStatus> list(const Options& options) {
  Json all = Json::array();
  for (const report::Reproduction& each : report::reproductions()) {
    if (options.json) {
      all.push_back({{"name", each.name}, {"summary", each.summary}, {"needs", each.needs}});
      continue;
    }
    std::printf("%-10s %s\n", std::string(each.name).c_str(), std::string(each.summary).c_str());
    if (!each.needs.empty()) std::printf("           needs %s\n", std::string(each.needs).c_str());
  }
  if (options.json) print_json(all, stdout);
  return ExitStatus::fine;
}

bool takes_data(const report::Reproduction& reproduction) {
  return reproduction.needs.starts_with("--data");
}

/// Everything that needs nothing from the user.
Result<ExitStatus> run_all(const Options& options) {
  std::vector<ReproductionTable> tables;
  const bool print = !options.json && !options.markdown;
  std::string left_out;
  for (const report::Reproduction& each : report::reproductions()) {
    if (!each.needs.empty() && (options.data.empty() || !takes_data(each))) {
      left_out += text(left_out.empty() ? "" : "; ", each.name, " needs ", each.needs);
      continue;
    }
    RETURN_IF_ERROR(each.run({.data = options.data, .threads = options.threads.threads()},
                             [&](const ReproductionTable& table) {
                               tables.push_back(table);
                               if (print) std::printf("%s\n", report::table_text(table).c_str());
                             }));
  }
  if (!options.page.empty()) {
    RETURN_IF_ERROR(files::write_text(options.page, report::reproductions_html(tables)));
  }
  if (options.json) {
    Json all = Json::array();
    for (const ReproductionTable& table : tables) all.push_back(table_to_json(table));
    print_json({{"tables", std::move(all)}, {"left_out", left_out}}, stdout);
  } else if (options.markdown) {
    std::fputs(report::reproductions_markdown(tables, "tensorpress reproduce --markdown").c_str(),
               stdout);
  } else if (!left_out.empty()) {
    std::printf("Left out: %s\n", left_out.c_str());
  }
  return ExitStatus::fine;
}

/// Before anything runs, which may take long.
Result<void> check_outputs(const CLI::App& app, const Options& options) {
  if (options.name == "list") {
    return refuse_ignored(app, {"--data", "--threads", "--html", "--markdown"},
                          "the list runs nothing");
  }
  if (options.markdown && options.json) {
    return bad_argument("--markdown and --json both say how to print; leave one out");
  }
  if (options.page.empty() || options.data.empty()) {
    return options.force.check({}, options.page, "--html");
  }
  TRY(const auto found, benchmark::find_table4_data(options.data));
  std::vector<std::string> fields;
  for (const auto& data_set : found.data_sets) {
    for (const auto& file : data_set.files) fields.push_back(file.path);
  }
  return options.force.check(fields, options.page, "--html");
}

Result<ExitStatus> run(const CLI::App& app, const Options& options) {
  RETURN_IF_ERROR(check_outputs(app, options));
  if (options.name == "list") return list(options);
  if (options.name.empty()) return run_all(options);
  TRY(const report::Reproduction reproduction, report::find_reproduction(options.name));
  if (!takes_data(reproduction)) {
    RETURN_IF_ERROR(
        refuse_ignored(app, {"--data"}, text(options.name, " is computed and reads no data")));
  }
  std::vector<ReproductionTable> tables;
  const auto show = [&](const ReproductionTable& table) {
    tables.push_back(table);
    if (options.json || options.markdown) return;
    std::printf("%s\n", report::table_text(table).c_str());
    std::fflush(stdout);
  };
  RETURN_IF_ERROR(
      reproduction.run({.data = options.data, .threads = options.threads.threads()}, show));
  if (!options.page.empty()) {
    RETURN_IF_ERROR(files::write_text(options.page, report::reproductions_html(tables)));
  }
  if (options.markdown) {
    const std::string command = text("tensorpress reproduce ", options.name, " --markdown");
    std::fputs(report::reproductions_markdown(tables, command).c_str(), stdout);
  } else if (options.json) {
    Json all = Json::array();
    for (const ReproductionTable& table : tables) all.push_back(table_to_json(table));
    print_json({{"name", reproduction.name}, {"tables", std::move(all)}}, stdout);
  }
  return ExitStatus::fine;
}

Action declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("NAME", options->name, "what to reproduce, or list; without it: everything")
      ->option_text(" ");
  app.add_option("--data", options->data, "folder with the data")->option_text("DIR");
  options->threads.declare(app);
  app.add_option("--html", options->page, "write a page with plots")->option_text("FILE");
  options->force.declare(app);
  app.add_flag("--markdown", options->markdown, "print Markdown, as in docs/reproduction.md");
  app.add_flag("--json", options->json, "print JSON");
  return [&app, options] { return run(app, *options); };
}

}  // namespace

Verb reproduce_verb() {
  return {"reproduce", "recompute what the papers print, beside the printed figures",
          "  tensorpress reproduce\n"
          "  tensorpress reproduce table4 --data sdrbench",
          declare};
}

}  // namespace tensorpress::cli
