#include "program_info.h"

#include <algorithm>

#include "base/cpu.h"
#include "base/errors.h"
#include "command_line/reports/json_output.h"
#include "tensorpress/codec.h"
#include "tensorpress/version.h"

namespace tensorpress::cli {
namespace {

Result<Json> describe_program() {
  TRY(const Isa active, active_isa());
  Json fields;
  fields["version"] = TENSORPRESS_VERSION_STRING;
  fields["format_version"] = kFormatVersion;
  fields["isa"] = name_of(active);
  fields["detected_isa"] = name_of(detected_isa());
  Json all = Json::object();
  for (const CodecInfo& codec : codecs()) {
    Json parameters = Json::object();
    for (const ParameterInfo& parameter : codec.parameters) {
      parameters[std::string(parameter.name)] = parameter.choices;
    }
    all[std::string(codec.name)] = parameters;
  }
  fields["codecs"] = all;
  return fields;
}

/// Codecs one a line, with what they are for.
std::string to_text(Json fields) {
  fields.erase("codecs");
  std::string lines = text(fields_in_words(fields), "\nCodecs:\n");
  std::size_t width = 0;
  for (const CodecInfo& codec : codecs()) width = std::max(width, codec.name.size());
  for (const CodecInfo& codec : codecs()) {
    lines += text("  ", codec.name, std::string(width + 2 - codec.name.size(), ' '), codec.summary,
                  "\n");
  }
  return lines;
}

}  // namespace

Result<Report> report_on_program() {
  TRY(const Json fields, describe_program());
  return Report{.text = to_text(fields), .json = json_text(fields)};
}

}  // namespace tensorpress::cli
