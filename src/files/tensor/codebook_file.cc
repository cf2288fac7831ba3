#include "files/tensor/codebook_file.h"

#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/json_text.h"
#include "files/bytes/text_files.h"

namespace tensorpress::files {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kLargestFile = std::uint64_t{4} << 20;

Result<std::vector<std::uint8_t>> lengths_of(const std::string& path, const Json& object) {
  const auto found = object.find("lengths");
  if (found == object.end() || !found->is_array()) {
    return bad_argument(path, " is not a codebook: it has no list \"lengths\"");
  }
  std::vector<std::uint8_t> lengths;
  for (const Json& length : *found) {
    if (!length.is_number_integer() || length.get<std::int64_t>() < 0 ||
        length.get<std::int64_t>() > 255) {
      return bad_argument(path, ": length ", lengths.size(), " of the codebook is ", length.dump(),
                          "; a code has 1 to 24 bits");
    }
    lengths.push_back(length.get<std::uint8_t>());
  }
  return lengths;
}

/// A number beside the lengths that must agree with them.
Result<void> check_number(const std::string& path, const Json& object, const char* name,
                          std::int64_t expected) {
  const auto found = object.find(name);
  if (found == object.end()) return {};
  if (!found->is_number_integer() || found->get<std::int64_t>() != expected) {
    return bad_argument(path, " says \"", name, "\": ", found->dump(), ", but its lengths mean ",
                        expected);
  }
  return {};
}

}  // namespace

Result<void> write_codebook(const std::string& path, const ceresz2::Codebook& book,
                            const std::string& made_with) {
  const Json object = {{"codec", "ceresz2"},
                       {"symbols", book.symbols()},
                       {"first_symbol", book.first_symbol()},
                       {"lengths", book.lengths()},
                       {"made_with", made_with}};
  const std::string bytes = object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  return write_text(path, bytes);
}

Result<CodebookFile> read_codebook(const std::string& path) {
  TRY(const std::string bytes, read_text(path, kLargestFile, "a codebook"));
  const auto parsed = parse_json_object<Json>(bytes);
  if (!parsed.ok()) return bad_argument(path, " is not a codebook: ", parsed.error().message);
  const Json& object = *parsed;
  const auto codec = object.find("codec");
  if (codec == object.end() || *codec != "ceresz2") {
    return bad_argument(path, " is not a codebook of ceresz2: its \"codec\" is ",
                        codec == object.end() ? "missing" : codec->dump());
  }
  TRY(const auto lengths, lengths_of(path, object));
  RETURN_IF_ERROR(check_number(path, object, "symbols", static_cast<std::int64_t>(lengths.size())));
  auto book = ceresz2::Codebook::from_lengths(lengths);
  if (!book.ok()) return bad_argument(path, ": ", book.error().message);
  RETURN_IF_ERROR(check_number(path, object, "first_symbol", book->first_symbol()));
  const auto made_with = object.find("made_with");
  return CodebookFile{std::move(*book), made_with != object.end() && made_with->is_string()
                                            ? made_with->get<std::string>()
                                            : std::string()};
}

}  // namespace tensorpress::files
