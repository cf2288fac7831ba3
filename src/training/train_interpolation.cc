#include "training/train_interpolation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "codecs/dense/interpolation/forward.h"
#include "codecs/dense/interpolation/interpolation.h"

namespace tensorpress::dense {
namespace {

constexpr double kTotal = kernels::kRansTotal;
constexpr std::size_t kSymbols = 124;  // sizes that may have symbols of their own

// The escape of a size and the raw bits it takes; sizes from 128 on are bins.
std::size_t escape_of_size(std::size_t size) {
  constexpr std::array<std::int32_t, 3> kLarge = {200, 1000, 100000};
  const auto value = size < 128 ? static_cast<std::int32_t>(size) : kLarge[size - 128];
  return static_cast<std::size_t>(kernels::rans_escape_of(value));
}

// Probabilities of sizes (of one sign each) become frequencies; rare ones become escapes.
template <std::size_t kSizes>
ResidualShape shape_of(const std::array<double, kSizes>& sizes, bool halved) {
  const auto signs = [&](std::size_t size) { return size == 0 && !halved ? 1.0 : 2.0; };
  double sum = 0;
  for (std::size_t a = 0; a < kSizes; ++a) sum += signs(a) * sizes[a];
  std::array<double, kSizes> share{};
  std::array<double, kernels::kRansEscapes> escapes{};
  ResidualShape shape;
  shape.halved = halved;
  std::size_t symbols = 0;
  for (std::size_t a = 0; a < kSizes; ++a) {
    share[a] = sizes[a] / sum * kTotal;
    if (a < kSymbols && share[a] >= 0.4) {
      symbols = a + 1;
    } else {
      escapes[escape_of_size(a)] += signs(a) * share[a];
      share[a] = 0;
    }
  }
  shape.frequencies.resize(symbols);
  int left = static_cast<int>(kTotal);
  for (std::size_t e = 0; e < escapes.size(); ++e) {
    // The longest must exist; the others only where they are needed.
    const bool needed = e + 1 == escapes.size() || escapes[e] > 0.15;
    shape.escapes[e] =
        static_cast<std::uint16_t>(needed ? std::max(1.0, std::floor(escapes[e] + 0.5)) : 0.0);
    left -= shape.escapes[e];
  }
  for (std::size_t a = 0; a < symbols; ++a) {
    if (share[a] == 0) continue;
    shape.frequencies[a] = static_cast<std::uint16_t>(std::max(1.0, std::floor(share[a] + 0.5)));
    left -= static_cast<int>(signs(a)) * shape.frequencies[a];
  }
  // What rounding left over goes to the most frequent: zero, or pairs and an escape.
  const auto adjust = [](std::uint16_t& frequency, int by) {
    frequency = static_cast<std::uint16_t>(frequency + by);
  };
  if (!halved) {
    adjust(shape.frequencies[0], left);
  } else {
    if (left % 2 != 0) {
      adjust(shape.escapes.back(), 1);
      --left;
    }
    for (std::size_t a = 0; left != 0; a = (a + 1) % std::min<std::size_t>(symbols, 8)) {
      adjust(shape.frequencies[a], left > 0 ? 1 : -1);
      left += left > 0 ? -2 : 2;
    }
  }
  return shape;
}

double mean_of(const ResidualShape& shape) {
  double mean = 0;
  for (std::size_t a = 0; a < shape.frequencies.size(); ++a) {
    mean += 2.0 * static_cast<double>(a) * shape.frequencies[a] / kTotal;
  }
  for (std::size_t e = 0; e < shape.escapes.size(); ++e) {
    mean += shape.escapes[e] / kTotal * (e == 0 ? 4.0 : 40.0);
  }
  return mean;
}

std::array<double, 131> geometric(double mean, bool halved) {
  const double base = halved ? std::exp(-1 / mean) : (std::sqrt(1 + mean * mean) - 1) / mean;
  const double tail = std::min(0.03, 0.2 * mean);
  std::array<double, 131> sizes{};
  double thin = 0, thick = 0;
  const auto at = [&](std::size_t a) { return static_cast<double>(a) + (halved ? 0.5 : 0.0); };
  const auto heavy = [&](std::size_t a) { return std::pow(1 + at(a) / std::max(mean, 0.3), -2.5); };
  for (std::size_t a = 0; a < 128; ++a) {
    const double signs = a == 0 && !halved ? 1 : 2;
    thin += signs * std::pow(base, at(a));
    thick += signs * heavy(a);
  }
  for (std::size_t a = 0; a < 128; ++a) {
    sizes[a] = (1 - tail) * std::pow(base, at(a)) / thin + tail * heavy(a) / thick;
  }
  sizes[128] = sizes[129] = std::min(1e-4, 0.001 * mean);
  sizes[130] = 5e-7;
  return sizes;
}

// [table][size]: bits in each table of these shapes.
std::vector<std::array<double, 131>> size_costs(const std::vector<ResidualShape>& shapes) {
  const ResidualTables tables(shapes);
  constexpr std::array<std::int32_t, 3> kLarge = {200, 1000, 100000};
  std::vector<std::array<double, 131>> bits(kResidualTables);
  for (std::size_t t = 0; t < kResidualTables; ++t) {
    for (std::size_t a = 0; a < bits[t].size(); ++a) {
      const auto value = a < 128 ? static_cast<std::int32_t>(a) : kLarge[a - 128];
      bits[t][a] = (tables.rans().bits(t + 1, value) + tables.rans().bits(t + 1, -value)) / 2;
    }
  }
  return bits;
}

}  // namespace

std::vector<ResidualShape> formula_shapes() {
  std::vector<ResidualShape> shapes;
  for (std::size_t t = 0; t < kPlainTables; ++t) {
    const double octave = -12 + 14.5 * static_cast<double>(t) / (kPlainTables - 1);
    shapes.push_back(shape_of(geometric(std::exp2(octave), false), false));
  }
  for (std::size_t s = 0; s < kHalvedShapes; ++s) {
    shapes.push_back(shape_of(geometric(std::exp2(2 + 0.5 * static_cast<double>(s)), true), true));
  }
  return shapes;
}

template <class T>
void InterpolationTrainer::add(const bounded::Field<T>& field, double bound,
                               ChunkWorkspace& workspace) {
  const auto estimate =
      estimate_interpolation(field, bound, zeros_of(field, bound, workspace), workspace);
  const Folding folding = fold(field.shape);
  Forward<T> forward(workspace);
  const auto values = prepare_values(field, folding, workspace);
  if (!forward.run(values, folding.extents, estimate.mode, bound, values.size() / 8)) return;
  std::vector<Counts> counts(kRowGroups * kernels::kScaleClasses);
  for (const RowSpan& span : forward.spans()) {
    for (std::size_t i = span.start; i < span.start + span.count; ++i) {
      const auto size = static_cast<std::size_t>(std::abs(forward.residuals()[i]));
      const std::size_t bin = size < 128 ? size : size < 256 ? 128 : size < 4096 ? 129 : 130;
      counts[span.group * kernels::kScaleClasses + forward.classes()[i]].sizes[bin] += 1;
    }
  }
  const double bits = estimate.bits_per_value * static_cast<double>(values.size()) + 2000;
  for (Counts& each : counts) {
    float total = 0;
    for (const float count : each.sizes) total += count;
    if (total == 0) continue;
    for (float& count : each.sizes) count = static_cast<float>(count / bits);
    classes_.push_back(each);
  }
}
template void InterpolationTrainer::add(const bounded::Field<float>&, double, ChunkWorkspace&);
template void InterpolationTrainer::add(const bounded::Field<double>&, double, ChunkWorkspace&);

std::vector<ResidualShape> InterpolationTrainer::finish(std::vector<ResidualShape> shapes) const {
  for (int round = 0; round < 30; ++round) {
    // Bits per size and table; tables with low bits compete, but are not trained.
    const auto bits = size_costs(shapes);
    std::vector<std::array<double, kSizes>> sums(kPlainTables);
    for (const Counts& each : classes_) {
      std::size_t best = 0;
      double least = std::numeric_limits<double>::max();
      for (std::size_t t = 0; t < bits.size(); ++t) {
        double cost = 0;
        for (std::size_t a = 0; a < kSizes; ++a) {
          cost += static_cast<double>(each.sizes[a]) * bits[t][a];
        }
        if (cost < least) {
          least = cost;
          best = t;
        }
      }
      if (best >= kPlainTables) continue;
      for (std::size_t a = 0; a < kSizes; ++a) {
        sums[best][a] += static_cast<double>(each.sizes[a]);
      }
    }
    for (std::size_t t = 0; t < kPlainTables; ++t) {
      const double total = std::accumulate(sums[t].begin(), sums[t].end(), 0.0);
      if (total == 0) continue;
      double mean = 0;
      for (std::size_t a = 0; a < kSizes; ++a) mean += static_cast<double>(a) * sums[t][a] / total;
      // A little of the formula: what was never met is still possible.
      const auto formula = geometric(std::max(mean, 1e-4), false);
      std::array<double, kSizes> sizes{};
      for (std::size_t a = 0; a < kSizes; ++a) {
        const double signs = a == 0 ? 1 : 2;
        sizes[a] = 0.98 * sums[t][a] / total / signs + 0.02 * formula[a];
      }
      shapes[t] = shape_of(sizes, false);
    }
    std::sort(shapes.begin(), shapes.begin() + kPlainTables,
              [](const auto& a, const auto& b) { return mean_of(a) < mean_of(b); });
  }
  return shapes;
}

std::string shapes_source(const std::vector<ResidualShape>& shapes) {
  std::string source;
  const auto list = [&](const auto& numbers) {
    source += "{";
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      source += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
    }
    source += "}";
  };
  for (const ResidualShape& shape : shapes) {
    source += shape.halved ? "    {true, " : "    {false, ";
    list(shape.escapes);
    source += ", ";
    list(shape.frequencies);
    source += "},\n";
  }
  return source;
}

}  // namespace tensorpress::dense
