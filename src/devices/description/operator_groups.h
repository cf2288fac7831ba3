// Operators of PyTorch in groups, so that a device file need not list two hundred names. Names are
// those of ATen without namespace and overload: aten.slice.Tensor is "slice".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tensorpress::devices {

struct OperatorGroup {
  std::string_view name;
  std::string_view meaning;
  std::vector<std::string_view> operators;
};
const std::vector<OperatorGroup>& operator_groups();

/// Nothing when there is no such group.
const OperatorGroup* find_group(std::string_view name);

/// Moves or reinterprets values without computing: it costs no flop, and most compilers no memory.
bool is_layout(std::string_view operator_name);
/// A product of planes: matrices in the last two axes, one for each index of the others.
bool is_plane_product(std::string_view operator_name);

}  // namespace tensorpress::devices
