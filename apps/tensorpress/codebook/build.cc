// tensorpress codebook build: a codebook from data sets.
#include <filesystem>
#include <memory>
#include <optional>

#include "base/errors.h"
#include "command_line/options/force_option.h"
#include "command_line/verb.h"
#include "data_sets.h"
#include "files/bytes/text_files.h"
#include "training/dense_training.h"

namespace tensorpress::cli {
namespace {

struct Options {
  DataSets data;
  std::string codec = "ceresz2";
  std::uint32_t symbols = ceresz2::kDefaultSymbols;
  std::string output;
  ForceOption force;
  bool text = false;
  std::optional<Arguments> arguments;  // know the options that were given
};

/// The command again, as the file will tell it.
std::string command_of(const Options& options) {
  std::string command = "tensorpress codebook build --codec ceresz2";
  for (const std::string& set : options.data.sets) {
    command += ' ';
    for (const std::string& field : fields_of(set)) {
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

Result<Report> build_ceresz2(const Options& options) {
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
  TRY(const ceresz2::Codebook book, benchmark::mean_codebook(all, options.symbols));
  if (options.text) {
    return Report{.text = text(book.to_text(), "\n")};
  }
  RETURN_IF_ERROR(files::write_codebook(options.output, book, command_of(options)));
  return Report{};
}

/// The static tables of dense are source code, because streams do not carry them.
Result<Report> build_dense(const Options& options) {
  RETURN_IF_ERROR(options.arguments->refuse_ignored(
      {"--symbols", "--text"}, "it is of --codec ceresz2, and dense has tables of its own"));
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
  return Report{};
}

struct CodecBuilder {
  const char* codec;
  Result<Report> (*build)(const Options& options);
};
constexpr CodecBuilder kBuilders[] = {{"ceresz2", build_ceresz2}, {"dense", build_dense}};

Result<Report> run(const Options& options) {
  std::string known;
  for (const CodecBuilder& builder : kBuilders) {
    if (options.codec == builder.codec) return builder.build(options);
    known += text(known.empty() ? "" : ", ", builder.codec);
  }
  return bad_argument("no codebook can be built for --codec ", options.codec,
                      "; codecs with codebooks: ", known);
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  options->arguments = arguments;
  options->data.declare(arguments);
  arguments.option("--codec", options->codec,
                   "the codec it is for: ceresz2, or dense (its trained tables as source)");
  arguments.option("--symbols", options->symbols, "differences that get a code (2000)");
  arguments.option("-o,--output", options->output, "where it goes: FILE.json; for dense a folder");
  options->force.declare(arguments);
  arguments.flag("--text", options->text, "print it as a stream's header holds it");
  return [options](Reporter&) { return run(*options); };
}

}  // namespace

Verb codebook_build_verb() {
  return {.name = "build", .summary = "make a codebook from data sets", .declare = declare};
}

}  // namespace tensorpress::cli
