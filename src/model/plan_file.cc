#include "model/plan_file.h"

#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "files/byte_files.h"

namespace tensorpress::model {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::uint64_t kMostBytes = 64 << 20;

Result<std::string> read_text(const std::string& path) {
  TRY(const auto file, files::open_bytes(path));
  if (file->size() > kMostBytes) {
    return too_large(path, " has ", file->size(), " bytes; a plan has at most ", kMostBytes);
  }
  std::string content(file->size(), '\0');
  RETURN_IF_ERROR(file->read_at(0, std::as_writable_bytes(std::span(content))));
  return content;
}

Result<Json> parsed(const std::string& content, const std::string& where) {
  Json json = Json::parse(content, nullptr, false);
  if (!json.is_object()) return bad_argument(where, " is not a JSON object");
  return json;
}

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

Result<std::int64_t> whole(const Json& object, const char* key, std::int64_t fallback,
                           std::int64_t least, std::int64_t most, const std::string& where) {
  if (!object.contains(key)) return fallback;
  const Json& value = object.at(key);
  const bool fits = value.is_number_unsigned()
                        ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most) &&
                              value.get<std::int64_t>() >= least
                        : value.is_number_integer() && value.get<std::int64_t>() >= least;
  if (!fits) {
    return bad_argument(where, ": ", key, " is ", value.dump(), "; it is a whole number of ", least,
                        "...", most);
  }
  return value.get<std::int64_t>();
}

Result<std::string> word(const Json& object, const char* key, const char* fallback,
                         std::initializer_list<const char*> allowed, const std::string& where) {
  if (!object.contains(key)) return std::string(fallback);
  const Json& value = object.at(key);
  std::string list;
  for (const char* each : allowed) {
    if (value == each) return std::string(each);
    list += text(list.empty() ? "" : ", ", each);
  }
  return bad_argument(where, ": ", key, " is ", value.dump(), "; there are ", list);
}

Result<Storing> storing_from_json(const Json& rule, const std::string& where) {
  const Json object = rule.is_string() ? Json{{"codec", rule}} : rule;
  if (!object.is_object() || !object.contains("codec")) {
    return bad_argument(where, " is ", object.dump(),
                        "; a rule is an object such as {\"codec\": \"quantize\", \"bits\": 4}");
  }
  TRY(const std::string codec,
      word(object, "codec", "", {"keep", "quantize", "cast", "dct-chop", "rebuild"}, where));
  Storing storing;
  if (codec == "keep" || codec == "rebuild") {
    RETURN_IF_ERROR(only(object, {"codec"}, where));
    storing.kind = codec == "keep" ? Storing::Kind::keep : Storing::Kind::rebuild;
  } else if (codec == "quantize") {
    RETURN_IF_ERROR(only(object, {"codec", "bits", "group", "rounding"}, where));
    storing.kind = Storing::Kind::quantize;
    TRY(const std::int64_t bits, whole(object, "bits", 4, 1, 8, where));
    if (bits != 1 && bits != 2 && bits != 4 && bits != 8) {
      return bad_argument(where, ": bits is ", bits, "; there are 1, 2, 4 and 8");
    }
    storing.bits = static_cast<int>(bits);
    RETURN_IF_ERROR(whole(object, "group", 256, 256, 256, where));
    TRY(const std::string rounding,
        word(object, "rounding", "nearest", {"nearest", "stochastic"}, where));
    storing.stochastic = rounding == "stochastic";
  } else if (codec == "cast") {
    RETURN_IF_ERROR(only(object, {"codec", "to"}, where));
    storing.kind = Storing::Kind::cast;
    TRY(storing.type, word(object, "to", "bf16", {"bf16", "f16", "e4m3", "e5m2"}, where));
  } else {
    RETURN_IF_ERROR(only(object, {"codec", "cf"}, where));
    storing.kind = Storing::Kind::chop;
    TRY(const std::int64_t cf, whole(object, "cf", 4, 1, 8, where));
    storing.chop_factor = static_cast<int>(cf);
  }
  return storing;
}

}  // namespace

Result<Plan> plan_from_json(const std::string& content, const std::string& where,
                            const std::string& model) {
  TRY(const Json json, parsed(content, where));
  RETURN_IF_ERROR(only(
      json, {"tensorpress_plan", "model", "level", "smallest", "default", "by_name", "prediction"},
      where));
  RETURN_IF_ERROR(whole(json, "tensorpress_plan", 1, 1, 1, where));
  if (json.contains("model") && json.at("model") != model) {
    return bad_argument(where, " was made for model ", json.at("model").dump(), ", not for '",
                        model, "'");
  }
  TRY(const std::string level,
      word(json, "level", "balanced", {"off", "lossless", "safe", "balanced", "max"}, where));
  TRY(Plan plan, named_plan(level));
  plan.name = where;
  if (json.contains("default") && !json.at("default").is_null()) {
    TRY(plan.fallback, storing_from_json(json.at("default"), text(where, ": default")));
  }
  if (json.contains("by_name")) {
    if (!json.at("by_name").is_object()) return bad_argument(where, ": by_name is not an object");
    for (const auto& [name, rule] : json.at("by_name").items()) {
      TRY(plan.by_name[name], storing_from_json(rule, text(where, ": by_name '", name, "'")));
    }
  }
  return plan;
}

Result<Plan> read_plan(const std::string& name_or_path, const std::string& model) {
  if (!name_or_path.ends_with(".json")) return named_plan(name_or_path);
  TRY(const std::string content, read_text(name_or_path));
  return plan_from_json(content, name_or_path, model);
}

}  // namespace tensorpress::model
