#include "model/emit/functions/functions.h"

#include <cctype>

#include "base/text.h"

namespace tensorpress::model {
namespace {

std::vector<EmittedFunction> all_functions() {
  std::vector<EmittedFunction> all;
  for (const auto list : {packing_functions(), slices_functions(), gradients_functions()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

bool mentions(const std::string& code, std::string_view name) {
  for (std::size_t at = code.find(name); at != std::string::npos; at = code.find(name, at + 1)) {
    const char before = at == 0 ? ' ' : code[at - 1];
    const bool inside = std::isalnum(static_cast<unsigned char>(before)) != 0 || before == '_';
    if (!inside && code.compare(at + name.size(), 1, "(") == 0) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string_view> emitted_function_names() {
  std::vector<std::string_view> names;
  for (const EmittedFunction& each : all_functions()) names.push_back(each.name);
  return names;
}

std::string emitted_functions(const std::string& code, bool native) {
  const auto body = [&](const EmittedFunction& each) {
    const bool own = native ? !each.native.empty() : each.portable.empty();
    return own ? each.native : each.portable;
  };
  const std::vector<EmittedFunction> known = all_functions();
  std::vector<bool> wanted(known.size());
  std::string all = code;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (wanted[i] || !mentions(all, known[i].name)) continue;
      wanted[i] = more = true;
      all += body(known[i]);
    }
  }
  std::string functions;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (wanted[i]) functions += text("\n", body(known[i]));
  }
  return functions;
}

}  // namespace tensorpress::model
