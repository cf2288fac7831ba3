// tensorpress codebook study: what static codebooks cost.
#include <algorithm>
#include <memory>

#include "base/errors.h"
#include "command_line/options/force_option.h"
#include "command_line/reports/json_output.h"
#include "command_line/verb.h"
#include "data_sets.h"
#include "files/bytes/text_files.h"
#include "report/pages/codebook_page.h"

namespace tensorpress::cli {
namespace {

struct Options {
  DataSets data;
  benchmark::StudyOptions study;
  std::string codebook = "default";
  std::string page;
  ForceOption force;
};

Json to_json(const benchmark::CodebookStudy& study) {
  Json sets = Json::array();
  for (const auto& set : study.sets) {
    Json sizes = Json::array();
    for (const auto& size : set.sizes) {
      sizes.push_back({{"symbols", size.symbols},
                       {"bits_per_value", size.bits_per_value},
                       {"ratio", size.ratio}});
    }
    sets.push_back({{"name", set.name},
                    {"values", set.values},
                    {"zero_blocks", set.zero_blocks},
                    {"escapes", set.escapes},
                    {"mean", set.fit.mean},
                    {"sigma", set.fit.sigma},
                    {"r_squared", set.fit.r_squared},
                    {"static_ratio", set.static_ratio},
                    {"dynamic_ratio", set.dynamic_ratio},
                    {"sizes", sizes}});
  }
  Json draws = Json::array();
  for (const auto& draw : study.draws) {
    Json trained_on = Json::array();
    for (const std::size_t i : draw.trained_on) trained_on.push_back(study.sets[i].name);
    Json held = Json::array();
    for (const auto& each : draw.held_out) {
      held.push_back({{"name", study.sets[each.set].name},
                      {"static_ratio", each.static_ratio},
                      {"dynamic_ratio", each.dynamic_ratio}});
    }
    draws.push_back({{"trained_on", trained_on},
                     {"mean_loss", draw.mean_loss},
                     {"worst_loss", draw.worst_loss},
                     {"held_out", held}});
  }
  return {{"sets", sets}, {"draws", draws}};
}

Result<Report> run(const Options& options) {
  std::vector<std::string> inputs = options.data.files();
  inputs.push_back(options.codebook);
  RETURN_IF_ERROR(options.force.check(inputs, options.page, "--html"));
  TRY(const auto sets, options.data.count(std::ranges::max(options.study.symbols)));
  TRY(const auto codebook, open_codebook(options.codebook));
  benchmark::StudyOptions study_options = options.study;
  study_options.static_book = &codebook.book;
  TRY(const auto study, benchmark::study_codebooks(sets, study_options));
  const std::string bound = options.data.bound_in_words();
  Report report{.text = report::codebook_study_text(study, bound)};
  if (!options.page.empty()) {
    RETURN_IF_ERROR(files::write_text(options.page, report::codebook_study_html(study, bound)));
    report.text += text("The figures are in ", options.page, "\n");
  }
  Json fields = to_json(study);
  fields["bound"] = bound;
  report.json = json_text(fields);
  return report;
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  options->data.declare(arguments);
  arguments.option("--draws", options->study.draws,
                   "random choices of three data sets to train on");
  arguments.option("--seed", options->study.seed, "of the random choices");
  arguments.option("--codebook", options->codebook,
                   "the static codebook to compare with each data set's own (default)");
  arguments.option("--html", options->page, "write a page with the figures");
  options->force.declare(arguments);
  return [options](Reporter&) { return run(*options); };
}

}  // namespace

Verb codebook_study_verb() {
  return {.name = "study",
          .summary = "what static codebooks cost (paper, Figures 6 and 7, Table I)",
          .json = kOneObject,
          .declare = declare};
}

}  // namespace tensorpress::cli
