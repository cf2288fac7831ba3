// " (did you mean 'units'?)": the nearest of the names that were possible.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tensorpress {

/// Letters to insert, delete, replace or swap with their neighbour to make one of the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Empty when nothing is near: more than a third of the letters wrong.
std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& possible);

inline std::string did_you_mean(std::string_view name, const std::vector<std::string>& possible) {
  return did_you_mean(name, std::vector<std::string_view>(possible.begin(), possible.end()));
}

}  // namespace tensorpress
