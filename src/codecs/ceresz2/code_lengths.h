// Lengths of an optimal prefix code whose codes have at most so many bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tensorpress::ceresz2 {

/// By package-merge (Larmore and Hirschberg, 1990). Weights are positive and add up to less than
/// 2^56; 2 <= weights.size() <= 2^longest.
std::vector<std::uint8_t> limited_code_lengths(std::span<const std::uint64_t> weights,
                                               unsigned longest);

}  // namespace tensorpress::ceresz2
