#include "command_line/options/codec_options.h"
#include "command_line/reports/messages.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/errors.h"
#include "files/tensor/codebook_file.h"

namespace tensorpress::cli {

void CodecOptions::declare(Arguments& arguments) {
  const std::vector<CodecInfo> all = codecs();
  std::string names;
  for (const CodecInfo& info : all) names += text(names.empty() ? "" : "|", info.name);
  arguments.option("--codec", name_, "codec; default: the first that accepts your options")
      .shown_as(names);

  for (const CodecInfo& info : all) {
    for (const ParameterInfo& parameter : info.parameters) {
      if (parameter.from_data) continue;
      const std::string flag = text("--", parameter.name);
      // Codecs may share a parameter's name; the flag then belongs to the first one's help.
      if (arguments.has(flag)) continue;
      const std::string name(parameter.name);
      arguments
          .word(
              flag, [this, name](const std::string& value) { values_[name] = value; },
              with_flags(parameter.help))
          .shown_as(text(parameter.choices, " (", parameter.default_value, ")"))
          .group(text("Codec ", info.name));
    }
  }
}

Result<Codec> CodecOptions::codec() const {
  std::vector<Parameter> parameters;
  parameters.reserve(values_.size());
  for (const auto& [name, value] : values_) {
    parameters.push_back({name, value});
    std::error_code ignored;  // what cannot be looked at is no file
    const bool book =
        name == "codebook" && !value.ends_with(".json") && value != "default" && value != "dynamic";
    if (book && (std::filesystem::exists(value, ignored) ||
                 std::filesystem::exists(value + ".json", ignored))) {
      return bad_argument("--codebook is '", value, "'; the name of a codebook's file ends in ",
                          ".json");
    }
    // A stream must not depend on a file: it carries the codebook itself.
    if (name == "codebook" && value.ends_with(".json")) {
      TRY(const auto file, files::read_codebook(value));
      parameters.back().value = file.book.to_text();
    }
  }
  const auto rounding = values_.find("rounding");
  if (values_.contains("seed") && (rounding == values_.end() || rounding->second == "nearest")) {
    return bad_argument("--seed is of use only with --rounding stochastic");
  }
  std::string name = name_;
  if (name.empty()) {
    TRY(name, inferred_name());
  }
  return Codec::make(name, parameters);
}

Result<std::string> CodecOptions::inferred_name() const {
  const std::vector<CodecInfo> all = codecs();
  const auto takes = [](const CodecInfo& info, const std::string& name) {
    return std::ranges::any_of(
        info.parameters, [&](const ParameterInfo& parameter) { return parameter.name == name; });
  };
  for (const CodecInfo& info : all) {
    const bool takes_all =
        std::ranges::all_of(values_, [&](const auto& given) { return takes(info, given.first); });
    if (takes_all) return std::string(info.name);
  }
  std::string owners;  // "--bits (quantize), --cf (dct-chop)"
  for (const auto& [flag, value] : values_) {
    std::string names;
    for (const CodecInfo& info : all) {
      if (takes(info, flag)) names += text(names.empty() ? "" : ", ", info.name);
    }
    owners += text(owners.empty() ? "--" : " and --", flag, " (", names, ")");
  }
  return bad_argument("no codec has ", owners, " together; keep those of one codec");
}

}  // namespace tensorpress::cli
