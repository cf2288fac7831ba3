// tensorpress-csl LAYOUT.csl [--arch wse2|wse3] [--params a:1,b:2] [--import-path FOLDER]: compiles
// a CSL program and runs it for a host that speaks over a pipe; python/tensorpress/csl/runtime.py
// is such a host. A request is a line of words, and bytes behind it where it carries values; an
// answer is a line "ok BYTES" or "error BYTES" and so many bytes. Values are little-endian, of 32
// bits.
//
//   id NAME                                     -> its number, as text
//   launch NAME COUNT + values
//   h2d ID X Y WIDTH HEIGHT ELEMENTS BITS STREAM COUNT + values
//   d2h ID X Y WIDTH HEIGHT ELEMENTS BITS STREAM COUNT -> values
//   finish | cycles | lines | quit
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <vector>

#include "base/errors.h"
#include "csl/machine/session.h"
#include "csl/syntax/parser.h"

namespace tensorpress::csl {
namespace {

std::optional<std::string> file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void answer(std::string_view word, std::string_view bytes) {
  std::printf("%s %zu\n", std::string(word).c_str(), bytes.size());
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  std::fflush(stdout);
}

std::string_view bytes_of_values(const std::vector<std::uint32_t>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * 4};
}

Result<std::vector<std::uint32_t>> values_from(std::istream& input, std::size_t count) {
  if (count > (std::size_t{1} << 28)) return bad_argument(count, " values are more than 2^28");
  std::vector<std::uint32_t> values(count);
  input.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(count * 4));
  if (input.gcount() != static_cast<std::streamsize>(count * 4))
    return truncated("the host closed the pipe");
  return values;
}

Result<std::string> serve(Session& session, const std::string& line, std::istream& input) {
  std::istringstream words(line);
  std::string verb;
  words >> verb;
  if (verb == "id") {
    std::string name;
    words >> name;
    TRY(const int id, session.id_of(name));
    return std::to_string(id);
  }
  if (verb == "launch") {
    std::string name;
    std::size_t count = 0;
    words >> name >> count;
    TRY(const auto values, values_from(input, count));
    RETURN_IF_ERROR(session.launch(name, values));
    return std::string();
  }
  if (verb == "h2d" || verb == "d2h") {
    int id = 0, bits = 32, stream = 0;
    Rectangle where;
    std::size_t elements = 0, count = 0;
    words >> id >> where.x >> where.y >> where.width >> where.height >> elements >> bits >>
        stream >> count;
    if (!words) return bad_argument("a copy needs nine numbers");
    if (verb == "h2d") {
      TRY(const auto values, values_from(input, count));
      RETURN_IF_ERROR(stream != 0 ? session.stream_to(id, where, elements, bits, values)
                                  : session.copy_to(id, where, elements, bits, values));
      return std::string();
    }
    if (count > (std::size_t{1} << 28)) return bad_argument(count, " values are more than 2^28");
    std::vector<std::uint32_t> values(count);
    RETURN_IF_ERROR(stream != 0 ? session.stream_from(id, where, elements, bits, values)
                                : session.copy_from(id, where, elements, bits, values));
    return std::string(bytes_of_values(values));
  }
  if (verb == "finish") {
    RETURN_IF_ERROR(session.finish());
    return std::string();
  }
  if (verb == "cycles") return std::to_string(session.cycles());
  if (verb == "lines") {
    std::string all;
    for (const std::string& one : session.take_lines()) all += one + "\n";
    return all;
  }
  return bad_argument("'", verb, "' is not a request");
}

/// tensorpress-csl parse FILES: what of them is CSL.
int parse_all(int count, char** words) {
  int wrong = 0;
  for (int k = 0; k < count; ++k) {
    Sources sources;
    Diagnostics diagnostics;
    const std::optional<std::string> text = file_text(words[k]);
    if (text && parsed(sources, sources.add(words[k], *text), diagnostics) != nullptr) continue;
    ++wrong;
    if (!text) std::printf("%s cannot be read\n", words[k]);
    for (const Diagnostic& one : diagnostics.all()) {
      std::fputs(rendered(sources, one).c_str(), stdout);
    }
  }
  std::printf("%d files, %d do not parse\n", count, wrong);
  return wrong == 0 ? 0 : 1;
}

int run(int count, char** words) {
  if (count > 1 && std::string_view(words[1]) == "parse") return parse_all(count - 2, words + 2);
  Compilation compilation;
  compilation.read = file_text;
  std::string path;
  for (int k = 1; k < count; ++k) {
    std::string word = words[k];
    const auto value = [&](const std::string& name) -> std::optional<std::string> {
      if (word == name && k + 1 < count) return words[++k];
      if (word.starts_with(name + "=")) return word.substr(name.size() + 1);
      return std::nullopt;
    };
    if (const auto arch = value("--arch")) {
      compilation.architecture = *arch == "wse3" ? Architecture::wse3 : Architecture::wse2;
    } else if (const auto params = value("--params")) {
      std::istringstream list(*params);
      for (std::string one; std::getline(list, one, ',');) {
        const std::size_t colon = one.find(':');
        if (colon != std::string::npos)
          compilation.params[one.substr(0, colon)] = one.substr(colon + 1);
      }
    } else if (const auto folder = value("--import-path")) {
      compilation.import_folders.push_back(*folder);
    } else {
      path = word;
    }
  }
  const std::unique_ptr<Executable> executable = built(compilation, path);
  std::string words_of_compiler;
  for (const Diagnostic& one : compilation.diagnostics.all()) {
    if (executable == nullptr || one.severity == Severity::error)
      words_of_compiler += rendered(compilation.sources, one);
  }
  for (const std::string& line : compilation.prints) words_of_compiler += line + "\n";
  answer(executable != nullptr ? "ok" : "error", words_of_compiler);
  if (executable == nullptr) return 2;
  Session session(compilation, *executable);
  for (std::string line; std::getline(std::cin, line) && line != "quit";) {
    const Result<std::string> result = serve(session, line, std::cin);
    if (result.ok()) {
      answer("ok", *result);
    } else {
      answer("error", result.error().message);
    }
  }
  return 0;
}

}  // namespace
}  // namespace tensorpress::csl

int main(int count, char** words) {
  return tensorpress::csl::run(count, words);
}
