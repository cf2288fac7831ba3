#include "model/lowering/program.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace tensorpress::model {
namespace {

bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Where a line begins to read: behind `a, b = `, which gives names and reads none.
std::size_t behind_targets(const std::string& code) {
  const std::size_t equals = code.find(" = ");
  if (equals == std::string::npos) return 0;
  const bool names = std::all_of(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(equals),
                                 [](char c) { return in_word(c) || c == ',' || c == ' '; });
  return names ? equals + 3 : 0;
}

/// S["x"] becomes S.pop("x") in its last line, where it is read once.
void pop_last(std::string& code, const std::string& name) {
  const std::size_t first = code.find(name);
  if (first == std::string::npos || code.find(name, first + 1) != std::string::npos) return;
  const std::string key = name.substr(2, name.size() - 3);
  code.replace(first, name.size(), text("S.pop(", key, ")"));
}

}  // namespace

std::string stored_name(const std::string& name) {
  return text("S[\"", name, "\"]");
}

bool is_stored(const std::string& variable) {
  return variable.starts_with("S[\"");
}

std::string key_of_part(const std::string& name, std::string_view suffix) {
  return text(name, ":", suffix);
}

std::string key_of_step(std::string_view name) {
  return text(":", name);
}

// Identifiers that follow no dot, and S["..."] whole. Strings are skipped.
std::vector<std::string> names_in(const std::string& code) {
  std::vector<std::string> names;
  for (std::size_t i = behind_targets(code); i < code.size();) {
    if (code[i] == '"') {
      i = std::min(code.find('"', i + 1), code.size() - 1) + 1;
    } else if (in_word(code[i])) {
      std::size_t end = i;
      while (end < code.size() && in_word(code[end])) ++end;
      if (code.compare(i, 3, "S[\"") == 0) {
        end = std::min(code.find("\"]", i), code.size() - 2) + 2;
      }
      if (i == 0 || code[i - 1] != '.') names.push_back(code.substr(i, end - i));
      i = end;
    } else {
      ++i;
    }
  }
  return names;
}

std::set<std::string> names_read_by(const std::vector<Line>& lines) {
  std::set<std::string> names;
  for (const Line& line : lines) {
    for (std::string& name : names_in(line.code)) names.insert(std::move(name));
  }
  return names;
}

std::vector<std::size_t> Variable::memories() const {
  std::vector<std::size_t> all = {memory};
  all.insert(all.end(), also.begin(), also.end());
  return all;
}

void Program::find_lifetimes() {
  std::map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (is_stored(variables[i].name)) known[variables[i].name] = i;
  }
  for (auto* lines : {&forward, &backward}) {
    std::map<std::string, std::size_t> local = known;
    std::map<std::size_t, std::size_t> last;
    for (std::size_t i = 0; i < lines->size(); ++i) {
      Line& line = (*lines)[i];
      const auto read = [&](std::size_t id) {
        if (std::find(line.reads.begin(), line.reads.end(), id) == line.reads.end()) {
          line.reads.push_back(id);
        }
        last[id] = i;
      };
      // Names are read before they are given anew: x = x + y reads the old x.
      for (const std::string& name : names_in(line.code)) {
        const auto found = local.find(name);
        if (found != local.end()) read(found->second);
      }
      for (const std::size_t id : line.defines) {
        local[variables[id].name] = id;
        last[id] = i;
      }
    }
    for (const auto& [id, i] : last) {
      const bool kept = is_stored(variables[id].name);
      if (kept && lines == &forward) continue;
      if (kept) pop_last((*lines)[i].code, variables[id].name);
      (*lines)[i].last.push_back(id);
    }
  }
}

std::vector<Moment> Program::moments() const {
  std::vector<std::size_t> holders(memories.size(), 0);
  std::vector<bool> alive(variables.size(), false);
  std::vector<bool> given(memories.size(), false);
  Moment now;
  const auto add = [&](std::size_t memory, std::int64_t sign) {
    now.total += sign * memories[memory].bytes;
    now.by_kind[static_cast<std::size_t>(memories[memory].kind)] += sign * memories[memory].bytes;
  };
  const auto hold = [&](std::size_t id) {
    if (alive[id]) return;
    alive[id] = true;
    for (const std::size_t memory : variables[id].memories()) {
      if (holders[memory]++ == 0) add(memory, 1);
    }
  };
  const auto release = [&](std::size_t id) {
    if (!alive[id]) return;
    alive[id] = false;
    for (const std::size_t memory : variables[id].memories()) {
      if (--holders[memory] == 0) add(memory, -1);
    }
  };
  // Inputs are the caller's, weight gradients stay: they are held by nobody and never released.
  for (std::size_t m = 0; m < memories.size(); ++m) {
    if (memories[m].kind == Memory::Kind::input) {
      ++holders[m];
      add(m, 1);
    }
  }
  std::vector<Moment> result;
  for (const auto* lines : {&forward, &backward}) {
    for (const Line& line : *lines) {
      for (const std::size_t id : line.defines) hold(id);
      Moment moment = now;
      moment.scratch = line.scratch;
      moment.total += line.scratch;
      result.push_back(moment);
      for (const std::size_t id : line.last) {
        const std::size_t memory = variables[id].memory;
        const bool stays = memories[memory].kind == Memory::Kind::weight_gradient;
        if (stays && !update_in_backward && !given[memory]) {
          given[memory] = true;
          ++holders[memory];
        }
        release(id);
      }
    }
    if (lines == &forward) {  // what the function's end lets go
      for (std::size_t id = 0; id < variables.size(); ++id) {
        if (!is_stored(variables[id].name)) release(id);
      }
    }
  }
  return result;
}

}  // namespace tensorpress::model
