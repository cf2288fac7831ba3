// What is wrong with a program as a whole.
#include <algorithm>

#include "csl/build/build.h"

namespace tensorpress::csl {
namespace {

void check_memory(Compilation& compilation, const Program& program) {
  std::uint32_t data = 0;
  for (const Symbol& symbol : program.symbols) data = std::max(data, symbol.address + symbol.bytes);
  const std::uint32_t all = data + program.code_bytes();
  if (all <= kSramBytes) return;
  std::vector<Symbol> largest = program.symbols;
  std::ranges::stable_sort(largest,
                           [](const Symbol& a, const Symbol& b) { return a.bytes > b.bytes; });
  std::string table;
  for (std::size_t k = 0; k < largest.size() && k < 8; ++k) {
    table += "\n    " + std::to_string(largest[k].bytes) + " bytes  " + largest[k].name;
  }
  compilation.diagnostics.error(
      largest.empty() ? Position{} : largest[0].at,
      "a tile of " + program.path + " needs " + std::to_string(all) + " bytes, its SRAM has " +
          std::to_string(kSramBytes) + ": " + std::to_string(data) + " for data and about " +
          std::to_string(program.code_bytes()) + " for code",
      "The largest parts:" + table + "\n  Make them smaller, or use more PEs.");
}

constexpr int opposite(int direction) {
  constexpr int kOpposite[] = {1, 0, 3, 2, 4};
  return kOpposite[direction];
}

void check_routes(Compilation& compilation, const Executable& executable) {
  static constexpr const char* kNames[] = {"EAST", "WEST", "NORTH", "SOUTH", "RAMP"};
  static constexpr int kColumns[] = {1, -1, 0, 0}, kRows[] = {0, 0, -1, 1};
  for (int y = 0; y < executable.height; ++y) {
    for (int x = 0; x < executable.width; ++x) {
      for (int color = 0; color < kColors; ++color) {
        const ColorConfig& config =
            executable.colors[static_cast<std::size_t>(y * executable.width + x)]
                             [static_cast<std::size_t>(color)];
        if (!config.set) continue;
        for (int k = 0; k < config.positions; ++k) {
          for (int direction = 0; direction < 4; ++direction) {
            if ((config.routes[k].to >> direction & 1) == 0) continue;
            const int nx = x + kColumns[direction], ny = y + kRows[direction];
            const std::string where = "color " + std::to_string(color) + " of PE (" +
                                      std::to_string(x) + ", " + std::to_string(y) + ") leads " +
                                      kNames[direction];
            if (nx < 0 || ny < 0 || nx >= executable.width || ny >= executable.height) {
              compilation.diagnostics.warning(config.at, where + ", out of the rectangle",
                                              "Wavelets that go there are lost.");
              continue;
            }
            const ColorConfig& next =
                executable.colors[static_cast<std::size_t>(ny * executable.width + nx)]
                                 [static_cast<std::size_t>(color)];
            bool taken = false;
            for (int j = 0; next.set && j < next.positions; ++j) {
              taken = taken || (next.routes[j].from >> opposite(direction) & 1) != 0;
            }
            if (!taken) {
              compilation.diagnostics.warning(config.at,
                                              where + ", where PE (" + std::to_string(nx) + ", " +
                                                  std::to_string(ny) + ") takes nothing from " +
                                                  kNames[opposite(direction)],
                                              "Configure the color there with .rx = .{ " +
                                                  std::string(kNames[opposite(direction)]) + " }.");
            }
          }
        }
      }
    }
  }
}

void check_names(Compilation& compilation, const Executable& executable) {
  for (const HostName& name : executable.names) {
    bool found = false;
    for (const auto& program : executable.programs) {
      for (const Export& one : program->exports) found = found || one.name == name.name;
    }
    if (!found) {
      compilation.diagnostics.error(
          name.at, "no tile exports the symbol \"" + name.name + "\"",
          "Call @export_symbol(..., \"" + name.name + "\") in a tile's comptime block.");
    }
  }
}

}  // namespace

void check(Compilation& compilation, const Executable& executable) {
  for (const auto& program : executable.programs) check_memory(compilation, *program);
  check_routes(compilation, executable);
  check_names(compilation, executable);
}

}  // namespace tensorpress::csl
