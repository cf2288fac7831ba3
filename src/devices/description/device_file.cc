// Reads a device file: strictly, because a misspelled key would silently change a prediction. A
// number is `key = 1e9` or `key = { value = 1e9, origin = "fitted", source = "Fig. 3" }`.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/ascii_toml.h"
#include "base/errors.h"
#include "base/near_names.h"
#include "devices/description/device.h"
#include "devices/description/operator_groups.h"
#include "devices/description/toml_places.h"

namespace tensorpress::devices {
namespace {

struct TextField {
  const char* section;  // empty: before the first section
  const char* key;
  std::string Device::*member;
  bool required;
};
constexpr TextField kTexts[] = {
    {"", "name", &Device::name, true},
    {"", "title", &Device::title, true},
    {"", "architecture", &Device::architecture, false},
    {"", "about", &Device::about, false},
    {"compute", "unit_name", &Device::unit_name, false},
    {"on_chip", "unit_name", &Device::memory_unit_name, false},
    {"host_link", "name", &Device::host_link_name, false},
    {"device_link", "topology", &Device::topology, false},
};

struct SwitchField {
  const char* section;
  const char* key;
  bool Device::*member;
};
constexpr SwitchField kSwitches[] = {
    {"host_link", "pinned", &Device::pinned},
    {"placement", "plane_in_one_memory_unit", &Device::plane_in_one_memory_unit},
    {"run", "overlaps", &Device::overlaps},
    {"run", "returns_output", &Device::returns_output},
    {"run", "products_in_16_bits", &Device::products_in_16_bits},
};

constexpr std::string_view kTypes[] = {"float64", "float32", "float16", "bfloat16", "int64",
                                       "int32",   "int16",   "int8",    "uint8",    "bool"};

class Reader {
 public:
  Reader(const toml::table& root, std::string file) : places_(root, std::move(file)) {}

  Result<Device> read() {
    RETURN_IF_ERROR(check_sections());
    for (const TextField& field : kTexts) RETURN_IF_ERROR(read_text(field));
    for (const SwitchField& field : kSwitches) RETURN_IF_ERROR(read_switch(field));
    for (const NumberField& field : number_fields()) RETURN_IF_ERROR(read_number(field));
    RETURN_IF_ERROR(read_placement());
    RETURN_IF_ERROR(read_types());
    RETURN_IF_ERROR(read_stacks());
    RETURN_IF_ERROR(check_name());
    RETURN_IF_ERROR(check_sizes());
    return std::move(device_);
  }

 private:
  /// The keys that each section may have, from the lists of fields.
  static std::map<std::string, std::vector<std::string>> known_keys() {
    std::map<std::string, std::vector<std::string>> known;
    for (const TextField& field : kTexts) known[field.section].emplace_back(field.key);
    for (const SwitchField& field : kSwitches) known[field.section].emplace_back(field.key);
    for (const NumberField& field : number_fields()) known[field.section].emplace_back(field.key);
    known["placement"].emplace_back("tensors");
    known["formats"].emplace_back("types");
    known["stacks"] = {};
    std::vector<std::string> sections;
    for (const auto& [section, keys] : known) {
      if (!section.empty()) sections.push_back(section);
    }
    known[""].insert(known[""].end(), sections.begin(), sections.end());
    return known;
  }

  Result<void> check_sections() const {
    const auto known = known_keys();
    const toml::table& root = places_.root();
    RETURN_IF_ERROR(places_.check_keys(root, "", known.at("")));
    for (const auto& [section, keys] : known) {
      if (section.empty() || !root.contains(section)) continue;
      const toml::table* const table = root[section].as_table();
      if (table == nullptr) {
        return places_.wrong(root.get(section)->source(), "'", section, "' is a section: [",
                             section, "]");
      }
      if (section != "stacks") RETURN_IF_ERROR(places_.check_keys(*table, section, keys));
    }
    return {};
  }

  Result<void> read_text(const TextField& field) {
    const toml::node* const node = places_.find(field.section, field.key);
    if (node == nullptr) {
      if (!field.required) return {};
      return places_.missing(field.section, "'", TomlPlaces::path_of(field.section, field.key),
                             "' is missing");
    }
    const auto value = node->value_exact<std::string>();
    if (!value || value->empty()) {
      return places_.wrong(node->source(), "'", TomlPlaces::path_of(field.section, field.key),
                           "' must be text in quotes");
    }
    device_.*field.member = *value;
    return {};
  }

  Result<void> read_switch(const SwitchField& field) {
    const toml::node* const node = places_.find(field.section, field.key);
    if (node == nullptr) return {};
    const auto value = node->value_exact<bool>();
    if (!value) {
      return places_.wrong(node->source(), "'", TomlPlaces::path_of(field.section, field.key),
                           "' must be true or false");
    }
    device_.*field.member = *value;
    return {};
  }

  Result<void> read_number(const NumberField& field) {
    const std::string path = TomlPlaces::path_of(field.section, field.key);
    const toml::node* node = places_.find(field.section, field.key);
    if (node == nullptr) {
      if (!field.required) return {};
      return places_.missing(field.section, "'", path, "' (", field.meaning, ") is missing");
    }
    Fact fact;
    if (const toml::table* const table = node->as_table()) {
      RETURN_IF_ERROR(places_.check_keys(*table, path, {"value", "origin", "source", "fitted_on"}));
      RETURN_IF_ERROR(read_origin(*table, path, fact));
      node = table->get("value");
      if (node == nullptr) return places_.wrong(table->source(), "'", path, "' has no value");
    }
    const auto value = node->value<double>();
    if (!value || !node->is_number()) {
      return places_.wrong(node->source(), "'", path, "' (", field.meaning, ") must be a number");
    }
    fact.value = *value;
    RETURN_IF_ERROR(check_range(field, path, *node, fact.value));
    device_.*field.member = std::move(fact);
    return {};
  }

  Result<void> read_origin(const toml::table& table, const std::string& path, Fact& fact) const {
    if (const toml::node* const node = table.get("origin")) {
      const auto name = node->value_exact<std::string>().value_or("");
      const auto origin = origin_named(name);
      if (!origin) {
        return places_.wrong(node->source(), "origin '", name, "' of '", path,
                             "' is not one of fact, derived, inferred, fitted");
      }
      fact.origin = *origin;
    }
    if (const toml::node* const node = table.get("source")) {
      const auto source = node->value_exact<std::string>();
      if (!source) return places_.wrong(node->source(), "the source of '", path, "' must be text");
      fact.source = *source;
    }
    TRY(fact.fitted_on, places_.names(table, "fitted_on", path));
    if (!fact.fitted_on.empty() && fact.origin != Origin::fitted) {
      return places_.wrong(table.get("fitted_on")->source(), "'", path,
                           "' says what it was fitted on, but its origin is ",
                           name_of(fact.origin));
    }
    return {};
  }

  Result<void> check_range(const NumberField& field, const std::string& path,
                           const toml::node& node, double value) const {
    const std::string shown = rounded(value, 6);
    if (!std::isfinite(value) || value < 0 || (value == 0 && !field.may_be_zero)) {
      return places_.wrong(node.source(), "'", path, "' (", field.meaning, ") is ", shown,
                           "; it must be ", field.may_be_zero ? "at least 0" : "greater than 0");
    }
    if (field.whole && value != std::floor(value)) {
      return places_.wrong(node.source(), "'", path, "' (", field.meaning, ") is ", shown,
                           "; it must be a whole number");
    }
    const double most = field.most > 0 ? field.most : 1e24;
    if (value > most) {
      return places_.wrong(node.source(), "'", path, "' (", field.meaning, ") is ", shown,
                           "; it can be at most ", rounded(most, 6));
    }
    return {};
  }

  Result<void> read_placement() {
    const toml::node* const node = places_.find("placement", "tensors");
    if (node == nullptr) {
      return places_.missing("placement",
                             "'placement.tensors' is missing: on-chip, streamed or off-chip");
    }
    const auto name = node->value_exact<std::string>().value_or("");
    if (name == "on-chip") {
      device_.placement = Placement::on_chip;
    } else if (name == "streamed") {
      device_.placement = Placement::streamed;
    } else if (name == "off-chip") {
      device_.placement = Placement::off_chip;
      if (!device_.off_chip_bytes) {
        return places_.wrong(node->source(), "tensors are off-chip, but [off_chip] has no bytes");
      }
    } else {
      return places_.wrong(node->source(), "placement.tensors '", name,
                           "' is not one of on-chip, streamed, off-chip");
    }
    return {};
  }

  Result<void> read_types() {
    const toml::table* const table = places_.section("formats");
    if (table == nullptr || !table->contains("types")) {
      return places_.missing("formats", "'formats.types' is missing: types = [\"float32\", ...]");
    }
    TRY(device_.types, places_.names(*table, "types", "formats"));
    const std::vector<std::string> known(std::begin(kTypes), std::end(kTypes));
    for (const std::string& type : device_.types) {
      if (std::ranges::find(known, type) == known.end()) {
        return places_.wrong(table->get("types")->source(), "'", type, "' is not a type of numbers",
                             did_you_mean(type, known));
      }
    }
    return {};
  }

  Result<void> read_stacks() {
    const toml::table* const stacks = places_.section("stacks");
    if (stacks == nullptr || stacks->empty()) {
      return places_.missing("stacks",
                             "there is no [stacks.pytorch] with the operators of the device");
    }
    for (const auto& [key, node] : *stacks) {
      const std::string path = text("stacks.", key.str());
      const toml::table* const table = node.as_table();
      if (table == nullptr)
        return places_.wrong(node.source(), "'", path, "' is a section: [", path, "]");
      RETURN_IF_ERROR(places_.check_keys(
          *table, path,
          {"groups", "operators", "without", "from_outcomes", "static_shapes", "source"}));
      TRY(Stack stack, read_stack(*table, path));
      device_.stacks.emplace(std::string(key.str()), std::move(stack));
    }
    return {};
  }

  Result<Stack> read_stack(const toml::table& table, const std::string& path) const {
    Stack stack;
    TRY(const auto groups, places_.names(table, "groups", path));
    TRY(const auto added, places_.names(table, "operators", path));
    TRY(const auto without, places_.names(table, "without", path));
    if (groups.empty() && added.empty()) {
      return places_.wrong(table.source(), "[", path, "] has neither groups nor operators");
    }
    std::set<std::string> all(added.begin(), added.end());
    for (const std::string& name : groups) {
      const OperatorGroup* const group = find_group(name);
      if (group == nullptr) {
        std::vector<std::string> known;
        for (const OperatorGroup& each : operator_groups()) known.emplace_back(each.name);
        return places_.wrong(table.get("groups")->source(), "there is no group of operators '",
                             name, "'", did_you_mean(name, known));
      }
      all.insert(group->operators.begin(), group->operators.end());
    }
    for (const std::string& name : without) {
      if (all.erase(name) == 0) {
        return places_.wrong(table.get("without")->source(), "'", name, "' of ", path,
                             ".without is in none of its groups");
      }
    }
    stack.operators.assign(all.begin(), all.end());
    TRY(stack.from_outcomes, places_.names(table, "from_outcomes", path));
    std::ranges::sort(stack.from_outcomes);
    if (const toml::node* const node = table.get("static_shapes")) {
      const auto value = node->value_exact<bool>();
      if (!value)
        return places_.wrong(node->source(), "'", path, ".static_shapes' must be true or false");
      stack.static_shapes = *value;
    }
    if (const toml::node* const node = table.get("source")) {
      stack.source = node->value_exact<std::string>().value_or("");
    }
    return stack;
  }

  Result<void> check_name() const {
    const auto plain = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    };
    if (!std::ranges::all_of(device_.name, plain)) {
      return places_.missing("", "name '", device_.name, "' may have a to z, 0 to 9, - and _ only");
    }
    return {};
  }

  /// What contradicts itself cannot be a machine.
  Result<void> check_sizes() const {
    const auto at = [&](const char* section, const char* key) {
      return places_.find(section, key)->source();
    };
    if (device_.memory_unit_bytes &&
        device_.memory_unit_bytes->value > device_.on_chip_bytes->value) {
      return places_.wrong(at("on_chip", "unit_bytes"), "one memory unit (",
                           rounded(device_.memory_unit_bytes->value, 6),
                           " bytes) is larger than all memory on the chip (",
                           rounded(device_.on_chip_bytes->value, 6), " bytes)");
    }
    if (device_.memory_units && device_.memory_unit_bytes) {
      const double all = device_.memory_units->value * device_.memory_unit_bytes->value;
      const double share = all / device_.on_chip_bytes->value;
      if (share < 0.8 || share > 1.25) {
        return places_.wrong(at("on_chip", "units"), rounded(device_.memory_units->value, 9),
                             " units of ", rounded(device_.memory_unit_bytes->value, 6),
                             " bytes are ", rounded(all, 4), " bytes, but on_chip.bytes is ",
                             rounded(device_.on_chip_bytes->value, 4));
      }
    }
    if (device_.plane_in_one_memory_unit && !device_.memory_unit_bytes) {
      return places_.missing("placement", "plane_in_one_memory_unit needs on_chip.unit_bytes");
    }
    if (device_.host_link_peak) {
      for (const auto& [rate, key] :
           {std::pair(&device_.to_device, "to_device_bytes_per_second"),
            std::pair(&device_.from_device, "from_device_bytes_per_second")}) {
        if ((*rate)->value > device_.host_link_peak->value) {
          return places_.wrong(at("host_link", key), "'host_link.", key, "' is ",
                               rounded((*rate)->value, 6), ", more than the wire's peak of ",
                               rounded(device_.host_link_peak->value, 6));
        }
      }
    }
    return {};
  }

  TomlPlaces places_;
  Device device_;
};

}  // namespace

Result<Device> parse_device(std::string_view text_of_file, const std::string& file) {
  constexpr std::size_t kLargest = std::size_t{1} << 20;
  if (text_of_file.size() > kLargest) {
    return too_large(file, " has ", text_of_file.size(), " bytes; a device file has at most ",
                     kLargest);
  }
  TRY(const std::string ascii, ascii_toml(text_of_file, file));
  const toml::parse_result parsed = toml::parse(ascii, file);
  if (!parsed) {
    return bad_argument(file, ":", parsed.error().source().begin.line, ": ",
                        parsed.error().description());
  }
  return Reader(parsed.table(), file).read();
}

}  // namespace tensorpress::devices
