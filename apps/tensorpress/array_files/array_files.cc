#include "array_files.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/errors.h"
#include "command_line/inputs/paths.h"
#include "command_line/inputs/stream_names.h"
#include "files/conventions/hdf5_register.h"
#include "filter.h"

namespace tensorpress::cli {

Result<void> register_filter() {
  return files::register_hdf5_filter(&hdf5::kFilterClass);
}

Result<void> prepare_for(const std::string& path) {
  const bool hdf5 = files::array_format_of(path) == files::ArrayFormat::hdf5;
  return hdf5 ? register_filter() : Result<void>();
}

Result<std::vector<const files::NetcdfVariable*>> chosen_variables(
    const files::NetcdfFile& file, const std::vector<std::string>& names) {
  std::vector<const files::NetcdfVariable*> chosen;
  const auto add_all = [&] {
    for (const auto& variable : file.variables()) {
      if (variable.refusal.empty() && !variable.coordinate) chosen.push_back(&variable);
    }
  };
  for (const std::string& name : names) {
    if (name == "*") {
      add_all();
      continue;
    }
    TRY(const auto* const variable, file.find(name));
    chosen.push_back(variable);
  }
  if (names.empty()) add_all();
  std::ranges::sort(chosen);
  const auto repeated = std::ranges::unique(chosen);
  chosen.erase(repeated.begin(), repeated.end());
  if (chosen.empty()) {
    std::string reasons;
    for (const auto& variable : file.variables()) {
      if (variable.coordinate) continue;
      reasons += text(reasons.empty() ? ": '" : "; '", variable.path, "' ", variable.refusal);
    }
    return bad_argument("no variable can be compressed", reasons);
  }
  return chosen;
}

Result<std::vector<std::string>> outputs_for(
    const std::string& input, const std::string& output,
    const std::vector<const files::NetcdfVariable*>& variables) {
  namespace fs = std::filesystem;
  const bool folder = !output.empty() && names_directory(output);
  const bool file = !output.empty() && !folder;
  if (file && variables.size() > 1) {
    return bad_argument("several variables need an output directory: -o DIR/ instead of -o ",
                        output);
  }
  const fs::path beside = folder ? fs::path(output) : fs::path(input).parent_path();
  std::vector<std::string> outputs;
  std::map<std::string, std::string> made_from;  // variables by the names of their files
  for (const auto* const variable : variables) {
    const std::string name = text(is_pipe(input) ? "stdin" : fs::path(input).stem().string(),
                                  stream_extension(variable->path));
    outputs.push_back(file ? output : (beside / name).string());
    const auto [other, is_new] = made_from.emplace(outputs.back(), variable->path);
    if (!is_new) {
      return bad_argument("variables '", other->second, "' and '", variable->path,
                          "' would both become '", outputs.back(),
                          "'; compress one at a time: --var NAME -o FILE.tpz");
    }
  }
  return outputs;
}

}  // namespace tensorpress::cli
