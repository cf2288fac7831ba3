#include "array_files.h"

#include <algorithm>
#include <filesystem>

#include "base/errors.h"
#include "files/hdf5_register.h"
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

std::string output_for(const std::string& input, const std::string& output,
                       const files::NetcdfVariable& variable, bool several) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const bool folder =
      !output.empty() && (output.ends_with('/') || fs::is_directory(output, ignored));
  if (!output.empty() && !folder && !several) return output;
  std::string name = variable.path;
  std::ranges::replace(name, '/', '.');
  const fs::path beside = folder ? fs::path(output) : fs::path(input).parent_path();
  return (beside / text(fs::path(input).stem().string(), ".", name, ".tpz")).string();
}

}  // namespace tensorpress::cli
