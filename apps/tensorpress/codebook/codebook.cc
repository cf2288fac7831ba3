// tensorpress codebook: build static codebooks from data, look at them, study what they cost.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/errors.h"
#include "benchmark/studies/codebook_study.h"
#include "command_line/help/usage.h"
#include "command_line/inputs/paths.h"
#include "command_line/options/force_option.h"
#include "command_line/options/tensor_options.h"
#include "command_line/reports/json_output.h"
#include "command_line/verb.h"
#include "files/bytes/text_files.h"
#include "files/tensor/codebook_file.h"
#include "report/pages/codebook_page.h"
#include "training/dense_training.h"

namespace tensorpress::cli {
namespace {

using ceresz2::Codebook;

/// Data sets and the bound to quantize them with.
struct DataOptions {
  std::vector<std::string> sets;
  std::optional<double> relative;
  std::optional<double> absolute;
  std::vector<double> fill_values;
  RawFormatOptions raw;

  void declare(CLI::App& app) {
    app.add_option("FILES", sets,
                   "data sets (.npy, or raw with --shape and --dtype); fields of one data set are "
                   "separated by commas")
        ->required();
    app.add_option("--rel", relative, "bound, as a share of each field's value range");
    app.add_option("--abs", absolute, "bound, absolute");
    app.add_option("--fill", fill_values, "a value that stands for no data; repeatable");
    raw.declare(app);
  }
  /// Every field of every data set.
  std::vector<std::string> files() const {
    std::vector<std::string> all;
    for (const std::string& set : sets) {
      for (std::string& field : CLI::detail::split(set, ',')) all.push_back(std::move(field));
    }
    return all;
  }
  std::string bound_text() const {
    return absolute ? text("ABS ", *absolute) : text("REL ", relative.value_or(1e-4));
  }

  Result<std::vector<benchmark::DeltaDistribution>> count(std::uint32_t symbols) const {
    if (relative && absolute) return bad_argument("--rel and --abs exclude each other");
    benchmark::DeltaOptions options;
    options.relative = !absolute.has_value();
    options.bound = absolute.value_or(relative.value_or(1e-4));
    options.fill_values = fill_values;
    options.symbols = symbols;
    TRY(options.raw, raw.format());
    std::vector<benchmark::DeltaDistribution> distributions;
    for (const std::string& set : sets) {
      const std::vector<std::string> fields = CLI::detail::split(set, ',');
      std::string name = std::filesystem::path(fields.front()).stem().string();
      if (fields.size() > 1) name += text(" and ", fields.size() - 1, " more");
      TRY(auto counted, benchmark::count_deltas_of_files(name, fields, options));
      distributions.push_back(std::move(counted));
    }
    return distributions;
  }
};

struct BuildOptions {
  DataOptions data;
  std::string codec = "ceresz2";
  std::uint32_t symbols = ceresz2::kDefaultSymbols;
  std::string output;
  ForceOption force;
  bool text = false;
  const CLI::App* app = nullptr;  // knows the options that were given
};

/// The command again, as the file will tell it.
std::string command_of(const BuildOptions& options) {
  std::string command = "tensorpress codebook build --codec ceresz2";
  for (const std::string& set : options.data.sets) {
    command += ' ';
    for (const std::string& field : CLI::detail::split(set, ',')) {
      if (command.back() != ' ') command += ',';
      command += std::filesystem::path(field).filename().string();
    }
  }
  command += options.data.absolute ? text(" --abs ", *options.data.absolute)
                                   : text(" --rel ", options.data.relative.value_or(1e-4));
  for (const double fill : options.data.fill_values) command += text(" --fill ", fill);
  if (options.symbols != ceresz2::kDefaultSymbols) command += text(" --symbols ", options.symbols);
  return command;
}

Result<ExitStatus> build_ceresz2(const BuildOptions& options) {
  // Before the data is read, which may take long.
  if (options.symbols < ceresz2::kFewestSymbols ||
      options.symbols > kernels::huffman::kMaxSymbols) {
    return bad_argument("--symbols is ", options.symbols, "; it must be ", ceresz2::kFewestSymbols,
                        " to ", kernels::huffman::kMaxSymbols);
  }
  if (options.output.empty() && !options.text) {
    return bad_argument("say where the codebook goes: -o FILE.json");
  }
  if (!options.output.empty() && options.text) {
    return bad_argument("--text prints the codebook and -o writes it to a file; leave one out");
  }
  RETURN_IF_ERROR(options.force.check(options.data.files(), options.output));
  TRY(const auto sets, options.data.count(options.symbols));
  std::vector<const benchmark::DeltaDistribution*> all;
  for (const auto& set : sets) all.push_back(&set);
  TRY(const Codebook book, benchmark::mean_codebook(all, options.symbols));
  if (options.text) {
    std::printf("%s\n", book.to_text().c_str());
    return ExitStatus::fine;
  }
  RETURN_IF_ERROR(files::write_codebook(options.output, book, command_of(options)));
  return ExitStatus::fine;
}

/// The static tables of dense are source code, because streams do not carry them.
Result<ExitStatus> build_dense(const BuildOptions& options) {
  RETURN_IF_ERROR(refuse_ignored(*options.app, {"--symbols", "--text"},
                                 "it is of --codec ceresz2, and dense has tables of its own"));
  if (options.output.empty()) {
    return bad_argument("say where the tables go: -o FOLDER, for lorenzo_tables.cc and ",
                        "interpolation_shapes.txt");
  }
  if (options.data.absolute) return bad_argument("dense learns from relative bounds; use --rel");
  benchmark::DenseTrainingOptions training;
  if (options.data.relative) training.relative_bounds = {*options.data.relative};
  training.fill_values = options.data.fill_values;
  TRY(training.raw, options.data.raw.format());
  const std::filesystem::path folder = options.output;
  const std::string lorenzo = (folder / "lorenzo_tables.cc").string();
  const std::string interpolation = (folder / "interpolation_shapes.txt").string();
  for (const std::string& path : {lorenzo, interpolation}) {
    RETURN_IF_ERROR(options.force.check(options.data.files(), path));
  }
  TRY(const auto tables, benchmark::train_dense(options.data.files(), training));
  RETURN_IF_ERROR(files::write_text(lorenzo, tables.lorenzo));
  RETURN_IF_ERROR(files::write_text(interpolation, tables.interpolation));
  return ExitStatus::fine;
}

struct CodecBuilder {
  const char* codec;
  Result<ExitStatus> (*build)(const BuildOptions& options);
};
constexpr CodecBuilder kBuilders[] = {{"ceresz2", build_ceresz2}, {"dense", build_dense}};

Result<ExitStatus> run_build(const BuildOptions& options) {
  std::string known;
  for (const CodecBuilder& builder : kBuilders) {
    if (options.codec == builder.codec) return builder.build(options);
    known += text(known.empty() ? "" : ", ", builder.codec);
  }
  return bad_argument("no codebook can be built for --codec ", options.codec,
                      "; codecs with codebooks: ", known);
}

struct ShowOptions {
  std::string file;
  bool json = false;
};

Result<files::CodebookFile> open_codebook(const std::string& name) {
  if (name != "default") return files::read_codebook(name);
  TRY(Codebook book, Codebook::from_text(ceresz2::kDefaultCodebookText));
  return files::CodebookFile{std::move(book), "ships with the library"};
}

/// "-3...-1": symbols whose codes have one length, in runs.
std::string runs_of(const Codebook& book, unsigned length) {
  std::string runs;
  const auto lengths = book.lengths();
  for (std::size_t i = 0; i < lengths.size();) {
    std::size_t end = i;
    while (end < lengths.size() && lengths[end] == length) ++end;
    if (end == i) {
      ++i;
      continue;
    }
    const auto first = static_cast<std::int64_t>(i) + book.first_symbol();
    const auto last = static_cast<std::int64_t>(end) - 1 + book.first_symbol();
    runs += first == last ? text(" ", first) : text(" ", first, "...", last);
    i = end;
  }
  return runs;
}

Result<ExitStatus> run_show(const ShowOptions& options) {
  TRY(const auto file, open_codebook(options.file));
  const Codebook& book = file.book;
  std::vector<double> own;
  std::vector<std::size_t> of_length(kernels::huffman::kMaxCodeBits + 1);
  for (const std::uint8_t length : book.lengths()) {
    own.push_back(1.0 / static_cast<double>(std::uint64_t{1} << length));
    ++of_length[length];
  }
  const double expected = 1 + book.expected_bits(own);
  if (options.json) {
    print_json({{"codec", "ceresz2"},
                {"symbols", book.symbols()},
                {"first_symbol", book.first_symbol()},
                {"expected_bits", to_json(expected)},
                {"lengths", book.lengths()},
                {"text", book.to_text()},
                {"made_with", file.made_with}},
               stdout);
    return ExitStatus::fine;
  }
  std::printf("codec          ceresz2\nsymbols        %u, from %lld\nmade with      %s\n",
              book.symbols(), static_cast<long long>(book.first_symbol()), file.made_with.c_str());
  std::printf("expected bits  %.3f per value with its flag, for the distribution it suits best\n\n",
              expected);
  std::puts("bits  symbols  which");
  for (unsigned length = 1; length < of_length.size(); ++length) {
    if (of_length[length] == 0) continue;
    std::string runs = runs_of(book, length);
    constexpr std::size_t kWidth = 80;
    if (runs.size() > kWidth) runs = runs.substr(0, runs.rfind(' ', kWidth)) + " ...";
    std::printf("%4u %8zu %s\n", length, of_length[length], runs.c_str());
  }
  return ExitStatus::fine;
}

struct StudyOptions {
  DataOptions data;
  benchmark::StudyOptions study;
  std::string codebook = "default";
  std::string page;
  ForceOption force;
  bool json = false;
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

Result<ExitStatus> run_study(const StudyOptions& options) {
  std::vector<std::string> inputs = options.data.files();
  inputs.push_back(options.codebook);
  RETURN_IF_ERROR(options.force.check(inputs, options.page, "--html"));
  TRY(const auto sets, options.data.count(std::ranges::max(options.study.symbols)));
  TRY(const auto codebook, open_codebook(options.codebook));
  benchmark::StudyOptions study_options = options.study;
  study_options.static_book = &codebook.book;
  TRY(const auto study, benchmark::study_codebooks(sets, study_options));
  const std::string bound = options.data.bound_text();
  if (!options.page.empty()) {
    RETURN_IF_ERROR(files::write_text(options.page, report::codebook_study_html(study, bound)));
  }
  if (options.json) {
    Json result = to_json(study);
    result["bound"] = bound;
    print_json(result, stdout);
    return ExitStatus::fine;
  }
  std::fputs(report::codebook_study_text(study, bound).c_str(), stdout);
  if (!options.page.empty()) std::printf("The figures are in %s\n", options.page.c_str());
  return ExitStatus::fine;
}

Action declare(CLI::App& app) {
  app.require_subcommand(1);
  auto build = std::make_shared<BuildOptions>();
  CLI::App* const build_app = app.add_subcommand("build", "make a codebook from data sets");
  build->app = build_app;
  build->data.declare(*build_app);
  build_app->add_option("--codec", build->codec,
                        "the codec it is for: ceresz2, or dense (its trained tables as source)");
  build_app->add_option("--symbols", build->symbols, "differences that get a code (2000)");
  build_app->add_option("-o,--output", build->output,
                        "where it goes: FILE.json; for dense a folder");
  build->force.declare(*build_app);
  build_app->add_flag("--text", build->text, "print it as a stream's header holds it");

  auto show = std::make_shared<ShowOptions>();
  CLI::App* const show_app = app.add_subcommand("show", "print code lengths and expected bits");
  show_app->add_option("CODEBOOK", show->file, "a file, or default")->required();
  show_app->add_flag("--json", show->json, "print one JSON object");

  auto study = std::make_shared<StudyOptions>();
  CLI::App* const study_app =
      app.add_subcommand("study", "what static codebooks cost (paper, Figures 6 and 7, Table I)");
  study->data.declare(*study_app);
  study_app->add_option("--draws", study->study.draws,
                        "random choices of three data sets to train on");
  study_app->add_option("--seed", study->study.seed, "of the random choices");
  study_app->add_option("--codebook", study->codebook,
                        "the static codebook to compare with each data set's own (default)");
  study_app->add_option("--html", study->page, "write a page with the figures");
  study->force.declare(*study_app);
  study_app->add_flag("--json", study->json, "print one JSON object");

  return [=] {
    if (build_app->parsed()) return run_build(*build);
    if (show_app->parsed()) return run_show(*show);
    return run_study(*study);
  };
}

}  // namespace

Verb codebook_verb() {
  return {"codebook", "build, show and study the static tables of ceresz2 and dense",
          "  tensorpress codebook build wind.npy temp.npy,salt.npy --rel 1e-4 -o book.json\n"
          "  tensorpress codebook show default\n"
          "  tensorpress codebook study *.npy --rel 1e-4 --html study.html\n",
          declare};
}

}  // namespace tensorpress::cli
