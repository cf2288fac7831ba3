#include "devices/description/toml_places.h"

#include <algorithm>

#include "base/near_names.h"

namespace tensorpress::devices {

Result<void> TomlPlaces::check_keys(const toml::table& table, const std::string& section_name,
                                    const std::vector<std::string>& keys) const {
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (std::ranges::find(keys, name) != keys.end()) continue;
    std::string list;
    for (const std::string& each : keys) list += text(list.empty() ? "" : ", ", each);
    return wrong(key.source(), "unknown key '", name, "'",
                 section_name.empty() ? "" : text(" in [", section_name, "]"),
                 did_you_mean(name, keys), "; it may have ", list);
  }
  return {};
}

Result<std::vector<std::string>> TomlPlaces::names(const toml::table& table, const char* key,
                                                   const std::string& path) const {
  std::vector<std::string> names;
  const toml::node* const node = table.get(key);
  if (node == nullptr) return names;
  const toml::array* const array = node->as_array();
  if (array == nullptr) return wrong(node->source(), "'", path, ".", key, "' must be a list");
  for (const toml::node& each : *array) {
    const auto name = each.value_exact<std::string>();
    if (!name || name->empty()) {
      return wrong(each.source(), "'", path, ".", key, "' is a list of names in quotes");
    }
    names.push_back(*name);
  }
  return names;
}

}  // namespace tensorpress::devices
