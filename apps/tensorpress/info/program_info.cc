#include "program_info.h"

#include <algorithm>

#include "base/cpu.h"
#include "base/errors.h"
#include "command_line/reports/report_fields.h"
#include "tensorpress/codec.h"
#include "tensorpress/device.h"
#include "tensorpress/version.h"

namespace tensorpress::cli {
namespace {

Result<ReportFields> describe_program() {
  TRY(const Isa active, active_isa());
  ReportFields fields;
  fields.set("version", TENSORPRESS_VERSION_STRING);
  fields.set("format_version", kFormatVersion);
  fields.set("isa", name_of(active));
  fields.set("detected_isa", name_of(detected_isa()));
  return fields;
}

Json to_json(const ReportFields& program) {
  Json all = Json::object();
  for (const CodecInfo& codec : codecs()) {
    Json parameters = Json::object();
    for (const ParameterInfo& parameter : codec.parameters) {
      parameters[std::string(parameter.name)] = parameter.choices;
    }
    all[std::string(codec.name)] = parameters;
  }
  Json fields = program.to_json();
  fields["codecs"] = all;
  fields["devices"] = Json::array();
  for (const device::DeviceInfo& device : device::devices()) {
    fields["devices"].push_back({{"name", device.name},
                                 {"description", device.description},
                                 {"memory_bytes", device.memory_bytes}});
  }
  return fields;
}

/// Codecs one a line, with what they are for; devices likewise.
std::string to_text(const ReportFields& program) {
  std::string lines = text(program.to_text(), "\nCodecs:\n");
  std::size_t width = 0;
  for (const CodecInfo& codec : codecs()) width = std::max(width, codec.name.size());
  for (const CodecInfo& codec : codecs()) {
    lines += text("  ", codec.name, std::string(width + 2 - codec.name.size(), ' '), codec.summary,
                  "\n");
  }
  lines += "\nDevices:\n";
  const auto devices = device::devices();
  if (devices.empty()) lines += "  none\n";
  for (const device::DeviceInfo& device : devices) {
    lines += text("  ", device.name, "  ", device.description, ", ",
                  human_bytes(device.memory_bytes), "\n");
  }
  return lines;
}

}  // namespace

Result<Report> report_on_program() {
  TRY(const ReportFields program, describe_program());
  return Report{.text = to_text(program), .json = json_text(to_json(program))};
}

}  // namespace tensorpress::cli
