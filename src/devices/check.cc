#include "devices/check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/errors.h"
#include "base/near_names.h"
#include "devices/description/operator_groups.h"

namespace tensorpress::devices {
namespace {

/// Powers of two as such, everything else in the decimal units of the data sheets.
std::string amount(double value, bool bytes) {
  if (!bytes) return rounded(value, 9);
  constexpr double kLargeBinary = 4 * 1024 * 1024;
  if (value < kLargeBinary && std::fmod(value, 1024) == 0) {
    return human_bytes(static_cast<std::uint64_t>(value));
  }
  constexpr std::pair<double, const char*> kUnits[] = {
      {1e12, " TB"}, {1e9, " GB"}, {1e6, " MB"}, {1e3, " KB"}};
  for (const auto& [unit, name] : kUnits) {
    if (value >= unit) return text(rounded(value / unit, 4), name);
  }
  return text(rounded(value, 4), " bytes");
}

Result<std::pair<std::string, const Stack*>> find_stack(const Device& device,
                                                        const std::string& wanted) {
  std::vector<std::string> names;
  std::string list;
  for (const auto& [name, stack] : device.stacks) {
    names.push_back(name);
    list += text(list.empty() ? "" : ", ", name);
  }
  const std::string name =
      !wanted.empty() ? wanted : (device.stacks.contains("pytorch") ? "pytorch" : names.front());
  const auto found = device.stacks.find(name);
  if (found == device.stacks.end()) {
    return bad_argument(device.name, " has no stack '", name, "'", did_you_mean(name, names),
                        "; it has ", list);
  }
  return std::pair(name, &found->second);
}

void check_operators(const Stack& stack, const Program& program, CheckOutcome& outcome) {
  std::map<std::string, std::size_t> counts;
  for (const ProgramOperator& each : program.operators) ++counts[each.name];
  for (const auto& [name, count] : counts) {
    const bool supported = stack.has(name);
    outcome.operators.push_back({name, count, supported});
    if (!supported) {
      outcome.reasons.push_back(
          text("operator ", name, " is not in the ", outcome.stack, " stack of ", outcome.device));
    }
  }
}

void check_tensors(const Device& device, const Stack& stack, const Program& program,
                   CheckOutcome& outcome) {
  std::set<std::string> wrong_types;
  for (const ProgramTensor& tensor : program.tensors) {
    const bool known = std::ranges::find(device.types, tensor.type) != device.types.end();
    if (!known && wrong_types.insert(tensor.type).second) {
      outcome.reasons.push_back(text("tensor ", tensor.name, " is ", tensor.type, ", which ",
                                     device.name, " does not have"));
    }
  }
  const auto dynamic = std::ranges::find_if(program.tensors, &ProgramTensor::dynamic);
  if (stack.static_shapes && dynamic != program.tensors.end()) {
    outcome.reasons.push_back(text("tensor ", dynamic->name,
                                   " has a shape that is known only when it runs; ", device.name,
                                   " compiles for fixed shapes"));
  }
}

void require(CheckOutcome& outcome, Requirement requirement) {
  if (!requirement.fits()) {
    outcome.reasons.push_back(
        text(requirement.what, ": ", amount(requirement.needed, requirement.bytes),
             requirement.bytes ? " do not fit in the " : " exceed the ",
             amount(requirement.limit, requirement.bytes), " of ", requirement.where,
             requirement.origin == Origin::inferred ? " (inferred limit)" : ""));
  }
  outcome.requirements.push_back(std::move(requirement));
}

void check_step(const Device& device, const StepBytes& step, CheckOutcome& outcome) {
  const bool beside = device.placement == Placement::off_chip;
  const char* const where = beside ? "off-chip memory" : "on-chip memory";
  const Fact& limit = beside ? *device.off_chip_bytes : *device.on_chip_bytes;
  const auto need = [&](const char* what, double bytes) {
    require(outcome, {what, where, bytes, limit.value, true, limit.origin});
  };
  need("weights, their gradients and the optimizer's state", step.weights);
  if (device.placement == Placement::streamed) {
    need("those and one sample of everything", step.streamed);
    return;
  }
  need("activations that wait for the backward pass", step.saved);
  need("the training step at its peak", step.peak);
}

void check_tensor_memory(const Device& device, const Program& program, CheckOutcome& outcome) {
  switch (device.placement) {
    case Placement::on_chip:
      require(outcome, {"tensors alive at a time", "on-chip memory", peak_bytes(program),
                        device.on_chip_bytes->value, true, device.on_chip_bytes->origin});
      break;
    case Placement::streamed:
      require(outcome,
              {"constants and one sample of everything", "on-chip memory", streamed_bytes(program),
               device.on_chip_bytes->value, true, device.on_chip_bytes->origin});
      break;
    case Placement::off_chip:
      require(outcome, {"tensors alive at a time", "off-chip memory", peak_bytes(program),
                        device.off_chip_bytes->value, true, device.off_chip_bytes->origin});
      break;
  }
}

void check_memory(const Device& device, const Program& program, CheckOutcome& outcome) {
  if (program.step) {
    check_step(device, *program.step, outcome);
  } else {
    check_tensor_memory(device, program, outcome);
  }
  if (device.plane_in_one_memory_unit) {
    std::string name;
    const double largest = largest_product_plane(program, &name);
    const std::string unit =
        device.memory_unit_name.empty() ? "memory unit" : device.memory_unit_name;
    if (largest > 0) {
      require(outcome, {text("a plane of ", name, " in a product"), text("a ", unit), largest,
                        device.memory_unit_bytes->value, true, device.memory_unit_bytes->origin});
    }
  }
  if (device.plane_products) {
    require(outcome, {"products of planes", "a compiled schedule", plane_products(program),
                      device.plane_products->value, false, device.plane_products->origin});
  }
}

/// The requirement that is nearest to its limit.
const Requirement* tightest(const CheckOutcome& outcome) {
  const auto by_share = [](const Requirement& a, const Requirement& b) {
    return a.needed * b.limit < b.needed * a.limit;
  };
  const auto found = std::ranges::max_element(outcome.requirements, by_share);
  return found == outcome.requirements.end() ? nullptr : &*found;
}

Result<std::string> way_out_of(const Device& device, const ChopTask& task,
                               const std::string& stack) {
  const auto words = [](const CheckOutcome& fitting, const std::string& what) {
    const Requirement* const requirement = tightest(fitting);
    return requirement == nullptr ? text(what, " fits")
                                  : text(what, " fits: ", in_words(*requirement));
  };
  if (task.triangle) {
    ChopTask square = task;
    square.triangle = false;
    TRY(const CheckOutcome outcome, check(device, chop_program(square), stack));
    if (outcome.fits()) return words(outcome, "the square layout");
  }
  for (const std::uint64_t parts : {2, 4, 8, 16}) {
    ChopTask serialized = task;
    serialized.serialize = parts;
    if (parts <= task.serialize) continue;
    TRY(const CheckOutcome outcome, check(device, chop_program(serialized), stack));
    if (outcome.fits()) return words(outcome, text("`serialize` ", parts));
  }
  if (task.shape.rank() < 3) return std::string();
  // The more samples, the more of everything: halve the gap.
  const auto with_samples = [&](std::uint64_t samples) {
    ChopTask fewer = task;
    fewer.shape[0] = samples;
    return check(device, chop_program(fewer), stack);
  };
  std::uint64_t fits = 0, too_many = task.shape[0];
  while (too_many - fits > 1) {
    const std::uint64_t middle = fits + (too_many - fits) / 2;
    TRY(const CheckOutcome outcome, with_samples(middle));
    (outcome.fits() ? fits : too_many) = middle;
  }
  if (fits == 0) return std::string();
  TRY(const CheckOutcome outcome, with_samples(fits));
  return words(outcome, text("a batch of ", fits));
}

}  // namespace

std::string bytes_in_words(double bytes) {
  return amount(bytes, true);
}

std::string in_words(const Requirement& requirement) {
  return text(amount(requirement.needed, requirement.bytes), " of ",
              amount(requirement.limit, requirement.bytes), " ", requirement.where);
}

Result<CheckOutcome> check(const Device& device, const Program& program, const std::string& stack) {
  TRY(const auto found, find_stack(device, stack));
  CheckOutcome outcome;
  outcome.program = program.name;
  outcome.device = device.name;
  outcome.stack = found.first;
  check_operators(*found.second, program, outcome);
  check_tensors(device, *found.second, program, outcome);
  check_memory(device, program, outcome);
  return outcome;
}

Result<CheckOutcome> check(const Device& device, const ChopTask& task, const std::string& stack) {
  RETURN_IF_ERROR(check_task(task));
  TRY(CheckOutcome outcome, check(device, chop_program(task), stack));
  if (!outcome.fits()) {
    TRY(outcome.way_out, way_out_of(device, task, stack));
  }
  return outcome;
}

Result<CheckOutcome> check(const Device& device, const GcnTask& task, const std::string& stack) {
  RETURN_IF_ERROR(check_task(task));
  TRY(CheckOutcome outcome, check(device, gcn_program(task), stack));
  if (outcome.fits()) return outcome;
  std::uint64_t fits = 0, too_many = task.nodes;
  while (too_many - fits > 1) {
    GcnTask fewer = task;
    fewer.nodes = fits + (too_many - fits) / 2;
    TRY(const CheckOutcome tried, check(device, gcn_program(fewer), stack));
    (tried.fits() ? fits : too_many) = fewer.nodes;
  }
  if (fits > 0) outcome.way_out = text("a graph of ", fits, " nodes fits");
  return outcome;
}

}  // namespace tensorpress::devices
