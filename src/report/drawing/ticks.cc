#include "report/drawing/ticks.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"

namespace tensorpress::report {
namespace {

/// The smallest of 1, 2, 5, 10 x 10^k that is at least `rough`.
double nice_step(double rough) {
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * (1 - 1e-12)) return factor * power;
  }
  return 10 * power;
}

/// Values `factors` x base^k inside [low, high].
template <std::size_t N>
std::vector<double> scaled_powers(double base, const std::array<double, N>& factors, double low,
                                  double high) {
  std::vector<double> ticks;
  const int first = static_cast<int>(std::floor(std::log(low) / std::log(base))) - 1;
  for (int k = first; std::pow(base, k) <= high * (1 + 1e-12); ++k) {
    for (const double factor : factors) {
      // A negative power by division: 1/10 is the double nearest to 0.1, pow(10, -1) may not be.
      const double tick = k < 0 ? factor / std::pow(base, -k) : factor * std::pow(base, k);
      if (tick >= low * (1 - 1e-12) && tick <= high * (1 + 1e-12)) ticks.push_back(tick);
    }
  }
  return ticks;
}

}  // namespace

std::vector<double> linear_ticks(double low, double high, int wanted) {
  // A range that only the last digits tell apart has no round numbers in it, and counting steps
  // beyond 2^53 would not move.
  const double magnitude = std::max(std::abs(low), std::abs(high));
  if (!(high - low > 1e-9 * magnitude)) return {low};
  const double step = nice_step((high - low) / wanted);
  std::vector<double> ticks;
  const double first = std::ceil(low / step - 1e-9);
  const double last = std::floor(high / step + 1e-9);
  for (double i = first; i <= last; ++i) {
    ticks.push_back(step < 1 ? i / std::round(1 / step) : i * step);
  }
  if (ticks.empty()) ticks.push_back(low);
  return ticks;
}

std::vector<double> log_ticks(double low, double high, int most) {
  const auto limit = static_cast<std::size_t>(most);
  auto ticks = scaled_powers(10, std::array{1.0, 2.0, 5.0}, low, high);
  if (ticks.size() > limit) ticks = scaled_powers(10, std::array{1.0}, low, high);
  if (ticks.size() < 3) ticks = scaled_powers(2, std::array{1.0}, low, high);
  for (std::size_t keep = 2; ticks.size() > limit; ++keep) {
    std::vector<double> thinned;
    for (std::size_t i = 0; i < ticks.size(); i += keep) thinned.push_back(ticks[i]);
    ticks = std::move(thinned);
  }
  if (ticks.empty()) ticks.push_back(low);
  return ticks;
}

std::string tick_label(double value) {
  return value == 0 ? "0" : rounded(value, 6);
}

}  // namespace tensorpress::report
