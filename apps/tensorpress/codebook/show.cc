// tensorpress codebook show: code lengths and expected bits.
#include <memory>

#include "base/errors.h"
#include "command_line/reports/formatted.h"
#include "command_line/reports/json_output.h"
#include "command_line/verb.h"
#include "data_sets.h"

namespace tensorpress::cli {
namespace {

using ceresz2::Codebook;

/// Bits of a value with its flag, for the distribution that the book suits best.
double expected_bits(const Codebook& book) {
  std::vector<double> own;
  for (const std::uint8_t length : book.lengths()) {
    own.push_back(1.0 / static_cast<double>(std::uint64_t{1} << length));
  }
  return 1 + book.expected_bits(own);
}

Json to_json(const files::CodebookFile& file) {
  const Codebook& book = file.book;
  return {{"codec", "ceresz2"},
          {"symbols", book.symbols()},
          {"first_symbol", book.first_symbol()},
          {"expected_bits", json_number(expected_bits(book))},
          {"lengths", book.lengths()},
          {"text", book.to_text()},
          {"made_with", file.made_with}};
}

/// "-3...-1": symbols whose codes have one length, in runs.
std::string runs_of(const Codebook& book, unsigned length) {
  std::string runs;
  const auto lengths = book.lengths();
  for (std::size_t i = 0; i < lengths.size();) {
    std::size_t end = i;
    while (end < lengths.size() && lengths[end] == length) ++end;
    if (end == i) {
      ++i;
      continue;
    }
    const auto first = static_cast<std::int64_t>(i) + book.first_symbol();
    const auto last = static_cast<std::int64_t>(end) - 1 + book.first_symbol();
    runs += first == last ? text(" ", first) : text(" ", first, "...", last);
    i = end;
  }
  return runs;
}

std::string to_text(const files::CodebookFile& file) {
  const Codebook& book = file.book;
  std::string lines = formatted(
      "codec          ceresz2\nsymbols        %u, from %lld\nmade with      %s\n", book.symbols(),
      static_cast<long long>(book.first_symbol()), file.made_with.c_str());
  lines += formatted(
      "expected bits  %.3f per value with its flag, for the distribution it suits best\n\n",
      expected_bits(book));
  lines += "bits  symbols  which\n";
  std::vector<std::size_t> of_length(kernels::huffman::kMaxCodeBits + 1);
  for (const std::uint8_t length : book.lengths()) ++of_length[length];
  for (unsigned length = 1; length < of_length.size(); ++length) {
    if (of_length[length] == 0) continue;
    std::string runs = runs_of(book, length);
    constexpr std::size_t kWidth = 80;
    if (runs.size() > kWidth) runs = runs.substr(0, runs.rfind(' ', kWidth)) + " ...";
    lines += formatted("%4u %8zu %s\n", length, of_length[length], runs.c_str());
  }
  return lines;
}

Result<Report> run(const std::string& name) {
  TRY(const auto file, open_codebook(name));
  return Report{.text = to_text(file), .json = json_text(to_json(file))};
}

Action declare(Arguments& arguments) {
  auto name = std::make_shared<std::string>();
  arguments.option("CODEBOOK", *name, "a file, or default").required();
  return [name](Reporter&) { return run(*name); };
}

}  // namespace

Verb codebook_show_verb() {
  return {.name = "show",
          .summary = "print code lengths and expected bits",
          .json = kOneObject,
          .declare = declare};
}

}  // namespace tensorpress::cli
