// tensorpress device list: the devices that the program knows.
#include "base/errors.h"
#include "command_line/reports/formatted.h"
#include "command_line/reports/json_output.h"
#include "command_line/verb.h"
#include "device_files.h"
#include "devices/check.h"

namespace tensorpress::cli {
namespace {

using devices::Device;

Json to_json(const Device& device) {
  return {{"name", device.name},
          {"title", device.title},
          {"architecture", device.architecture},
          {"units", json_number(device.units->value)},
          {"on_chip_bytes", json_number(device.on_chip_bytes->value)}};
}

std::string to_text(const Device& device) {
  return formatted("%-10s %-20s %-9s %7.0f %s%s, %s on chip\n", device.name.c_str(),
                   device.title.c_str(), device.architecture.c_str(), device.units->value,
                   device.unit_name.c_str(), device.units->value == 1 ? "" : "s",
                   devices::bytes_in_words(device.on_chip_bytes->value).c_str());
}

Result<Report> run(Reporter& /*reporter*/) {
  TRY(const auto all, open_devices({"all"}));
  Report report;
  Json list = Json::array();
  for (const Device& device : all) {
    report.text += to_text(device);
    list.push_back(to_json(device));
  }
  report.json = json_text(list);
  return report;
}

Action declare(Arguments& /*arguments*/) {
  return run;
}

}  // namespace

Verb device_list_verb() {
  return {.name = "list",
          .summary = "the devices that the program knows",
          .json = "print JSON",
          .declare = declare};
}

}  // namespace tensorpress::cli
