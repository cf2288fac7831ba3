#include "data_sets.h"

#include <filesystem>
#include <sstream>

#include "base/errors.h"

namespace tensorpress::cli {
namespace {

constexpr double kRelative = 1e-4;  // unless told

}  // namespace

void DataSets::declare(Arguments& arguments) {
  arguments
      .option("FILES", sets,
              "data sets (.npy, or raw with --shape and --dtype); fields of one data set are "
              "separated by commas")
      .required();
  arguments.option("--rel", relative, "bound, as a share of each field's value range");
  arguments.option("--abs", absolute, "bound, absolute");
  arguments.option("--fill", fill_values, "a value that stands for no data; repeatable");
  raw.declare(arguments);
}

std::vector<std::string> fields_of(const std::string& set) {
  if (set.empty()) return {set};
  std::vector<std::string> fields;
  std::istringstream words(set);
  for (std::string field; std::getline(words, field, ',');) fields.push_back(field);
  return fields;
}

std::vector<std::string> DataSets::files() const {
  std::vector<std::string> all;
  for (const std::string& set : sets) {
    for (std::string& field : fields_of(set)) all.push_back(std::move(field));
  }
  return all;
}

std::string DataSets::bound_in_words() const {
  return absolute ? text("ABS ", *absolute) : text("REL ", relative.value_or(kRelative));
}

Result<std::vector<benchmark::DeltaDistribution>> DataSets::count(std::uint32_t symbols) const {
  if (relative && absolute) return bad_argument("--rel and --abs exclude each other");
  benchmark::DeltaOptions options;
  options.relative = !absolute.has_value();
  options.bound = absolute.value_or(relative.value_or(kRelative));
  options.fill_values = fill_values;
  options.symbols = symbols;
  TRY(options.raw, raw.format());
  std::vector<benchmark::DeltaDistribution> distributions;
  for (const std::string& set : sets) {
    const std::vector<std::string> fields = fields_of(set);
    std::string name = std::filesystem::path(fields.front()).stem().string();
    if (fields.size() > 1) name += text(" and ", fields.size() - 1, " more");
    TRY(auto counted, benchmark::count_deltas_of_files(name, fields, options));
    distributions.push_back(std::move(counted));
  }
  return distributions;
}

Result<files::CodebookFile> open_codebook(const std::string& name) {
  if (name != "default") return files::read_codebook(name);
  TRY(ceresz2::Codebook book, ceresz2::Codebook::from_text(ceresz2::kDefaultCodebookText));
  return files::CodebookFile{std::move(book), "ships with the library"};
}

}  // namespace tensorpress::cli
