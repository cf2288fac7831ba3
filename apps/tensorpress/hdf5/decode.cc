// tensorpress hdf5 decode: what the HDF5 filter's values in a file mean.
#include <algorithm>
#include <charconv>
#include <memory>

#include "base/errors.h"
#include "command_line/verb.h"
#include "filter_settings.h"

namespace tensorpress::cli {
namespace {

Result<std::vector<std::uint32_t>> parse_words(const std::string& values) {
  std::vector<std::uint32_t> words;
  std::size_t at = 0;
  while (at < values.size()) {
    const std::size_t end = std::min(values.find_first_of(", ", at), values.size());
    const auto word = std::string_view(values).substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    // h5dump prints the numbers with a sign.
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || stop != word.data() + word.size() || number < INT32_MIN ||
        number > UINT32_MAX) {
      return bad_argument("'", word, "' is not a number of 32 bits");
    }
    words.push_back(static_cast<std::uint32_t>(number));
  }
  // ncdump's _Filter begins with the filter's number, h5repack's UD also has flags and a count.
  if (!words.empty() && words[0] == std::uint32_t{files::kHdf5FilterId}) {
    words.erase(words.begin());
    if (words.size() > 2 && words[0] <= 1 && words[1] == words.size() - 2) {
      words.erase(words.begin(), words.begin() + 2);
    }
  }
  return words;
}

Result<Report> run(const std::string& values) {
  TRY(const auto words, parse_words(values));
  TRY(const auto settings, files::Hdf5FilterSettings::from_words(words));
  const ReportFields fields = describe(settings);
  return Report{.text = fields.to_text(), .json = json_text(fields.to_json())};
}

Action declare(Arguments& arguments) {
  auto values = std::make_shared<std::string>();
  arguments.option("VALUES", *values, "as h5dump, ncdump or h5repack have them: N,N,...")
      .required()
      .shown_as(" ");
  return [values](Reporter&) { return run(*values); };
}

}  // namespace

Verb hdf5_decode_verb() {
  return {.name = "decode",
          .summary = "say what the filter's values in a file mean",
          .json = kOneObject,
          .declare = declare};
}

}  // namespace tensorpress::cli
