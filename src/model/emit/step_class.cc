#include "model/emit/step_class.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "model/emit/python/functions.h"

namespace tensorpress::model {
namespace {

/// A file from its first definition on.
std::string_view from_definition(std::string_view name) {
  const std::string_view file = python_file(name);
  return file.substr(std::min({file.find("\ndef "), file.find("\nclass "), file.size() - 1}) + 1);
}

/// A method of the class Step of a file, with the empty line before it.
std::string_view method(std::string_view file, std::string_view name) {
  const std::string_view step = python_file(file);
  const std::size_t first = step.find(text("    def ", name, "("));
  const std::size_t next = step.find("\n\n    def ", first);
  return step.substr(first - 1, std::min(next, step.size() - 1) + 2 - first);
}

/// What `# members:` of a file lists.
std::vector<std::string_view> members(std::string_view file) {
  constexpr std::string_view kMembers = "# members: ";
  std::string_view line = python_file(file);
  line.remove_prefix(line.find(kMembers) + kMembers.size());
  line = line.substr(0, line.find('\n'));
  std::vector<std::string_view> names;
  while (!line.empty()) {
    const std::size_t comma = std::min(line.find(", "), line.size());
    names.push_back(line.substr(0, comma));
    line.remove_prefix(std::min(comma + 2, line.size()));
  }
  return names;
}

GradientGiving giving_of(std::string_view file) {
  constexpr std::string_view kSuper = "        super().__init__()\n";
  const std::string_view constructor = method(file, "__init__").substr(1);
  const std::size_t super = constructor.find(kSuper);
  return {constructor.substr(0, super), constructor.substr(super + kSuper.size()),
          method(file, "give"), members(file)};
}

}  // namespace

const GradientGiving* find_giving(std::string_view optimizer) {
  using Row = std::pair<std::string_view, GradientGiving>;
  static const std::array<Row, 3> kGivings = {{{"", giving_of("step/plain")},
                                               {"sgd", giving_of("step/sgd")},
                                               {"adam", giving_of("step/adam")}}};
  const auto* found = std::ranges::find(kGivings, optimizer, &Row::first);
  return found == kGivings.end() ? nullptr : &found->second;
}

std::vector<std::string_view> member_names(const GradientGiving& giving) {
  std::vector<std::string_view> names{"saved", "give", "tensors", "backward", "draw_seed"};
  names.insert(names.end(), giving.names.begin(), giving.names.end());
  return names;
}

std::string_view registration_functions() {
  return from_definition("step/registration");
}

std::string_view tensors_method() {
  return method("step/plain", "tensors");
}

std::string draw_seed_method(std::size_t streams) {
  if (streams == 0) return {};
  return text("    def draw_seed(self):\n",
              "        \"\"\"For rounding and dropout, which add a number of their own; follows ",
              "torch.manual_seed.\"\"\"\n        return int(torch.randint(2**40, ())) * ", streams,
              "\n\n");
}

std::string pure_step(std::size_t streams, const std::string& arguments) {
  const bool random = streams > 0;
  std::string out = text("\n\n", from_definition("step/pure"), "\n\ndef train_step(params",
                         arguments.empty() ? "" : ", ", arguments,
                         random ? ", seed=0):\n    \"\"\"Every step has a seed of its own: a whole "
                                  "number, or a tensor with one.\"\"\"\n"
                                : "):\n");
  out += text("    step = PureStep(params, ", random ? text("seed * ", streams) : std::string("0"),
              ")\n");
  out += text("    loss = step.forward(", arguments, ")\n    step.backward()\n");
  return out + "    return loss, step.gradients\n";
}

}  // namespace tensorpress::model
