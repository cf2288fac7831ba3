#include "base/near_names.h"

#include <algorithm>

#include "base/text.h"

namespace tensorpress {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Row i holds the distances of the first i letters of a from all beginnings of b.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t other = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + other});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& possible) {
  constexpr std::size_t kLongest = 64;  // longer names are not mistyped, and the work has a bound
  if (name.size() > kLongest) return {};
  std::string_view nearest;
  std::size_t distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string_view each : possible) {
    // A name of another length by that much is as far away.
    const std::size_t gap =
        each.size() > name.size() ? each.size() - name.size() : name.size() - each.size();
    if (gap >= distance) continue;
    const std::size_t found = edit_distance(name, each);
    if (found < distance) {
      distance = found;
      nearest = each;
    }
  }
  return nearest.empty() ? "" : text(" (did you mean '", nearest, "'?)");
}

}  // namespace tensorpress
