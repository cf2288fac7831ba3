#include "csl/build/build.h"

#include "csl/meaning/evaluator.h"

namespace tensorpress::csl {

std::unique_ptr<Executable> built(Compilation& compilation, const std::string& path) {
  Evaluator(compilation, nullptr).run_layout(path);
  if (compilation.diagnostics.failed()) return nullptr;
  const LayoutPlan& layout = compilation.layout;
  auto made = std::make_unique<Executable>();
  made->architecture = compilation.architecture;
  made->width = static_cast<int>(layout.width);
  made->height = static_cast<int>(layout.height);
  made->names = layout.names;
  std::map<std::string, int> known;
  // The text of a struct of params is long; most PEs share the struct itself.
  for (const PlacedTile& tile : layout.tiles) {
    int program = -1;
    if (tile.set) {
      const std::string key = tile.path + shown(tile.params);
      const auto found = known.find(key);
      if (found != known.end()) {
        program = found->second;
      } else {
        program = static_cast<int>(made->programs.size());
        known[key] = program;
        made->programs.push_back(std::make_unique<Program>());
        Evaluator(compilation, made->programs.back().get())
            .run_tile(tile.path, tile.params, tile.at);
      }
    }
    made->program_of.push_back(program);
    std::array<ColorConfig, kColors> colors = tile.colors;
    if (program >= 0) {
      const Program& code = *made->programs[static_cast<std::size_t>(program)];
      for (std::size_t k = 0; k < kColors; ++k) {
        if (!code.colors[k].set) continue;
        if (colors[k].set) {
          compilation.diagnostics.error(
              code.colors[k].at,
              "color " + std::to_string(k) + " is configured here and in the layout",
              "Keep one of the two.");
        }
        colors[k] = code.colors[k];
      }
    }
    made->colors.push_back(std::move(colors));
  }
  if (layout.width == 0) {
    compilation.diagnostics.error({}, path + " sets no rectangle",
                                  "Call @set_rectangle(width, height) in the layout block.");
  }
  check(compilation, *made);
  return compilation.diagnostics.failed() ? nullptr : std::move(made);
}

}  // namespace tensorpress::csl
