#include "model/planner/planned_file.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "base/errors.h"
#include "base/json_text.h"
#include "files/bytes/text_files.h"

namespace tensorpress::model {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::uint64_t kMostBytes = 64 << 20;

Result<void> only(const Json& object, std::initializer_list<const char*> known,
                  const std::string& where) {
  for (const auto& [key, value] : object.items()) {
    bool found = false;
    std::string list;
    for (const char* each : known) {
      found = found || key == each;
      list += text(list.empty() ? "" : ", ", each);
    }
    if (!found) return bad_argument(where, " has an entry '", key, "'; there are ", list);
  }
  return {};
}

Json storing_to_json(const Storing& storing) {
  switch (storing.kind) {
    case Storing::Kind::keep:
      return {{"codec", "keep"}};
    case Storing::Kind::quantize: {
      Json json = {{"codec", "quantize"}, {"bits", storing.bits}};
      if (storing.stochastic) json["rounding"] = "stochastic";
      return json;
    }
    case Storing::Kind::cast:
      return {{"codec", "cast"}, {"to", storing.type}};
    case Storing::Kind::chop:
      return {{"codec", "dct-chop"}, {"cf", storing.chop_factor}};
    case Storing::Kind::bounded:
      return {{"codec", storing.codec}, {storing.bound, storing.bound_value}};
    case Storing::Kind::rebuild:
      return {{"codec", "rebuild"}};
    case Storing::Kind::offload:
      return {{"codec", "offload"}};
  }
  return {};
}

double share_of(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(whole, 1));
}

Json prediction_to_json(const PlannedStep& planned, const StepOptions& options) {
  const StepMemory& memory = planned.memory;
  Json sizes = Json::object();
  for (const auto& [symbol, size] : options.lowering.sizes) sizes[symbol] = size;
  return {{"sizes", sizes},
          {"peak_bytes", memory.peak_bytes()},
          {"peak_at", memory.positions[memory.peak].name},
          {"saved_bytes", memory.saved_bytes},
          {"plain_peak_bytes", planned.plain_peak_bytes},
          {"plain_saved_bytes", planned.plain_saved_bytes},
          {"saved_ratio", share_of(planned.plain_saved_bytes, memory.saved_bytes)},
          {"peak_ratio", share_of(planned.plain_peak_bytes, memory.peak_bytes())},
          {"offloaded_bytes", planned.offloaded_bytes},
          {"added_seconds", planned.added_seconds},
          {"mean_score", planned.mean_score},
          {"lowest_score", planned.lowest_score},
          {"proven_best", planned.proven_best},
          {"gap", planned.gap}};
}

Result<double> share(const Json& value, const std::string& where) {
  if (value.is_number()) {
    const auto number = value.get<double>();
    if (number >= 0 && number <= 1) return number;
  }
  return bad_argument(where, " is ", value.dump(), "; it is a number of 0...1");
}

Result<double> error_in(const Json& value, const std::string& where) {
  if (value.is_number()) {
    const auto number = value.get<double>();
    if (number >= 0 && std::isfinite(number)) return number;
  }
  return bad_argument(where, " is ", value.dump(), "; it is a number of 0 or more");
}

}  // namespace

std::string plan_to_json(const PlannedStep& planned, const std::string& model,
                         const StepOptions& options) {
  Json json;
  json["tensorpress_plan"] = 1;
  json["model"] = model;
  json["level"] = planned.choices.empty() ? planned.policy.name : "balanced";
  json["by_name"] = Json::object();
  for (const auto& [name, storing] : planned.policy.by_name) {
    json["by_name"][name] = storing_to_json(storing);
  }
  json["prediction"] = prediction_to_json(planned, options);
  return json.dump(2) + "\n";
}

Result<Statistics> statistics_from_json(const std::string& content, const std::string& where) {
  const auto parsed = parse_json_object<Json>(content);
  if (!parsed.ok()) return bad_argument(where, ": ", parsed.error().message);
  const Json& json = *parsed;
  RETURN_IF_ERROR(only(json, {"tensorpress_statistics", "model", "activations"}, where));
  if (json.contains("tensorpress_statistics") && json.at("tensorpress_statistics") != 1) {
    return bad_argument(where, ": tensorpress_statistics is ",
                        json.at("tensorpress_statistics").dump(), "; this version reads 1");
  }
  Statistics statistics;
  if (!json.contains("activations") || !json.at("activations").is_object()) {
    return bad_argument(where, " has no object 'activations'");
  }
  for (const auto& [name, measured] : json.at("activations").items()) {
    const std::string here = text(where, ": activation '", name, "'");
    if (!measured.is_object()) return bad_argument(here, " is not an object");
    RETURN_IF_ERROR(only(measured, {"zeros", "dct_energy", "scores", "errors"}, here));
    ActivationStatistics& each = statistics[name];
    if (measured.contains("zeros")) {
      TRY(each.zeros, share(measured.at("zeros"), text(here, ": zeros")));
    }
    if (measured.contains("dct_energy")) {
      TRY(each.dct_energy, share(measured.at("dct_energy"), text(here, ": dct_energy")));
    }
    for (const char* const what : {"scores", "errors"}) {
      if (!measured.contains(what)) continue;
      const Json& found = measured.at(what);
      if (!found.is_object()) return bad_argument(here, ": ", what, " is not an object");
      for (const auto& [storing, number] : found.items()) {
        if (what == std::string_view("scores")) {
          TRY(each.scores[storing], share(number, text(here, ": score of '", storing, "'")));
        } else {
          TRY(each.errors[storing], error_in(number, text(here, ": error of '", storing, "'")));
        }
      }
    }
  }
  return statistics;
}

Result<Statistics> read_statistics(const std::string& path) {
  TRY(const std::string content, files::read_text(path, kMostBytes, "a file of statistics"));
  return statistics_from_json(content, path);
}

}  // namespace tensorpress::model
