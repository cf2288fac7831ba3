// What the compilation of one program shares: sources, types, files that were parsed, and what the
// layout block asked for.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "csl/machine/program.h"
#include "csl/meaning/value.h"
#include "csl/syntax/tree.h"

namespace tensorpress::csl {

struct Global {
  enum class State : std::uint8_t { untouched, running, done } state = State::untouched;
  Value value;
  std::optional<std::uint32_t> address;  // in the tile's memory, once somebody needs it
};

/// A file with its parameters bound.
struct Module {
  const File* file = nullptr;
  std::string path;
  bool library = false;
  bool layout = false;  // the file with the layout block: parameters come from the command line
  std::map<std::string_view, const Declaration*> names;
  std::map<std::string, Value, std::less<>> given;
  std::unordered_map<const Declaration*, Global> globals;
};

/// One @set_tile_code.
struct PlacedTile {
  bool set = false;
  std::string path;
  Value params;  // an anonymous struct
  Position at;
  std::array<ColorConfig, kColors> colors;
};

struct HostName {
  std::string name, type;
  Position at;
  bool is_function = false;
  bool writable = false;
};

/// What a layout block says.
struct LayoutPlan {
  std::int64_t width = 0, height = 0;
  Position at;
  std::vector<PlacedTile> tiles;  // rows from north to south
  std::vector<HostName> names;
};

struct Compilation {
  Sources sources;
  Diagnostics diagnostics;
  Types types;
  Architecture architecture = Architecture::wse2;
  std::function<std::optional<std::string>(const std::string& path)> read;
  std::vector<std::string> import_folders;
  std::map<std::string, std::string> params;  // of the command line
  LayoutPlan layout;
  std::vector<std::string> prints;  // of @comptime_print
  // Work at compile time before a program is said never to end.
  std::uint64_t steps_left = 20'000'000;

  /// Null where it cannot be read or parsed; then there is a diagnostic.
  const File* file(const std::string& path, Position from);

 private:
  std::map<std::string, std::unique_ptr<File>> files_;
};

/// The text of <name>, or null.
const char* library_text(std::string_view name);

}  // namespace tensorpress::csl
