#include "model/emit/python/functions.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>

namespace tensorpress::model {
namespace {

std::string_view trimmed(std::string_view words) {
  const std::size_t first = words.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return words.substr(first, words.find_last_not_of(' ') - first + 1);
}

/// "a, b 2" -> {"a", "b 2"}
std::vector<std::string_view> listed(std::string_view words) {
  std::vector<std::string_view> all;
  while (!words.empty()) {
    const std::size_t comma = std::min(words.find(','), words.size());
    const std::string_view each = trimmed(words.substr(0, comma));
    if (!each.empty()) all.push_back(each);
    words.remove_prefix(std::min(comma + 1, words.size()));
  }
  return all;
}

std::pair<std::string_view, int> counted(std::string_view words) {
  const std::size_t space = words.find(' ');
  if (space == std::string_view::npos) return {words, 1};
  int count = 1;
  std::from_chars(words.data() + space + 1, words.data() + words.size(), count);
  return {words.substr(0, space), count};
}

/// One comment above a function; `topic` goes on where a line has none of its own.
void note(PythonFunction& function, std::string_view& topic, std::string_view comment) {
  const std::size_t colon = comment.find(": ");
  if (colon != std::string_view::npos) {
    topic = trimmed(comment.substr(0, colon));
    comment.remove_prefix(colon + 1);
  }
  const std::vector<std::string_view> words = listed(comment);
  const auto append = [&](std::vector<std::string_view>& to) {
    to.insert(to.end(), words.begin(), words.end());
  };
  if (topic == "needs") append(function.needs);
  if (topic == "modules") append(function.modules);
  if (topic == "types") append(function.types);
  if (topic == "operators") {
    for (const std::string_view each : words) function.operators.push_back(counted(each));
  }
  if (topic == "in place" && !words.empty()) {
    constexpr std::string_view kIf = "if ";
    function.in_place = words[0];
    if (words.size() > 1) function.in_place_if = words[1].substr(kIf.size());
  }
}

/// Of "def f(a, b=1, *c):", "a", "b" and "*c".
std::vector<std::string_view> arguments_of(std::string_view definition) {
  const std::size_t open = definition.find('(');
  const std::size_t close = definition.find("):");
  if (open == std::string_view::npos || close == std::string_view::npos) return {};
  std::vector<std::string_view> names = listed(definition.substr(open + 1, close - open - 1));
  for (std::string_view& each : names) each = each.substr(0, each.find('='));
  return names;
}

bool begins_definition(std::string_view line) {
  return line.starts_with("def ") || line.starts_with("class ");
}

std::string_view defined_name(std::string_view line) {
  line.remove_prefix(line.find(' ') + 1);
  std::size_t end = 0;
  while (end < line.size() &&
         (std::isalnum(static_cast<unsigned char>(line[end])) != 0 || line[end] == '_')) {
    ++end;
  }
  return line.substr(0, end);
}

/// Both forms of every function, in the order of emitted files: a portable function that replaces
/// none follows the one that stands before it in its file.
struct Forms {
  std::vector<std::string_view> order;
  std::map<std::string_view, PythonFunction> usual;
  std::map<std::string_view, PythonFunction> portable;
};

void add_portable(Forms& forms, std::string_view file) {
  std::string_view before;
  for (PythonFunction& each : functions_in(file)) {
    if (!forms.usual.contains(each.name)) {
      const auto at = std::find(forms.order.begin(), forms.order.end(), before);
      forms.order.insert(at == forms.order.end() ? at : at + 1, each.name);
    }
    before = each.name;
    forms.portable.emplace(each.name, std::move(each));
  }
}

Forms read_forms() {
  Forms forms;
  for (const std::string_view file : {"storing", "slices", "gradients"}) {
    for (PythonFunction& each : functions_in(python_file(file))) {
      forms.order.push_back(each.name);
      forms.usual.emplace(each.name, std::move(each));
    }
  }
  for (const std::string_view file : {"portable/storing", "portable/gradients"}) {
    add_portable(forms, python_file(file));
  }
  return forms;
}

const Forms& forms() {
  static const Forms kForms = read_forms();
  return kForms;
}

}  // namespace

std::string_view python_file(std::string_view name) {
  const auto found = std::ranges::find(kPythonFiles, name, &EmbeddedFile::name);
  return found == kPythonFiles.end() ? std::string_view() : found->text;
}

std::vector<PythonFunction> functions_in(std::string_view file) {
  std::vector<PythonFunction> all;
  PythonFunction next;
  std::string_view topic;
  std::size_t begin = std::string_view::npos;  // of the definition that is being read
  std::size_t end = 0;                         // behind its last line
  const auto finish = [&] {
    if (begin != std::string_view::npos) all.back().text = file.substr(begin, end - begin);
    begin = std::string_view::npos;
  };
  for (std::size_t at = 0; at < file.size();) {
    const std::size_t after = std::min(file.find('\n', at), file.size() - 1) + 1;
    const std::string_view line = file.substr(at, after - at - 1);
    if (begins_definition(line)) {
      finish();
      next.name = defined_name(line);
      next.arguments = arguments_of(line);
      all.push_back(std::exchange(next, {}));
      begin = at;
      end = after;
    } else if (!line.empty() && line[0] != ' ' && line[0] != ')') {
      finish();
      if (!line.starts_with('#')) next = {};
      if (line.starts_with("# ")) note(next, topic, line.substr(2));
    } else if (!line.empty()) {
      end = after;
    }
    at = after;
  }
  finish();
  return all;
}

const PythonFunction* find_function(std::string_view name, bool native) {
  const auto& first = native ? forms().usual : forms().portable;
  const auto& second = native ? forms().portable : forms().usual;
  for (const auto* each : {&first, &second}) {
    const auto found = each->find(name);
    if (found != each->end()) return &found->second;
  }
  return nullptr;
}

std::vector<std::string_view> function_names() {
  return forms().order;
}

std::vector<const PythonFunction*> functions_for(const std::set<std::string>& names, bool native) {
  std::set<std::string_view> wanted;
  std::vector<std::string_view> open(names.begin(), names.end());
  while (!open.empty()) {
    const std::string_view name = open.back();
    open.pop_back();
    const PythonFunction* const found = find_function(name, native);
    if (found == nullptr || !wanted.insert(found->name).second) continue;
    open.insert(open.end(), found->needs.begin(), found->needs.end());
  }
  std::vector<const PythonFunction*> picked;
  for (const std::string_view name : forms().order) {
    if (wanted.contains(name)) picked.push_back(find_function(name, native));
  }
  return picked;
}

}  // namespace tensorpress::model
