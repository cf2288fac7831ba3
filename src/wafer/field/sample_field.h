// A made-up field for looking at programs: its blocks take different numbers of words.
#pragma once

#include <cstddef>
#include <vector>

namespace tensorpress::wafer {

/// Smooth at first, then rougher and rougher.
std::vector<float> sample_field(std::size_t blocks);

}  // namespace tensorpress::wafer
