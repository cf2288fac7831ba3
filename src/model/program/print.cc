#include "model/program/print.h"

#include <cmath>

#include "base/text.h"
#include "model/program/walk.h"

namespace tensorpress::model {
namespace {

std::string_view sign_of(Infix infix) {
  switch (infix) {
    case Infix::add:
      return " + ";
    case Infix::sub:
      return " - ";
    case Infix::mul:
      return " * ";
    case Infix::div:
      return " / ";
    case Infix::gt:
      return " > ";
    case Infix::lt:
      return " < ";
    case Infix::ge:
      return " >= ";
    case Infix::le:
      return " <= ";
    case Infix::eq:
      return " == ";
    case Infix::ne:
      return " != ";
  }
  return "";
}

std::string_view prefix_of(Callee::Space space) {
  switch (space) {
    case Callee::Space::torch:
      return "torch.";
    case Callee::Space::sparse:
      return "torch.sparse.";
    case Callee::Space::functional:
      return "F.";
    case Callee::Space::aten:
      return "aten.";
    case Callee::Space::method:
      return ".";
    case Callee::Space::file:
      return "";
  }
  return "";
}

class Printer {
 public:
  Printer(std::string& out, const Line* line) : out_(out), line_(line) {}

  void print(const Expression& expression) {
    std::visit([&](const auto& kind) { kind_of(kind); }, expression.node().kind);
  }
  /// In parentheses if it binds less tightly than its place does.
  void print(const Expression& expression, Binding needed) {
    const bool loose = binding_of(expression) < needed;
    if (loose) out_ += '(';
    print(expression);
    if (loose) out_ += ')';
  }

 private:
  template <class... Parts>
  void put(const Parts&... parts) {
    (append_text(out_, parts), ...);
  }
  void row(const std::vector<Expression>& items) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) put(", ");
      print(items[i]);
    }
  }

  void kind_of(const Name& name) {
    const auto* stored = std::get_if<Stored>(&name);
    const bool pops = stored != nullptr && line_ != nullptr && line_->pops(*stored);
    if (pops) {
      put("S.pop(\"", stored->key, "\")");
    } else {
      put(to_python(name));
    }
  }
  void kind_of(const Parameter& parameter) { put("P[\"", parameter.name, "\"]"); }
  void kind_of(const Buffer& buffer) {
    put(buffer.optional ? "B.get(\"" : "B[\"", buffer.name, buffer.optional ? "\")" : "\"]");
  }
  void kind_of(const Symbol& symbol) { put(symbol.name); }
  void kind_of(const Word& word) { put(word.text); }
  void kind_of(const Number& number) {
    std::visit([&](auto value) { put(value); }, number.value);
    const auto* real = std::get_if<double>(&number.value);
    if (number.point && real != nullptr && *real == std::floor(*real)) put(".0");
  }
  void kind_of(const Quoted& quoted) { put("\"", quoted.words, "\""); }
  void kind_of(const Element& element) { put(torch_name(element)); }
  void kind_of(const Callee& callee) { put(prefix_of(callee.space), callee.name); }
  void kind_of(const Sequence& sequence) {
    put(sequence.list ? '[' : '(');
    row(sequence.items);
    if (!sequence.list && sequence.items.size() == 1) put(',');
    put(sequence.list ? ']' : ')');
  }
  void kind_of(const Call& call) {
    for (const Expression& each : call.receiver) print(each, Binding::part);
    kind_of(call.callee);
    put('(');
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
      if (i > 0) put(", ");
      const Operand& each = call.operands[i];
      if (!each.keyword.empty()) put(each.keyword, "=");
      print(each.value);
    }
    if (call.shaped && call.operands.size() == 1) put(',');
    put(')');
  }
  void kind_of(const Member& member) {
    print(member.of, Binding::part);
    put(".", member.name);
  }
  void kind_of(const Index& index) {
    print(index.of, Binding::part);
    put("[");
    row(index.places);
    put("]");
  }
  void kind_of(const Range& range) {
    row(range.first);
    put(":");
    row(range.last);
    if (!range.step.empty()) put(":");
    row(range.step);
  }
  void kind_of(const Negative& negative) {
    put("-");
    print(negative.of, Binding::sign);
  }
  void kind_of(const Operation& operation) {
    print(operation.left, left_of(operation.infix));
    put(sign_of(operation.infix));
    print(operation.right, right_of(operation.infix));
  }
  void kind_of(const Group& group) {
    put('(');
    print(group.of);
    put(')');
  }
  void kind_of(const Lambda& lambda) {
    put("lambda ", lambda.argument, ": ");
    print(lambda.body);
  }
  void kind_of(const Bound& bound) { put(bound.name); }
  void kind_of(const Spread& spread) {
    put("*");
    print(spread.of);
  }

  std::string& out_;
  const Line* line_;
};

}  // namespace

std::string to_python(const Name& name) {
  if (const auto* local = std::get_if<Local>(&name)) return local->name;
  return text("S[\"", std::get<Stored>(name).key, "\"]");
}

std::string to_python(const Expression& expression) {
  std::string out;
  Printer(out, nullptr).print(expression);
  return out;
}

std::string to_python(const Line& line) {
  std::string out;
  for (std::size_t i = 0; i < line.targets.size(); ++i) {
    if (i > 0) out += ", ";
    Printer(out, nullptr).print(line.targets[i]);
  }
  if (!line.targets.empty()) out += line.adds ? " += " : " = ";
  Printer(out, &line).print(line.value);
  return out;
}

}  // namespace tensorpress::model
