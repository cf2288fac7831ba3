// tensorpress hdf5 args: the HDF5 filter's values for the tools that take them as numbers.
#include <algorithm>
#include <memory>

#include "base/errors.h"
#include "command_line/inputs/shell_words.h"
#include "command_line/verb.h"
#include "filter_settings.h"

namespace tensorpress::cli {
namespace {

struct Options {
  CodecOptions codec;
  BoundOptions bound;
  std::uint32_t threads = 0;
  std::string variable = "VAR";
};

Result<Report> run(const Options& options) {
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
  Json fields;
  fields["filter_id"] = files::kHdf5FilterId;
  fields["values"] = words;
  fields["h5repack"] = h5repack;
  fields["nccopy"] = nccopy;
  return Report{.text = text(h5repack, " IN.h5 OUT.h5\n", nccopy, " IN.nc OUT.nc\n"),
                .json = json_text(fields)};
}

/// Leaves out of the help what the filter does not take. Such an option is still parsed, so that
/// the error can say why the filter does not take it.
void show_only_what_the_filter_takes(Arguments& arguments) {
  std::string codec_names;
  std::vector<files::Hdf5FilterCodec::Parameter> taken;
  for (const auto& codec : files::hdf5_filter_codecs()) {
    codec_names += text(codec_names.empty() ? "" : "|", codec.name);
    taken.insert(taken.end(), codec.parameters.begin(), codec.parameters.end());
  }
  arguments.find("--codec").shown_as(codec_names);
  std::vector<std::string> hidden = {"--ratio", "--range", "--whole-range"};
  for (const CodecInfo& codec : codecs()) {
    for (const ParameterInfo& parameter : codec.parameters) {
      const std::string flag = text("--", parameter.name);
      const auto found =
          std::ranges::find(taken, parameter.name, &files::Hdf5FilterCodec::Parameter::name);
      if (found == taken.end()) {
        hidden.push_back(flag);
      } else if (parameter.file != ParameterFile::none) {
        // The filter's values have no room for what a file holds.
        arguments.find(flag).shown_as(text(found->choices, " (", parameter.default_value, ")"));
      }
    }
  }
  for (const std::string& flag : hidden) {
    if (arguments.has(flag)) arguments.find(flag).hidden();
  }
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  options->bound.declare(arguments);
  options->codec.declare(arguments);
  show_only_what_the_filter_takes(arguments);
  arguments
      .option("--var", options->variable,
              "the dataset or variable; '*' is all floats, coordinates too")
      .shown_as("NAME (VAR)");
  arguments.option("--filter-threads", options->threads, "threads that work on each chunk")
      .count_between(1, 1024)
      .shown_as("N (1)");
  return [options](Reporter&) { return run(*options); };
}

}  // namespace

Verb hdf5_args_verb() {
  return {.name = "args",
          .summary = "print the lines for h5repack and nccopy that use our filter",
          .json = kOneObject,
          .declare = declare};
}

}  // namespace tensorpress::cli
