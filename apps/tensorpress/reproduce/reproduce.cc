// tensorpress reproduce: recomputes what the papers print, beside the printed figures.
#include <memory>

#include "base/columns.h"
#include "base/errors.h"
#include "benchmark/studies/table4.h"
#include "command_line/inputs/paths.h"
#include "command_line/options/force_option.h"
#include "command_line/options/tensor_options.h"
#include "command_line/reports/json_output.h"
#include "command_line/verb.h"
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
};

Json number_or_null(const std::optional<double>& value) {
  return value ? json_number(*value) : Json(nullptr);
}

Json to_json(const ReproductionRow& row) {
  return {{"what", row.what},
          {"unit", row.unit},
          {"published", number_or_null(row.published)},
          {"published_to", number_or_null(row.published_to)},
          {"ours", number_or_null(row.ours)},
          {"relative_error", number_or_null(report::relative_error(row))},
          {"label", report::name_of(row.basis.label)},
          {"rests_on", row.basis.rests_on},
          {"command", row.command},
          {"note", row.note}};
}

Json to_json(const ReproductionTable& table) {
  Json rows = Json::array();
  for (const ReproductionRow& row : table.rows) rows.push_back(to_json(row));
  Json errors = Json::object();
  for (const RowLabel label : report::kLabels) {
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

Report list_reproductions() {
  Report report;
  Json all = Json::array();
  for (const report::Reproduction& each : report::reproductions()) {
    all.push_back({{"name", each.name}, {"summary", each.summary}, {"needs", each.needs}});
    report.text += text(at_left(each.name, 10), " ", each.summary, "\n");
    if (!each.needs.empty()) report.text += text("           needs ", each.needs, "\n");
  }
  report.json = json_text(all);
  return report;
}

bool takes_data(const report::Reproduction& reproduction) {
  return reproduction.needs.starts_with("--data");
}

/// Runs reproductions and keeps their tables, which a person sees one by one unless they are to be
/// Markdown, of all of them at the end.
class Tables {
 public:
  Tables(const Options& options, Reporter& reporter) : options_(options), reporter_(reporter) {}

  Result<void> add(const report::Reproduction& reproduction) {
    return reproduction.run({.data = options_.data, .threads = options_.threads.threads()},
                            [&](const ReproductionTable& table) {
                              tables_.push_back(table);
                              if (options_.markdown) return;
                              reporter_.show(text(report::table_text(table), "\n"));
                            });
  }
  Result<void> write_page() const {
    if (options_.page.empty()) return {};
    return files::write_text(options_.page, report::reproductions_html(tables_));
  }
  /// `command` is what made them.
  std::string markdown(const std::string& command) const {
    return report::reproductions_markdown(tables_, command);
  }
  std::string counts() const { return report::count_sentence(tables_); }
  Json json() const {
    Json all = Json::array();
    for (const ReproductionTable& table : tables_) all.push_back(to_json(table));
    return all;
  }

 private:
  const Options& options_;
  Reporter& reporter_;
  std::vector<ReproductionTable> tables_;
};

/// Everything that needs nothing from the user.
Result<Report> run_all(const Options& options, Reporter& reporter) {
  Tables tables(options, reporter);
  std::string left_out;
  for (const report::Reproduction& each : report::reproductions()) {
    if (!each.needs.empty() && (options.data.empty() || !takes_data(each))) {
      left_out += text(left_out.empty() ? "" : "; ", each.name, " needs ", each.needs);
      continue;
    }
    RETURN_IF_ERROR(tables.add(each));
  }
  RETURN_IF_ERROR(tables.write_page());
  if (options.markdown) return Report{.text = tables.markdown("tensorpress reproduce --markdown")};
  return Report{.text = text(tables.counts(), "\n",
                             left_out.empty() ? "" : text("Left out: ", left_out, "\n")),
                .json = json_text({{"tables", tables.json()}, {"left_out", left_out}})};
}

/// Before anything runs, which may take long.
Result<void> check_outputs(const Arguments& arguments, const Options& options) {
  if (options.name == "list") {
    return arguments.refuse_ignored({"--data", "--threads", "--html", "--markdown"},
                                    "the list runs nothing");
  }
  if (options.markdown && arguments.given("--json")) {
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

Result<Report> run(const Arguments& arguments, const Options& options, Reporter& reporter) {
  RETURN_IF_ERROR(check_outputs(arguments, options));
  if (options.name == "list") return list_reproductions();
  if (options.name.empty()) return run_all(options, reporter);
  TRY(const report::Reproduction reproduction, report::find_reproduction(options.name));
  if (!takes_data(reproduction)) {
    RETURN_IF_ERROR(
        arguments.refuse_ignored({"--data"}, text(options.name, " is computed and reads no data")));
  }
  Tables tables(options, reporter);
  RETURN_IF_ERROR(tables.add(reproduction));
  RETURN_IF_ERROR(tables.write_page());
  if (options.markdown) {
    return Report{.text =
                      tables.markdown(text("tensorpress reproduce ", options.name, " --markdown"))};
  }
  return Report{.json = json_text({{"name", reproduction.name}, {"tables", tables.json()}})};
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.option("NAME", options->name, "what to reproduce, or list; without it: everything")
      .shown_as(" ");
  arguments.option("--data", options->data, "folder with the data").shown_as("DIR");
  options->threads.declare(arguments);
  arguments.option("--html", options->page, "write a page with plots").shown_as("FILE");
  options->force.declare(arguments);
  arguments.flag("--markdown", options->markdown, "print Markdown, as in docs/reproduction.md");
  return [arguments, options](Reporter& reporter) { return run(arguments, *options, reporter); };
}

}  // namespace

Verb reproduce_verb() {
  return {"reproduce", "recompute what the papers print, beside the printed figures",
          "  tensorpress reproduce\n"
          "  tensorpress reproduce table4 --data sdrbench",
          "print JSON", declare};
}

}  // namespace tensorpress::cli
