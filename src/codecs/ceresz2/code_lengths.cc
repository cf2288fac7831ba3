#include "codecs/ceresz2/code_lengths.h"

#include <algorithm>
#include <numeric>

namespace tensorpress::ceresz2 {
namespace {

/// One level's coins in ascending order: leaves (single symbols) and packages of two coins of the
/// level before.
struct Level {
  std::vector<std::uint64_t> weights;
  std::vector<bool> is_leaf;
};

Level merge(std::span<const std::uint64_t> leaves, const Level& before) {
  Level level;
  std::size_t leaf = 0, package = 0;
  const std::size_t packages = before.weights.size() / 2;
  const auto package_weight = [&](std::size_t i) {
    return before.weights[2 * i] + before.weights[2 * i + 1];
  };
  while (leaf < leaves.size() || package < packages) {
    const bool take_leaf =
        package == packages || (leaf < leaves.size() && leaves[leaf] <= package_weight(package));
    level.weights.push_back(take_leaf ? leaves[leaf++] : package_weight(package++));
    level.is_leaf.push_back(take_leaf);
  }
  return level;
}

}  // namespace

std::vector<std::uint8_t> limited_code_lengths(std::span<const std::uint64_t> weights,
                                               unsigned longest) {
  std::vector<std::uint32_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return weights[a] < weights[b]; });
  std::vector<std::uint64_t> leaves;
  for (const std::uint32_t symbol : order) leaves.push_back(weights[symbol]);

  std::vector<Level> levels(1, merge(leaves, {}));
  while (levels.size() < longest) levels.push_back(merge(leaves, levels.back()));

  // The cheapest 2 n - 2 coins of the last level: each time a symbol is among the coins, or inside
  // their packages, its code grows by one bit. On every level it is the lightest leaves that are.
  std::vector<std::uint8_t> lengths(weights.size());
  std::size_t coins = 2 * weights.size() - 2;
  for (std::size_t i = levels.size(); i-- > 0;) {
    const Level& level = levels[i];
    const auto taken = level.is_leaf.begin() + static_cast<std::ptrdiff_t>(coins);
    const auto count = static_cast<std::size_t>(std::count(level.is_leaf.begin(), taken, true));
    for (std::size_t leaf = 0; leaf < count; ++leaf) ++lengths[order[leaf]];
    coins = 2 * (coins - count);
  }
  return lengths;
}

}  // namespace tensorpress::ceresz2
