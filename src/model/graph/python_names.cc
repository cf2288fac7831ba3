#include "model/graph/python_names.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/utf8.h"
#include "model/emit/python/functions.h"

namespace tensorpress::model {
namespace {

constexpr std::array<std::string_view, 35> kKeywords = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};

constexpr std::array<std::string_view, 30> kWords = {
    // What the file begins with.
    "F", "Step", "aten", "expect", "init", "logit_slices", "math", "owner", "packing", "parameter",
    "buffer", "pool_indices", "seeded_dropout", "tensor_codecs", "tie", "torch", "train_step",
    // In the two passes and in what calls them.
    "B", "P", "S", "bits", "device", "dict", "give", "gradient", "iter", "next", "params", "seed",
    "self"};

/// Modules that the file imports: one beside it that is called so would be found before them.
constexpr std::array<std::string_view, 3> kImported = {"math", "tensorpress", "torch"};

/// At the head of the file that checks gradients; no variables of the passes.
constexpr std::array<std::string_view, 3> kWordsOfCheck = {"EPSILON", "inputs", "step"};

bool contains(const auto& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::vector<std::string_view> reserved_names() {
  std::vector<std::string_view> names(kKeywords.begin(), kKeywords.end());
  names.insert(names.end(), kWords.begin(), kWords.end());
  const std::vector<std::string_view> functions = function_names();
  names.insert(names.end(), functions.begin(), functions.end());
  return names;
}

bool is_module_name(std::string_view name) {
  const bool letters = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  return letters && !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
         !contains(kKeywords, name) && !contains(kImported, name);
}

std::string escaped_for_python(std::string_view words) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const bool readable = is_utf8(words);
  std::string escaped;
  for (const char c : words) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\' || c == '"') {
      escaped += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !readable)) {
      escaped += {'\\', 'x', kDigits[byte / 16], kDigits[byte % 16]};
    } else {
      escaped += c;
    }
  }
  return escaped;
}

Graph with_python_symbols(Graph graph, Sizes& sizes) {
  const std::vector<std::string_view> reserved = reserved_names();
  std::map<std::string, std::string> renamed;
  for (std::string& symbol : graph.symbols) {
    if (!contains(reserved, symbol) && !contains(kWordsOfCheck, symbol)) continue;
    std::string name = symbol;
    do {
      name += '_';
    } while (contains(reserved, name) || contains(graph.symbols, name));
    renamed[symbol] = name;
    symbol = name;
  }
  if (renamed.empty()) return graph;
  const auto rename = [&](Dim& dim) {
    const auto found = renamed.find(dim.symbol);
    if (found != renamed.end()) dim.symbol = found->second;
  };
  for (Value& value : graph.values) {
    std::for_each(value.type.shape.begin(), value.type.shape.end(), rename);
    rename(value.type.entries);
  }
  for (const auto& [old_name, new_name] : renamed) {
    auto size = sizes.extract(old_name);
    if (size.empty()) continue;
    size.key() = new_name;
    sizes.insert(std::move(size));
  }
  return graph;
}

}  // namespace tensorpress::model
