#include "model/lowering/site.h"

#include <algorithm>
#include <optional>

#include "base/errors.h"
#include "model/lowering/lowering.h"

namespace tensorpress::model {

NodeView Site::view() const {
  return {lowering_.graph_, lowering_.graph_.nodes[node_]};
}

const Sizes& Site::sizes() const {
  return lowering_.options_.sizes;
}

bool Site::avx512() const {
  return lowering_.options_.avx512;
}

bool Site::native() const {
  return lowering_.options_.native;
}

std::string Site::ins() {
  std::string all;
  for (std::size_t i = 0; i < view().input_count(); ++i) all += text(i == 0 ? "" : ", ", in(i));
  return all;
}

std::string Site::in(std::size_t i) {
  const ValueId id = view().node.inputs[i];
  const Value& value = lowering_.graph_.values[id];
  if (mode_ != Mode::forward) return lowering_.decode(id);
  if (value.role == Role::parameter) return text("P[\"", value.name, "\"]");
  const auto lazy = lowering_.lazy_.find(id);
  return lazy == lowering_.lazy_.end() ? lowering_.name_of_value(id) : lazy->second;
}

std::string Site::out(std::size_t j) {
  const ValueId id = view().node.outputs[j];
  if (mode_ == Mode::backward) return lowering_.decode(id);
  const bool other = mode_ == Mode::rebuild && lowering_.graph_.values[id].role == Role::hidden;
  return other ? lowering_.decode(id) : lowering_.name_of_value(id);
}

std::string Site::parameter(std::string_view local) const {
  const Value* value = view().parameter(local);
  if (value == nullptr) return "None";
  return value->role == Role::buffer ? text("B.get(\"", value->name, "\")")
                                     : text("P[\"", value->name, "\"]");
}

std::string Site::local(std::string_view suffix) const {
  return lowering_.python_name(text(view().node.name, "_", suffix));
}

void Site::define(const Definition& variable, const std::string& expression, std::int64_t scratch) {
  define_all({variable}, expression, scratch);
}

void Site::define_all(const std::vector<Definition>& variables, const std::string& expression,
                      std::int64_t scratch) {
  std::string names;
  for (const Definition& each : variables) names += text(names.empty() ? "" : ", ", each.name);
  lowering_.add_line(text(names, " = ", expression), scratch, variables,
                     mode_ == Mode::backward ? Memory::Kind::gradient : Memory::Kind::activation);
}

void Site::define_output(std::size_t j, const std::string& expression, std::int64_t scratch) {
  const ValueId id = view().node.outputs[j];
  define({lowering_.name_of_value(id), view().output(j).type}, expression, scratch);
  if (mode_ == Mode::rebuild) lowering_.overwritable_.insert(lowering_.name_of_value(id));
}

void Site::define_output_in(std::size_t j, const std::string& shares, const std::string& expression,
                            std::int64_t scratch) {
  const ValueId id = view().node.outputs[j];
  define({lowering_.name_of_value(id), view().output(j).type, shares}, expression, scratch);
  if (mode_ == Mode::rebuild && lowering_.overwritable_.contains(shares)) {
    lowering_.overwritable_.insert(lowering_.name_of_value(id));
  }
}

void Site::define_output_repeated(std::size_t j, const std::string& shares,
                                  const std::string& expression) {
  const ValueId id = view().node.outputs[j];
  define({lowering_.name_of_value(id), view().output(j).type, shares}, expression);
  lowering_.protect(lowering_.name_of_value(id));
}

std::string Site::seed() {
  return lowering_.seed_of(Lowering::Draw::dropout, node_, mode_ != Mode::forward);
}

void Site::line(const std::string& code, std::int64_t scratch) {
  lowering_.add_line(code, scratch, {}, Memory::Kind::activation);
}

bool Site::may_overwrite(std::size_t i) const {
  const ValueId id = view().node.inputs[i];
  const Value& value = lowering_.graph_.values[id];
  if (mode_ == Mode::rebuild) return may_overwrite_in(i);
  if (value.role != Role::activation || !lowering_.last_use(id, node_)) return false;
  if (std::count(value.consumers.begin(), value.consumers.end(), node_) != 1) return false;
  if (lowering_.graph_.is_output(id)) return false;
  const std::size_t memory = lowering_.memory_of(lowering_.value_names_[id]);
  return memory != kNone && lowering_.holders_[memory] == 1;
}

bool Site::compact() const {
  return lowering_.options_.compact;
}

bool Site::lossy() const {
  return lowering_.options_.lossy;
}

bool Site::sliced() const {
  return native() && lossy();
}

bool Site::in_is_lazy(std::size_t i) const {
  return lowering_.lazy_.contains(view().node.inputs[i]);
}

std::string Site::place_for_output() const {
  const auto& values = lowering_.graph_.values;
  const ValueId input = view().node.inputs[0];
  if (!lowering_.lazy_.contains(input)) return {};
  const NodeId lazy = values[input].producer;
  for (const ValueId id : lowering_.graph_.nodes[lazy].inputs) {
    const Value& value = values[id];
    if (lowering_.lazy_.contains(id) || value.role != Role::activation ||
        value.type != view().output().type || !lowering_.last_use(id, lazy) ||
        std::count(value.consumers.begin(), value.consumers.end(), lazy) != 1) {
      continue;
    }
    if (lowering_.graph_.is_output(id)) continue;
    const std::string& name = lowering_.value_names_[id];
    const std::size_t memory = lowering_.memory_of(name);
    if (memory != kNone && lowering_.holders_[memory] == 1) return name;
  }
  return {};
}

std::int64_t Site::largest_piece_bytes() const {
  const ValueId input = view().node.inputs[0];
  if (!lowering_.lazy_.contains(input)) return bytes(view().input(0).type, sizes());
  const Node& lazy = lowering_.graph_.nodes[lowering_.graph_.values[input].producer];
  std::int64_t most = 0;
  for (const ValueId id : lazy.inputs) {
    most = std::max(most, bytes(lowering_.graph_.values[id].type, sizes()));
  }
  // One input: something else than a concatenation, whose own size counts.
  return lazy.inputs.size() > 1 ? most : bytes(view().input(0).type, sizes());
}

void Site::save(std::string_view suffix, const std::string& variable) {
  lowering_.keep(key_of_part(view().node.name, suffix), variable, 8, variable);
}

void Site::save_packed(std::string_view suffix, const std::string& expression,
                       std::int64_t packed_bytes) {
  lowering_.keep(key_of_part(view().node.name, suffix), {}, packed_bytes, expression);
}

bool Site::split() const {
  return is_split(lowering_.graph_, lowering_.stashes_, node_);
}

std::size_t Site::hidden() const {
  return view().node.outputs.size() - 1;
}

bool Site::store_hidden() {
  const ValueId id = view().node.outputs[hidden()];
  lowering_.store_values(id, lowering_.name_of_value(id));
  return lowering_.stashes_[id].how.kind != Storing::Kind::keep;
}

std::string Site::saved(std::string_view suffix) const {
  return stored_name(key_of_part(view().node.name, suffix));
}

bool Site::only_signs(std::size_t j) const {
  return lowering_.stashes_[view().node.outputs[j]].stores_signs();
}

std::string Site::signs(std::size_t j) const {
  return stored_name(key_of_part(view().output(j).name, "signs"));
}

std::string Site::by_signs(const std::string& x, double slope) const {
  return text("mask_by_signs_(", x, ", ", signs(), slope == 0 ? "" : text(", ", slope), ")");
}

std::int64_t Site::by_signs_scratch(double slope) const {
  constexpr std::int64_t kPieceBytes = std::int64_t{4} << 20;
  const std::int64_t numbers = std::min(bytes(view().output().type, sizes()), kPieceBytes);
  return slope == 0 ? numbers : numbers / 4 * 5;  // and which of them are 0
}

void Site::define_by_signs(double slope) {
  const std::string x = in();
  if (may_overwrite_in()) {
    define_output_in(0, x, by_signs(x, slope), by_signs_scratch(slope));
  } else {
    define_output(0, by_signs(x + ".clone()", slope), by_signs_scratch(slope));
  }
}

void Site::give_by_signs(double slope) {
  const std::string g = grad();
  if (may_overwrite_grad()) {
    give_shared(0, g, by_signs(g, slope), by_signs_scratch(slope));
  } else {
    give(0, by_signs(g + ".clone()", slope), by_signs_scratch(slope));
  }
}

std::string Site::in_slices(std::size_t i) {
  if (mode_ == Mode::forward) return in(i);
  return lowering_.decode_slices(view().node.inputs[i]);
}

std::string Site::out_slices(std::size_t j) {
  return lowering_.decode_slices(view().node.outputs[j]);
}

std::string Site::hidden_bits() {
  const ValueId id = view().node.outputs[hidden()];
  const Storing& how = lowering_.stashes_[id].how;
  const bool packed = how.kind == Storing::Kind::quantize && lowering_.has_slices(id);
  return split() && packed ? lowering_.bits_of(id) : std::string();
}

std::string Site::stored_hidden() const {
  return stored_name(view().output(hidden()).name);
}

std::string Site::grad(std::size_t j) {
  const ValueId id = view().node.outputs[j];
  std::string& name = lowering_.gradient_names_[id];
  lowering_.end_waiting(id);
  if (name.empty()) {
    name = lowering_.python_name("d_" + view().output(j).name);
    define({name, view().output(j).type},
           text("gradient.new_zeros(", to_python(view().output(j).type.shape), ")"));
  }
  return name;
}

bool Site::may_overwrite_grad(std::size_t j) {
  lowering_.end_waiting(view().node.outputs[j]);
  const ValueId id = view().node.outputs[j];
  const std::size_t memory = lowering_.memory_of(lowering_.gradient_names_[id]);
  if (memory == kNone || lowering_.holders_[memory] != 1 || id == lowering_.graph_.loss) {
    return false;
  }
  // What autograd would write to a tensor without gaps, exact steps do not write to a part of one:
  // sums over it would be added up in another order.
  return compact() ||
         lowering_.program_.memories[memory].bytes == bytes(view().output(j).type, sizes());
}

bool Site::may_overwrite_in(std::size_t i) const {
  return lowering_.may_overwrite_decoded(view().node.inputs[i]);
}

bool Site::may_overwrite_out(std::size_t j) const {
  return lowering_.may_overwrite_decoded(view().node.outputs[j]);
}

bool Site::fits_in_grad() const {
  const auto in = elements(view().input(0).type.shape, sizes());
  return in <= elements(view().output(0).type.shape, sizes());
}

std::string Site::shaped_as_in() {
  const Shape& in = view().input(0).type.shape;
  const Shape& out = view().output(0).type.shape;
  if (in == out) return grad();
  const std::optional<Dim> each = product(in, 1, in.size());
  return text(grad(), ".reshape(-1)[:", to_text(in[0]), " * ", each ? each->factor : 1, "].view",
              to_python(in));
}

bool Site::wants(std::size_t i) const {
  return view().input(i).needs_gradient;
}

bool Site::wants_parameter(std::string_view local) const {
  const Value* value = view().parameter(local);
  return value != nullptr && value->needs_gradient;
}

void Site::give(std::size_t i, const std::string& expression, std::int64_t scratch) {
  if (!wants(i)) return;
  lowering_.contribute(view().node.inputs[i], expression, {}, scratch);
}

void Site::give_shared(std::size_t i, const std::string& shares, const std::string& expression,
                       std::int64_t scratch) {
  if (!wants(i)) return;
  lowering_.contribute(view().node.inputs[i], expression, shares, scratch);
}

void Site::give_repeated(std::size_t i, const std::string& expression) {
  if (!wants(i)) return;
  lowering_.protect(grad());
  lowering_.contribute(view().node.inputs[i], expression, grad(), 0);
}

std::string Site::input_sink(std::size_t i) {
  return lowering_.gradient_sink(view().node.inputs[i], mode_ == Mode::rebuild);
}

void Site::given_by_slices() {
  lowering_.sinks_given();
}

std::string Site::gradient_to_add_to(std::size_t i) {
  const ValueId id = view().node.inputs[i];
  if (!wants(i) || lowering_.contributions_[id] == 0) return {};
  lowering_.end_waiting(id);
  const std::string& name = lowering_.gradient_names_[id];
  return lowering_.holders_[lowering_.memory_of(name)] == 1 ? name : std::string();
}

void Site::added(std::size_t i) {
  ++lowering_.contributions_[view().node.inputs[i]];
}

void Site::give_parameter(std::string_view local, const std::string& expression,
                          std::int64_t scratch) {
  for (const auto& [name, id] : view().node.parameters) {
    if (name == local && lowering_.graph_.values[id].needs_gradient) {
      lowering_.contribute(id, expression, {}, scratch);
    }
  }
}

std::string Site::grad_name_of(std::size_t i) {
  const ValueId id = view().node.inputs[i];
  std::string& name = lowering_.gradient_names_[id];
  if (lowering_.contributions_[id] > 0) return local("more");
  if (name.empty()) name = lowering_.python_name("d_" + lowering_.graph_.values[id].name);
  return name;
}

std::string Site::grad_name_of_parameter(std::string_view local_name) {
  for (const auto& [each, id] : view().node.parameters) {
    if (each != local_name) continue;
    std::string& name = lowering_.gradient_names_[id];
    if (lowering_.contributions_[id] > 0) return local(text("d_", local_name));
    if (name.empty()) name = lowering_.python_name("d_" + lowering_.graph_.values[id].name);
    return name;
  }
  return "_";
}

}  // namespace tensorpress::model
