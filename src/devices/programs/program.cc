#include "devices/programs/program.h"

#include <algorithm>

#include "devices/description/operator_groups.h"

namespace tensorpress::devices {

std::size_t Program::add(ProgramTensor tensor) {
  tensors.push_back(std::move(tensor));
  return tensors.size() - 1;
}

std::size_t Program::apply(std::string operator_name, std::vector<std::size_t> inputs,
                           ProgramTensor result) {
  const std::size_t place = add(std::move(result));
  operators.push_back({std::move(operator_name), std::move(inputs), {place}});
  return place;
}

double bytes_of_type(std::string_view type) {
  constexpr std::pair<std::string_view, double> kSizes[] = {
      {"float64", 8},  {"int64", 8}, {"complex64", 8},     {"complex128", 16}, {"float16", 2},
      {"bfloat16", 2}, {"int16", 2}, {"int8", 1},          {"uint8", 1},       {"bool", 1},
      {"float32", 4},  {"int32", 4}, {"float8_e4m3fn", 1}, {"float8_e5m2", 1}};
  for (const auto& [name, size] : kSizes) {
    if (name == type) return size;
  }
  return 4;
}

double element_count(const ProgramTensor& tensor) {
  double count = 1;
  for (const std::uint64_t extent : tensor.shape) count *= static_cast<double>(extent);
  return count;
}

double bytes_of(const ProgramTensor& tensor) {
  return element_count(tensor) * bytes_of_type(tensor.type);
}

double plane_bytes(const ProgramTensor& tensor) {
  double count = 1;
  const std::size_t rank = tensor.shape.size();
  for (std::size_t i = rank < 2 ? 0 : rank - 2; i < rank; ++i) {
    count *= static_cast<double>(tensor.shape[i]);
  }
  return count * bytes_of_type(tensor.type);
}

double plane_count(const ProgramTensor& tensor) {
  double count = 1;
  for (std::size_t i = 0; i + 2 < tensor.shape.size(); ++i) {
    count *= static_cast<double>(tensor.shape[i]);
  }
  return count;
}

double peak_bytes(const Program& program) {
  const std::size_t tensors = program.tensors.size(), steps = program.operators.size();
  // A view lives in the memory of what it was made from.
  std::vector<std::size_t> home(tensors), last_use(tensors, 0);
  for (std::size_t i = 0; i < tensors; ++i) home[i] = i;
  for (std::size_t step = 0; step < steps; ++step) {
    const ProgramOperator& each = program.operators[step];
    for (const std::size_t input : each.inputs) last_use[home[input]] = step + 1;
    for (const std::size_t output : each.outputs) {
      if (is_layout(each.name) && !each.inputs.empty()) {
        home[output] = home[each.inputs.front()];
      } else {
        last_use[output] = step + 1;
      }
    }
  }
  for (std::size_t i = 0; i < tensors; ++i) {
    const TensorRole role = program.tensors[i].role;
    if (role == TensorRole::output || role == TensorRole::constant) last_use[home[i]] = steps + 1;
  }
  double alive = 0;
  std::vector<std::vector<std::size_t>> dies(steps + 2);
  for (std::size_t i = 0; i < tensors; ++i) {
    if (home[i] != i) continue;
    dies[last_use[i]].push_back(i);
    const TensorRole role = program.tensors[i].role;
    if (role == TensorRole::input || role == TensorRole::constant) {
      alive += bytes_of(program.tensors[i]);
    }
  }
  double peak = alive;
  for (std::size_t step = 0; step < steps; ++step) {
    for (const std::size_t output : program.operators[step].outputs) {
      const TensorRole role = program.tensors[output].role;
      const bool made = role == TensorRole::value || role == TensorRole::output;
      if (home[output] == output && made) alive += bytes_of(program.tensors[output]);
    }
    peak = std::max(peak, alive);
    for (const std::size_t dead : dies[step + 1]) alive -= bytes_of(program.tensors[dead]);
  }
  return peak;
}

double streamed_bytes(const Program& program) {
  std::vector<bool> is_view(program.tensors.size(), false);
  for (const ProgramOperator& each : program.operators) {
    if (!is_layout(each.name)) continue;
    for (const std::size_t output : each.outputs) is_view[output] = true;
  }
  double bytes = 0;
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const ProgramTensor& tensor = program.tensors[i];
    if (is_view[i]) continue;
    const bool has_samples =
        tensor.role != TensorRole::constant && tensor.shape.size() >= 3 && tensor.shape.front() > 0;
    const double samples = has_samples ? static_cast<double>(tensor.shape.front()) : 1;
    bytes += bytes_of(tensor) / samples;
  }
  return bytes;
}

double plane_products(const Program& program) {
  double products = 0;
  for (const ProgramOperator& each : program.operators) {
    if (!is_plane_product(each.name)) continue;
    for (const std::size_t output : each.outputs) products += plane_count(program.tensors[output]);
  }
  return products;
}

double largest_product_plane(const Program& program, std::string* name) {
  double largest = 0;
  const auto look_at = [&](std::size_t place) {
    const ProgramTensor& tensor = program.tensors[place];
    if (plane_bytes(tensor) <= largest) return;
    largest = plane_bytes(tensor);
    if (name != nullptr) *name = tensor.name;
  };
  for (const ProgramOperator& each : program.operators) {
    if (!is_plane_product(each.name)) continue;
    for (const std::size_t input : each.inputs) look_at(input);
    for (const std::size_t output : each.outputs) look_at(output);
  }
  return largest;
}

}  // namespace tensorpress::devices
