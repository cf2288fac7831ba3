#include "model/emit/difference.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace tensorpress::model {
namespace {

std::vector<std::string_view> lines_of(std::string_view all) {
  std::vector<std::string_view> lines;
  while (!all.empty()) {
    const std::size_t end = std::min(all.find('\n'), all.size());
    lines.push_back(all.substr(0, end));
    all.remove_prefix(std::min(end + 1, all.size()));
  }
  return lines;
}

}  // namespace

/// Myers' greedy shortest edit script (1986), with the furthest points of every round kept to walk
/// back.
std::string difference(const std::string& before, const std::string& after) {
  const auto a = lines_of(before);
  const auto b = lines_of(after);
  const auto n = static_cast<std::int64_t>(a.size());
  const auto m = static_cast<std::int64_t>(b.size());
  const std::int64_t most = n + m;
  std::vector<std::vector<std::int32_t>> rounds;  // of round d the diagonals -d - 1 to d + 1
  std::vector<std::int32_t> reach(static_cast<std::size_t>(2 * most + 3), 0);
  const auto at = [&](std::int64_t k) -> std::int32_t& {
    return reach[static_cast<std::size_t>(k + most + 1)];
  };
  bool done = false;
  for (std::int64_t d = 0; d <= most && !done; ++d) {
    rounds.emplace_back(&at(-d - 1), &at(d + 1) + 1);
    for (std::int64_t k = -d; k <= d && !done; k += 2) {
      const bool down = k == -d || (k != d && at(k - 1) < at(k + 1));
      std::int64_t x = down ? at(k + 1) : at(k - 1) + 1;
      while (x < n && x - k < m &&
             a[static_cast<std::size_t>(x)] == b[static_cast<std::size_t>(x - k)]) {
        ++x;
      }
      at(k) = static_cast<std::int32_t>(x);
      done = x >= n && x - k >= m;
    }
  }
  std::vector<std::string> reversed;
  std::int64_t x = n;
  std::int64_t y = m;
  for (auto d = static_cast<std::int64_t>(rounds.size()) - 1; d >= 0; --d) {
    const std::vector<std::int32_t>& held = rounds[static_cast<std::size_t>(d)];
    const auto last = [&](std::int64_t k) { return held[static_cast<std::size_t>(k + d + 1)]; };
    const std::int64_t k = x - y;
    const bool down = k == -d || (k != d && last(k - 1) < last(k + 1));
    const std::int64_t from = down ? k + 1 : k - 1;
    const std::int64_t start = d == 0 ? 0 : last(from);
    if (x > start + (down ? 0 : 1) || d == 0) {
      if (!reversed.empty() && reversed.back() != "@@") reversed.emplace_back("@@");
    }
    if (d == 0) break;
    x = start;
    y = start - from;
    reversed.push_back(down ? text("+", b[static_cast<std::size_t>(y)])
                            : text("-", a[static_cast<std::size_t>(x)]));
  }
  std::string out;
  for (auto it = reversed.rbegin(); it != reversed.rend(); ++it) out += *it + "\n";
  return out;
}

}  // namespace tensorpress::model
