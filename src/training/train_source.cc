// Prints trained literals as the C++ file that the library is built with.
#include "base/text.h"
#include "training/train.h"

namespace tensorpress::dense {
namespace {

// Numbers, with runs of a repeated number left to the reader: {count, number} pairs.
template <class Range>
void append_runs(std::string& source, const Range& numbers) {
  std::string line = "   ";
  for (auto at = numbers.begin(); at != numbers.end();) {
    auto end = at;
    while (end != numbers.end() && *end == *at) ++end;
    const std::string run = text(" {", end - at, ", ", int{*at}, "},");
    if (line.size() + run.size() > 98) {
      source += line + "\n";
      line = "   ";
    }
    line += run;
    at = end;
  }
  source += line + "\n";
}

}  // namespace

std::string literals_source(const LorenzoLiterals& literals, std::string_view origin) {
  std::string source =
      "// Trained tables of the Lorenzo coder as runs {count, number}. Generated: ";
  source += origin;
  source += ". Do not edit:\n// streams are written with exactly these.\n";
  source += "// clang-format off\n#include \"codecs/dense/lorenzo/model.h\"\n\n";
  source += "namespace tensorpress::dense {\nnamespace {\n\n";
  source += "struct Run {\n  std::uint16_t count;\n  std::uint16_t number;\n};\n\n";
  source += "constexpr Run kCellClasses[] = {\n";
  append_runs(source, literals.classes);
  source += "};\n\nconstexpr Run kCellBits[] = {\n";
  append_runs(source, literals.bits);
  source += "};\n\nconstexpr Run kValues[] = {\n";
  for (const auto& table : literals.values) append_runs(source, table);
  source += "};\n\nconstexpr Run kBelow[] = {\n";
  for (const auto& table : literals.below) append_runs(source, table);
  source += "};\n\n";
  source +=
      "template <class Number, std::size_t kRuns>\n"
      "void expand(const Run (&runs)[kRuns], Number* to) {\n"
      "  for (const Run run : runs) {\n"
      "    for (int i = 0; i < run.count; ++i) *to++ = static_cast<Number>(run.number);\n"
      "  }\n"
      "}\n\n"
      "LorenzoLiterals expand_all() {\n"
      "  LorenzoLiterals literals;\n"
      "  expand(kCellClasses, literals.classes.data());\n"
      "  expand(kCellBits, literals.bits.data());\n"
      "  expand(kValues, literals.values[0].data());\n"
      "  expand(kBelow, literals.below[0].data());\n"
      "  return literals;\n"
      "}\n\n"
      "}  // namespace\n\n"
      "const LorenzoLiterals& lorenzo_literals() {\n"
      "  static const LorenzoLiterals literals = expand_all();\n"
      "  return literals;\n"
      "}\n\n"
      "}  // namespace tensorpress::dense\n";
  return source;
}

}  // namespace tensorpress::dense
