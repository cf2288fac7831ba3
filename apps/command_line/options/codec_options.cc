#include "command_line/options/codec_options.h"
#include "command_line/reports/messages.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/errors.h"
#include "codecs/parameter_values.h"
#include "files/tensor/parameter_file.h"

namespace tensorpress::cli {
namespace {

/// Codecs that share a parameter's name share its flag, which the first one explains.
ParameterInfo parameter_named(std::string_view name) {
  for (const CodecInfo& codec : codecs()) {
    const auto found = std::ranges::find(codec.parameters, name, &ParameterInfo::name);
    if (found != codec.parameters.end()) return *found;
  }
  return {};
}

bool exists(const std::string& path) {
  std::error_code ignored;  // what cannot be looked at is no file
  return std::filesystem::exists(path, ignored);
}

/// A stream must not depend on a file: where one is named, the value is what it holds.
Result<std::string> value_of(const ParameterInfo& parameter, const std::string& given) {
  const files::ParameterFileKind* const kind = files::kind_of(parameter.file);
  if (kind == nullptr) return given;
  if (given.ends_with(kind->ending)) return kind->read(given);
  if (!one_of(parameter, given).ok() && (exists(given) || exists(text(given, kind->ending)))) {
    return bad_argument("--", parameter.name, " is '", given, "'; the name of a ", kind->contents,
                        "'s file ends in ", kind->ending);
  }
  return given;
}

}  // namespace

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
  for (const auto& [name, given] : values_) {
    TRY(auto value, value_of(parameter_named(name), given));
    parameters.push_back({name, std::move(value)});
  }
  for (const auto& [name, given] : values_) {
    RETURN_IF_ERROR(check_needs(parameter_named(name)));
  }
  std::string name = name_;
  if (name.empty()) {
    TRY(name, inferred_name());
  }
  return Codec::make(name, parameters);
}

Result<void> CodecOptions::check_needs(const ParameterInfo& parameter) const {
  if (!parameter.needs) return {};
  const ParameterInfo needed = parameter_named(parameter.needs->name);
  const auto given = values_.find(std::string(needed.name));
  const std::string_view value = given == values_.end() ? needed.default_value : given->second;
  // The codec explains a value that it does not know.
  if (value == parameter.needs->value || !one_of(needed, value).ok()) return {};
  return bad_argument("--", parameter.name, " is of use only with --", needed.name, " ",
                      parameter.needs->value);
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
