// tensorpress hdf5: the HDF5 filter's values for the tools that take them as numbers, and what such
// numbers mean.
#include <algorithm>
#include <charconv>
#include <memory>

#include "base/errors.h"
#include "command_line/inputs/shell_words.h"
#include "command_line/verb.h"
#include "filter_settings.h"

namespace tensorpress::cli {
namespace {

struct ArgsOptions {
  CodecOptions codec;
  BoundOptions bound;
  std::uint32_t threads = 0;
  std::string variable = "VAR";
  bool json = false;
};

struct DecodeOptions {
  std::string values;
  bool json = false;
};

Result<ExitStatus> run_args(const ArgsOptions& options) {
  TRY(const auto settings, filter_settings(options.codec, options.bound, options.threads));
  TRY(const auto words, settings.to_words());
  const std::string id = text(files::kHdf5FilterId), list = joined(words);
  // Not all unless asked for: coordinates are floats too.
  const bool all = options.variable == "*";
  // 1: HDF5 leaves the filter out where it does not fit, so that a whole file can be named.
  const std::string filter = text(all ? "" : text(options.variable, ":"), "UD=", id,
                                  all ? ",1," : ",0,", words.size(), ",", list);
  const std::string h5repack = text("h5repack -f ", shell_word(filter));
  const std::string nccopy =
      text("nccopy -4 -F ", shell_quoted(text(options.variable, ",", id, ",", list)));
  if (options.json) {
    Json fields;
    fields["filter_id"] = files::kHdf5FilterId;
    fields["values"] = words;
    fields["h5repack"] = h5repack;
    fields["nccopy"] = nccopy;
    print_json(fields, stdout);
  } else {
    std::printf("%s IN.h5 OUT.h5\n%s IN.nc OUT.nc\n", h5repack.c_str(), nccopy.c_str());
  }
  return ExitStatus::fine;
}

Result<std::vector<std::uint32_t>> parse_words(const std::string& values) {
  std::vector<std::uint32_t> words;
  std::size_t at = 0;
  while (at < values.size()) {
    const std::size_t end = std::min(values.find_first_of(", ", at), values.size());
    const auto word = std::string_view(values).substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    // h5dump prints the numbers with a sign.
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || stop != word.data() + word.size() || number < INT32_MIN ||
        number > UINT32_MAX) {
      return bad_argument("'", word, "' is not a number of 32 bits");
    }
    words.push_back(static_cast<std::uint32_t>(number));
  }
  // ncdump's _Filter begins with the filter's number, h5repack's UD also has flags and a count.
  if (!words.empty() && words[0] == std::uint32_t{files::kHdf5FilterId}) {
    words.erase(words.begin());
    if (words.size() > 2 && words[0] <= 1 && words[1] == words.size() - 2) {
      words.erase(words.begin(), words.begin() + 2);
    }
  }
  return words;
}

Result<ExitStatus> run_decode(const DecodeOptions& options) {
  TRY(const auto words, parse_words(options.values));
  TRY(const auto settings, files::Hdf5FilterSettings::from_words(words));
  if (options.json) {
    print_json(describe(settings), stdout);
  } else {
    print_fields(describe(settings), stdout);
  }
  return ExitStatus::fine;
}

/// Leaves out of the help what the filter does not take; who gives it is told why.
void show_only_what_the_filter_takes(CLI::App& app) {
  std::string codec_names;
  std::vector<std::string> taken;
  for (const auto& codec : files::hdf5_filter_codecs()) {
    codec_names += text(codec_names.empty() ? "" : "|", codec.name);
    for (const auto parameter : codec.parameters) taken.push_back(text("--", parameter));
  }
  app.get_option("--codec")->option_text(codec_names);
  app.get_option("--codebook")->option_text("default|dynamic (default)");
  std::vector<std::string> hidden = {"--ratio", "--range", "--whole-range"};
  for (const CodecInfo& codec : codecs()) {
    for (const ParameterInfo& parameter : codec.parameters) {
      const std::string flag = text("--", parameter.name);
      if (std::ranges::find(taken, flag) == taken.end()) hidden.push_back(flag);
    }
  }
  for (const std::string& flag : hidden) {
    if (CLI::Option* const option = app.get_option_no_throw(flag)) option->group("");
  }
}

Action declare(CLI::App& app) {
  app.require_subcommand(1);
  auto args = std::make_shared<ArgsOptions>();
  CLI::App* const args_app =
      app.add_subcommand("args", "print the lines for h5repack and nccopy that use our filter");
  args->bound.declare(*args_app);
  args->codec.declare(*args_app);
  show_only_what_the_filter_takes(*args_app);
  args_app
      ->add_option("--var", args->variable,
                   "the dataset or variable; '*' is all floats, coordinates too")
      ->option_text("NAME (VAR)");
  args_app->add_option("--filter-threads", args->threads, "threads that work on each chunk")
      ->check(CLI::Range(1u, 1024u))
      ->option_text("N (1)");
  args_app->add_flag("--json", args->json, "print one JSON object");

  auto decode = std::make_shared<DecodeOptions>();
  CLI::App* const decode_app =
      app.add_subcommand("decode", "say what the filter's values in a file mean");
  decode_app
      ->add_option("VALUES", decode->values, "as h5dump, ncdump or h5repack have them: N,N,...")
      ->required()
      ->option_text(" ");
  decode_app->add_flag("--json", decode->json, "print one JSON object");
  return [=] { return args_app->parsed() ? run_args(*args) : run_decode(*decode); };
}

}  // namespace

Verb hdf5_verb() {
  return {"hdf5", "values of the HDF5 filter for h5repack and nccopy, and what they mean",
          "  tensorpress hdf5 args --rel 1e-4\n"
          "  tensorpress hdf5 args --abs 0.01 --fill -1e34 --var TEMP\n"
          "  tensorpress hdf5 decode 1,1,2,3539053052,1062232653",
          declare};
}

}  // namespace tensorpress::cli
