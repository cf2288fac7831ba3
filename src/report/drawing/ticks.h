// Where an axis gets its marks: at 1, 2 or 5 times a power of ten, so that people can read between
// them.
#pragma once

#include <string>
#include <vector>

namespace tensorpress::report {

/// About `wanted` multiples of 1, 2 or 5 x 10^k inside [low, high], ascending; never empty when
/// low <= high are finite.
std::vector<double> linear_ticks(double low, double high, int wanted);

/// For 0 < low <= high: powers of ten, with their 2- and 5-fold (or all powers of two, when there
/// would be fewer than three) inside [low, high]; thinned when there are more than `most`.
std::vector<double> log_ticks(double low, double high, int most);

/// The shortest label that tells the ticks apart: "0.5", "20", "1e-06".
std::string tick_label(double value);

}  // namespace tensorpress::report
