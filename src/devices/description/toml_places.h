// A parsed TOML file whose mistakes are told with file and line, for readers that are strict: a
// misspelled key would silently change a prediction.
#pragma once

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <string>
#include <vector>

#include "base/errors.h"

namespace tensorpress::devices {

class TomlPlaces {
 public:
  TomlPlaces(const toml::table& root, std::string file) : root_(root), file_(std::move(file)) {}

  const toml::table& root() const { return root_; }
  /// Null when it is missing or no table; "" is what stands before the first section.
  const toml::table* section(const char* name) const {
    return *name == '\0' ? &root_ : root_[name].as_table();
  }
  const toml::node* find(const char* section_name, const char* key) const {
    const toml::table* const table = section(section_name);
    return table == nullptr ? nullptr : table->get(key);
  }
  static std::string path_of(const char* section_name, const char* key) {
    return *section_name == '\0' ? std::string(key) : text(section_name, ".", key);
  }

  /// "sn30.toml:17: ..."
  template <class... Parts>
  Error wrong(const toml::source_region& where, const Parts&... parts) const {
    return bad_argument(file_, ":", where.begin.line, ": ", parts...);
  }
  /// At the section's line, or the first one.
  template <class... Parts>
  Error missing(const char* section_name, const Parts&... parts) const {
    const toml::table* const table = section(section_name);
    const auto line = *section_name == '\0' || table == nullptr ? 1 : table->source().begin.line;
    return bad_argument(file_, ":", line, ": ", parts...);
  }

  /// No others than `keys`; the nearest of them is proposed.
  Result<void> check_keys(const toml::table& table, const std::string& section_name,
                          const std::vector<std::string>& keys) const;
  /// A list of names; empty when the key is missing.
  Result<std::vector<std::string>> names(const toml::table& table, const char* key,
                                         const std::string& path) const;

 private:
  const toml::table& root_;
  std::string file_;
};

}  // namespace tensorpress::devices
