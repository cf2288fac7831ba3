// Finds SDRBench's data sets in the folders of a directory.
#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "base/errors.h"
#include "benchmark/studies/table4.h"
#include "files/tensor/raw_format.h"

namespace tensorpress::benchmark {
namespace {

namespace fs = std::filesystem;

std::string in_lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return text;
}

const Table4DataSet* published_as(const std::string& folder) {
  const std::string name = in_lower_case(folder);
  for (const Table4DataSet& data_set : table4_data_sets()) {
    if (name.find(data_set.folder) != std::string::npos) return &data_set;
  }
  return nullptr;
}

Result<std::vector<fs::path>> sorted_entries(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    entries.push_back(entry->path());
  }
  if (error) return io_error("cannot read ", directory.string(), ": ", error.message());
  std::ranges::sort(entries);
  return entries;
}

void add_file(const fs::path& path, FoundDataSet& data_set) {
  constexpr std::array<std::string_view, 3> kEndings = {".f32", ".dat", ".bin"};
  const std::string name = path.filename().string();
  const auto named = files::raw_format_of_name(name);
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return;
  if (!named && std::ranges::find(kEndings, path.extension().string()) == kEndings.end()) return;
  if (!named && data_set.published == nullptr) {
    data_set.skipped.push_back(text(name, " does not say its shape (NAME_AxBxC.f32)"));
    return;
  }
  const files::RawFormat format =
      named ? *named : files::RawFormat{data_set.published->shape, DType::f32};
  const std::uint64_t expected = format.shape.element_count() * size_of(format.dtype);
  const std::uint64_t size = fs::file_size(path, error);
  if (error || size != expected) {
    data_set.skipped.push_back(text(name, " has ", size, " bytes, not the ", expected, " of ",
                                    format.shape.to_string(), " ", name_of(format.dtype)));
  } else if (format.dtype != DType::f32 && format.dtype != DType::f64) {
    data_set.skipped.push_back(text(name, " is ", name_of(format.dtype), ", not f32 or f64"));
  } else {
    data_set.files.push_back({path.string(), format});
  }
}

}  // namespace

Result<FoundData> find_table4_data(const std::string& directory) {
  TRY(const auto folders, sorted_entries(directory));
  FoundData found;
  for (const fs::path& folder : folders) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) continue;
    FoundDataSet data_set{.name = folder.filename().string()};
    data_set.published = published_as(data_set.name);
    if (data_set.published != nullptr) data_set.name = data_set.published->name;
    TRY(const auto entries, sorted_entries(folder));
    for (const fs::path& path : entries) add_file(path, data_set);
    if (data_set.files.empty() && data_set.skipped.empty()) continue;
    found.data_sets.push_back(std::move(data_set));
  }
  for (const Table4DataSet& published : table4_data_sets()) {
    const bool there = std::ranges::any_of(
        found.data_sets, [&](const FoundDataSet& each) { return each.published == &published; });
    if (!there) found.missing.emplace_back(published.name);
  }
  return found;
}

}  // namespace tensorpress::benchmark
