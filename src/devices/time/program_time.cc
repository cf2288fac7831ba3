#include "devices/time/program_time.h"

#include <algorithm>

#include "devices/description/operator_groups.h"

namespace tensorpress::devices {

double flops_of(const Program& program) {
  const OperatorGroup* const products = find_group("product");
  const OperatorGroup* const convolutions = find_group("convolution");
  const auto is_in = [](const OperatorGroup* group, const std::string& name) {
    return std::ranges::find(group->operators, name) != group->operators.end();
  };
  double flops = 0;
  for (const ProgramOperator& each : program.operators) {
    if (is_layout(each.name)) continue;
    for (const std::size_t output : each.outputs) {
      double of_each = 1;
      if (is_in(products, each.name) && each.inputs.size() >= 2) {
        // addmm has its bias in front; the inner extent is the last of the left matrix.
        const std::size_t left = each.name == "addmm" && each.inputs.size() > 2 ? 1 : 0;
        const auto& shape = program.tensors[each.inputs[left]].shape;
        if (!shape.empty()) of_each = 2 * static_cast<double>(shape.back());
      } else if (is_in(convolutions, each.name) && each.inputs.size() >= 2) {
        // Weights are out x in x kernel; each output element takes in x kernel multiply-adds.
        const ProgramTensor& weights = program.tensors[each.inputs[1]];
        if (weights.shape.size() >= 3 && weights.shape.front() > 0) {
          of_each = 2 * element_count(weights) / static_cast<double>(weights.shape.front());
        }
      } else if (each.name == "sparse_mm" && each.inputs.size() >= 2 &&
                 !program.tensors[output].shape.empty()) {
        const ProgramTensor& edges = program.tensors[each.inputs[each.inputs.size() - 2]];
        const double rows =
            std::max(1.0, static_cast<double>(program.tensors[output].shape.front()));
        of_each = 2 * element_count(edges) / rows;
      }
      flops += of_each * element_count(program.tensors[output]);
    }
  }
  return flops;
}

ProgramTime program_time(const Device& device, const Program& program) {
  ProgramTime time;
  time.launch = device.launch_seconds->value;
  for (const ProgramTensor& tensor : program.tensors) {
    if (tensor.role == TensorRole::input)
      time.to_device += bytes_of(tensor) / device.to_device->value;
    if (tensor.role == TensorRole::output) {
      time.from_device += bytes_of(tensor) / device.from_device->value;
    }
  }
  time.flops = flops_of(program);
  time.compute = time.flops / device.f32_flops->value;
  const double transfer = time.to_device + time.from_device;
  time.total =
      time.launch + (device.overlaps ? std::max(transfer, time.compute) : transfer + time.compute);
  return time;
}

}  // namespace tensorpress::devices
