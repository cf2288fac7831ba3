#include "files/rewriting/bounds_file.h"

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <array>
#include <string>
#include <vector>

#include "base/ascii_toml.h"
#include "base/errors.h"
#include "base/near_names.h"
#include "files/bytes/text_files.h"

namespace tensorpress::files {
namespace {

constexpr std::size_t kLargest = std::size_t{1} << 20;

struct BoundKey {
  std::string_view name;
  Bound::Kind kind;
};
constexpr std::array kBounds = {
    BoundKey{"abs", Bound::Kind::absolute}, BoundKey{"rel", Bound::Kind::relative},
    BoundKey{"pw-rel", Bound::Kind::pointwise_relative}, BoundKey{"psnr", Bound::Kind::psnr}};
constexpr std::string_view kOthers[] = {"fill", "range", "whole-range", "codec", "effort"};

class BoundsReader {
 public:
  BoundsReader(const std::string& file, VariableBounds& to) : file_(file), to_(to) {}

  Result<void> read(const toml::table& root) {
    for (const auto& [key, node] : root) {
      if (key.str() == "variables") continue;
      return wrong(key.source(), "unknown key '", key.str(),
                   "'; variables stand below [variables]");
    }
    const toml::node* const node = root.get("variables");
    const toml::table* const variables = node != nullptr ? node->as_table() : nullptr;
    if (variables == nullptr) {
      return bad_argument(file_, ":1: there is no [variables] with a bound for each, like ",
                          "tas = { abs = 0.01 }");
    }
    if (variables->empty()) {
      return wrong(variables->source(), "[variables] names none; a line is tas = { abs = 0.01 }");
    }
    for (const auto& [key, value] : *variables) {
      VariableRule rule;
      rule.pattern = std::string(key.str());
      rule.origin = text(file_, ":", key.source().begin.line);
      TRY(rule.choice, read_choice(rule.pattern, value));
      RETURN_IF_ERROR(to_.add(std::move(rule)));
    }
    return {};
  }

 private:
  template <class... Parts>
  Error wrong(const toml::source_region& where, const Parts&... parts) const {
    return bad_argument(file_, ":", where.begin.line, ": ", parts...);
  }

  Result<VariableChoice> read_choice(const std::string& name, const toml::node& node) const {
    VariableChoice choice;
    if (const auto word = node.value_exact<std::string>()) {
      if (*word == "copy") return choice;
      if (*word == "lossless") {
        choice.bound.bound = Bound::absolute(0);
        return choice;
      }
      return wrong(node.source(), "'", name, "' is \"", *word,
                   "\"; it may be \"copy\", \"lossless\" or a bound like { abs = 0.01 }");
    }
    const toml::table* const table = node.as_table();
    if (table == nullptr) {
      return wrong(node.source(), "'", name,
                   "' must be a bound like { abs = 0.01 }, \"copy\" or \"lossless\"");
    }
    RETURN_IF_ERROR(check_keys(*table, name));
    RETURN_IF_ERROR(read_bound(*table, name, choice));
    RETURN_IF_ERROR(read_fills(*table, name, choice));
    RETURN_IF_ERROR(read_range(*table, name, choice));
    RETURN_IF_ERROR(read_codec(*table, name, choice));
    return choice;
  }

  Result<void> check_keys(const toml::table& table, const std::string& name) const {
    std::vector<std::string> known;
    for (const BoundKey& each : kBounds) known.emplace_back(each.name);
    for (const std::string_view each : kOthers) known.emplace_back(each);
    for (const auto& [key, node] : table) {
      const std::string given(key.str());
      if (std::ranges::find(known, given) != known.end()) continue;
      std::string list;
      for (const std::string& each : known) list += text(list.empty() ? "" : ", ", each);
      return wrong(key.source(), "'", name, "' has an unknown key '", given, "'",
                   did_you_mean(given, known), "; it may have ", list);
    }
    return {};
  }

  Result<double> number(const toml::node& node, const std::string& name,
                        std::string_view key) const {
    const auto value = node.value<double>();
    if (value && node.is_number()) return *value;
    return wrong(node.source(), "'", key, "' of '", name, "' must be a number");
  }

  Result<void> read_bound(const toml::table& table, const std::string& name,
                          VariableChoice& choice) const {
    for (const BoundKey& each : kBounds) {
      const toml::node* const node = table.get(each.name);
      if (node == nullptr) continue;
      if (choice.bound.bound) {
        return wrong(node->source(), "'", name, "' has two bounds; keep one of them");
      }
      TRY(const double value, number(*node, name, each.name));
      choice.bound.bound = Bound(each.kind, value);
      if (const auto sound = choice.bound.bound->check(); !sound.ok()) {
        return wrong(node->source(), "'", name, "': ", sound.error().message);
      }
    }
    if (choice.bound.bound) return {};
    return wrong(table.source(), "'", name, "' has no bound: abs, rel, pw-rel or psnr");
  }

  Result<void> read_fills(const toml::table& table, const std::string& name,
                          VariableChoice& choice) const {
    const toml::node* const node = table.get("fill");
    if (node == nullptr) return {};
    const toml::array* const array = node->as_array();
    if (array == nullptr) {
      TRY(const double fill, number(*node, name, "fill"));
      choice.bound.fill_values = {fill};
      return {};
    }
    for (const toml::node& each : *array) {
      TRY(const double fill, number(each, name, "fill"));
      choice.bound.fill_values.push_back(fill);
    }
    return {};
  }

  Result<void> read_range(const toml::table& table, const std::string& name,
                          VariableChoice& choice) const {
    if (const toml::node* const whole = table.get("whole-range")) {
      const auto value = whole->value_exact<bool>();
      if (!value) {
        return wrong(whole->source(), "'whole-range' of '", name, "' must be true or false");
      }
      choice.bound.whole_range = *value;
    }
    const toml::node* const node = table.get("range");
    if (node == nullptr) return {};
    const toml::array* const array = node->as_array();
    if (array == nullptr || array->size() != 2) {
      return wrong(node->source(), "'range' of '", name, "' must be two numbers: [low, high]");
    }
    if (choice.bound.bound->kind() != Bound::Kind::relative) {
      return wrong(node->source(), "'range' of '", name, "' is of use only with rel");
    }
    TRY(const double low, number(*array->get(0), name, "range"));
    TRY(const double high, number(*array->get(1), name, "range"));
    choice.bound.value_range = ValueRange{low, high};
    return {};
  }

  Result<void> read_codec(const toml::table& table, const std::string& name,
                          VariableChoice& choice) const {
    std::string codec = "dense";
    std::vector<Parameter> parameters;
    for (const std::string_view key : {"codec", "effort"}) {
      const toml::node* const node = table.get(key);
      if (node == nullptr) continue;
      const auto word = node->value_exact<std::string>();
      if (!word || word->empty()) {
        return wrong(node->source(), "'", key, "' of '", name, "' must be text in quotes");
      }
      if (key == "codec") {
        codec = *word;
      } else {
        parameters.push_back({std::string(key), *word});
      }
      auto made = Codec::make(codec, parameters);
      if (!made.ok()) return wrong(node->source(), "'", name, "': ", made.error().message);
      const std::vector<CodecInfo> all = codecs();
      const auto info = std::ranges::find(all, made->name(), &CodecInfo::name);
      if (info == all.end() || !info->error_bounded) {
        return wrong(node->source(), "codec ", codec, " of '", name,
                     "' keeps no bound; dense, ceresz and ceresz2 do");
      }
      choice.codec = std::move(*made);
    }
    return {};
  }

  const std::string& file_;
  VariableBounds& to_;
};

}  // namespace

Result<void> parse_bounds(std::string_view text_of_file, const std::string& file,
                          VariableBounds& to) {
  if (text_of_file.size() > kLargest) {
    return too_large(file, " has ", text_of_file.size(), " bytes; a file of bounds has at most ",
                     kLargest);
  }
  TRY(const std::string ascii, ascii_toml(text_of_file, file));
  const toml::parse_result parsed = toml::parse(ascii, file);
  if (!parsed) {
    const std::string_view reason = parsed.error().description();
    const bool twice = reason.find("redefine") != std::string_view::npos;
    return bad_argument(file, ":", parsed.error().source().begin.line, ": ", reason,
                        twice ? "; it is named twice, keep one of the lines" : "");
  }
  return BoundsReader(file, to).read(parsed.table());
}

Result<void> read_bounds(const std::string& path, VariableBounds& to) {
  TRY(const std::string content, read_text(path, kLargest, "a file of bounds"));
  return parse_bounds(content, path, to);
}

}  // namespace tensorpress::files
