#include "command_line/inputs/history_line.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "base/errors.h"
#include "command_line/inputs/shell_words.h"
#include "tensorpress/version.h"

namespace tensorpress::cli {
namespace {

std::string& command() {
  static std::string words;
  return words;
}

Result<std::time_t> time_to_tell() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes the environment
  const char* const given = std::getenv("SOURCE_DATE_EPOCH");
  if (given == nullptr) return std::time(nullptr);
  const std::string_view digits(given);
  std::time_t seconds = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  constexpr std::time_t kYear10000 = 253402300800;
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size() || seconds < 0 ||
      seconds >= kYear10000) {
    return bad_argument("SOURCE_DATE_EPOCH is '", digits.substr(0, 40),
                        "', and should be a number of seconds since 1970");
  }
  return seconds;
}

}  // namespace

void remember_command(int argc, const char* const* argv) {
  command().clear();
  for (int i = 1; i < argc; ++i) command() += text(i > 1 ? " " : "", shell_word(argv[i]));
  for (char& character : command()) {
    if (static_cast<unsigned char>(character) < ' ' || character == 127) character = ' ';
  }
}

Result<std::string> history_line() {
  TRY(const std::time_t seconds, time_to_tell());
  std::tm utc{};
  std::array<char, 32> stamp{};
  gmtime_r(&seconds, &utc);
  std::strftime(stamp.data(), stamp.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text(stamp.data(), " tensorpress " TENSORPRESS_VERSION_STRING ": ", command());
}

}  // namespace tensorpress::cli
