#include "command_line/reports/messages.h"

#include <algorithm>
#include <cstdio>

#include "base/text.h"

namespace tensorpress::cli {
namespace {

struct Flag {
  std::string_view field, name;
};

// Of the fields that the library's messages name.
constexpr Flag kFlags[] = {
    {"absolute", "--abs"},
    {"classes", "--classes"},
    {"codec", "--codec"},
    {"data", "--data"},
    {"dtype", "--dtype"},
    {"edges_per_node", "--edges-per-node"},
    {"features", "--features"},
    {"fewest_bits", "--fewest-bits"},
    {"fill_values", "--fill"},
    {"form", "--form"},
    {"hidden", "--hidden"},
    {"native", "--native"},
    {"nodes", "--nodes"},
    {"offload", "--offload"},
    {"peak_bytes", "--peak"},
    {"plan", "--plan"},
    {"plugin_path", "--plugin-path"},
    {"pointwise_relative", "--pw-rel"},
    {"portable", "--portable"},
    {"psnr", "--psnr"},
    {"ratio", "--ratio"},
    {"raw", "--raw"},
    {"relative", "--rel"},
    {"rounding", "--rounding"},
    {"serialize", "--serialize"},
    {"shape", "--shape"},
    {"transform", "--transform"},
    {"units", "--units"},
    {"variable", "--var"},
};

}  // namespace

std::string printable(std::string_view words) {
  std::string line(words);
  for (char& character : line) {
    if (static_cast<unsigned char>(character) < ' ' || character == 127) character = ' ';
  }
  return line;
}

void print_message(std::string_view sentence) {
  const std::string line = text(printable(text("tensorpress: ", sentence)), "\n");
  std::fputs(line.c_str(), stderr);
}

std::string with_flags(std::string_view words) {
  std::string result;
  while (true) {
    const std::size_t begin = words.find('`');
    const std::size_t end = begin == words.npos ? begin : words.find('`', begin + 1);
    if (end == words.npos) return result.append(words);
    const std::string_view name = words.substr(begin + 1, end - begin - 1);
    const auto flag = std::ranges::find(kFlags, name, &Flag::field);
    result += words.substr(0, begin);
    result += flag == std::end(kFlags) ? words.substr(begin, end + 1 - begin) : flag->name;
    words.remove_prefix(end + 1);
  }
}

std::string sentence_of(const Error& error) {
  const std::string message = with_flags(error.message);
  if (error.code != ErrorCode::likely_fill) return message;
  return text(message, ": --fill V, --range LO:HI or --whole-range");
}

Error about(const std::string& path, Error error) {
  const std::string name = path == "-" ? "standard input" : path;
  const bool named = error.code == ErrorCode::io || error.message.find(name) != std::string::npos;
  if (!named) error.message = text(name, ": ", error.message);
  return error;
}

}  // namespace tensorpress::cli
