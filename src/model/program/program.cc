#include "model/program/program.h"

#include <algorithm>

#include "model/program/walk.h"

namespace tensorpress::model {

std::vector<std::size_t> Variable::memories() const {
  std::vector<std::size_t> all = {memory};
  all.insert(all.end(), also.begin(), also.end());
  return all;
}

bool Line::pops(const Stored& stored) const {
  return std::find(popped.begin(), popped.end(), stored) != popped.end();
}

std::vector<Expression> read_by(const Line& line) {
  std::vector<Expression> read;
  if (line.adds) read = line.targets;
  read.push_back(line.value);
  return read;
}

namespace {

std::vector<Name> names_read(const Line& line) {
  std::vector<Name> names;
  for (const Expression& each : read_by(line)) {
    for (Name& name : names_read(each)) names.push_back(std::move(name));
  }
  return names;
}

/// S.pop("x") in the last line that reads it, if that reads it once.
void pop_if_read_once(Line& line, const Stored& stored) {
  const std::vector<Name> names = names_read(line);
  if (std::count(names.begin(), names.end(), Name(stored)) == 1) line.popped.push_back(stored);
}

}  // namespace

void Program::find_lifetimes() {
  std::map<Name, std::size_t> known;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].is_stored()) known[variables[i].name] = i;
  }
  for (auto* lines : {&forward, &backward}) {
    std::map<Name, std::size_t> local = known;
    std::map<std::size_t, std::size_t> last;
    for (std::size_t i = 0; i < lines->size(); ++i) {
      const Line& line = (*lines)[i];
      // Names are read before they are given anew: x = x + y reads the old x.
      for (const Name& name : names_read(line)) {
        const auto found = local.find(name);
        if (found != local.end()) last[found->second] = i;
      }
      for (const std::size_t id : line.defines) {
        local[variables[id].name] = id;
        last[id] = i;
      }
    }
    for (const auto& [id, i] : last) {
      const auto* kept = std::get_if<Stored>(&variables[id].name);
      if (kept != nullptr && lines == &forward) continue;
      if (kept != nullptr) pop_if_read_once((*lines)[i], *kept);
      (*lines)[i].last.push_back(id);
    }
  }
}

Mentions mentions_of(const std::vector<Line>& lines) {
  Mentions mentions;
  const Visit visit = [&](const ExpressionNode& part, bool /*bracketed*/) {
    if (const auto* call = std::get_if<Call>(&part.kind)) {
      if (call->callee.space == Callee::Space::file) mentions.functions.insert(call->callee.name);
    } else if (const auto* element = std::get_if<Element>(&part.kind)) {
      mentions.elements.insert(*element);
    } else if (const auto* symbol = std::get_if<Symbol>(&part.kind)) {
      mentions.symbols.insert(symbol->name);
    } else if (const auto* word = std::get_if<Word>(&part.kind)) {
      mentions.device = mentions.device || word->text == "device";
    }
  };
  for (const Line& line : lines) {
    for (const Expression& each : read_by(line)) walk(each, visit);
  }
  return mentions;
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
  // Inputs are the caller's, weight gradients stay: they are held by no variable and never
  // released.
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
        if (!variables[id].is_stored()) release(id);
      }
    }
  }
  return result;
}

}  // namespace tensorpress::model
