// tensorpress device show: a device's numbers and their sources.
#include <memory>

#include "base/errors.h"
#include "command_line/reports/formatted.h"
#include "command_line/reports/json_output.h"
#include "command_line/verb.h"
#include "device_files.h"

namespace tensorpress::cli {
namespace {

using devices::Device;

struct Options {
  std::string device;
  bool toml = false;
};

Json to_json(const Device& device) {
  Json numbers = Json::object();
  for (const devices::Described& each : devices::describe(device)) {
    numbers[each.key] = {{"value", json_number(each.fact.value)},
                         {"unit", each.field->unit},
                         {"meaning", each.field->meaning},
                         {"origin", devices::name_of(each.fact.origin)},
                         {"source", each.fact.source}};
  }
  Json stacks = Json::object();
  for (const auto& [name, stack] : device.stacks) {
    stacks[name] = {{"operators", stack.operators},
                    {"static_shapes", stack.static_shapes},
                    {"source", stack.source}};
  }
  return {{"name", device.name},        {"title", device.title},
          {"about", device.about},      {"architecture", device.architecture},
          {"types", device.types},      {"numbers", std::move(numbers)},
          {"stacks", std::move(stacks)}};
}

std::string to_text(const Device& device) {
  std::string lines =
      text(device.name, ": ", device.title, ", ", device.architecture, "\n", device.about, "\n");
  for (const devices::Described& each : devices::describe(device)) {
    lines += formatted("  %-40s %11s %-6s %-8s %s\n", each.key.c_str(),
                       rounded(each.fact.value, 6).c_str(), each.field->unit,
                       std::string(devices::name_of(each.fact.origin)).c_str(),
                       each.fact.source.c_str());
  }
  for (const auto& [name, stack] : device.stacks) {
    lines += text("  ", name, stack.static_shapes ? ", fixed shapes" : "", ":");
    for (const std::string& each : stack.operators) lines += text(" ", each);
    lines += "\n";
  }
  return lines;
}

/// The file of a device that the program knows.
Result<Report> show_file(const std::string& device) {
  if (device.ends_with(".toml")) {
    return bad_argument("--toml prints the file of a device that the program knows, and '", device,
                        "' is a file already");
  }
  TRY(std::string content, devices::builtin_text(device));
  return Report{.text = std::move(content)};
}

Result<Report> run(const Arguments& arguments, const Options& options) {
  if (options.toml && arguments.given("--json")) {
    return bad_argument("--toml and --json exclude each other; leave one out");
  }
  if (options.toml) return show_file(options.device);
  TRY(const Device device, open_device(options.device));
  return Report{.text = to_text(device), .json = json_text(to_json(device))};
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.option("DEVICE", options->device, "a name, or a .toml file").required();
  arguments.flag("--toml", options->toml, "print the file of a known device, to copy and edit");
  return [arguments, options](Reporter&) { return run(arguments, *options); };
}

}  // namespace

Verb device_show_verb() {
  return {.name = "show",
          .summary = "a device's numbers and their sources",
          .json = kOneObject,
          .declare = declare};
}

}  // namespace tensorpress::cli
