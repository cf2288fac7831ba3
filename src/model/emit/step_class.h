// The parts of the emitted class Step that are the same for every model, and train_step. Their
// Python is in python/step/.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tensorpress::model {

/// What happens to a gradient when it is complete: .grad, or an optimizer's update at once.
struct GradientGiving {
  std::string_view constructor;         // its first line
  std::string_view members;             // and its last ones
  std::string_view method;              // give()
  std::vector<std::string_view> names;  // of members that it brings
};
/// `optimizer`: empty for none. nullptr if there is no such optimizer.
const GradientGiving* find_giving(std::string_view optimizer);

/// Members of Step that the names of parameters cannot begin with.
std::vector<std::string_view> member_names(const GradientGiving& giving);

/// Functions that make parameters and buffers with dotted names.
std::string_view registration_functions();

std::string_view tensors_method();

/// Seeds of two steps are equal, or so far apart that no seed + 0, seed + 1, ... of the one is one
/// of the other. Nothing for steps that draw no random numbers.
std::string draw_seed_method(std::size_t streams);

/// The class PureStep and the function train_step(params, ...) over it; `arguments` are those of
/// forward.
std::string pure_step(std::size_t streams, const std::string& arguments);

}  // namespace tensorpress::model
