#include "training/train.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "codecs/dense/lorenzo/classes.h"
#include "codecs/dense/lorenzo/differences.h"
#include "kernels/rans/rans_stages.h"
#include "training/train_tables.h"

namespace tensorpress::dense {
namespace {

using kernels::kBlockCells;
using kernels::kBlockLengths;
using kernels::kBlockSums;

constexpr std::size_t kBlocksPerField = 1500;
constexpr double kShapeMeans[kShapes] = {3.5, 5.0, 3.5, 5.0};
constexpr double kShapeTails[kShapes] = {0.01, 0.01, 0.15, 0.15};

/// Mean magnitude of differences in a cell: lower edge of its half octave and a bit.
double mean_of_sum(std::size_t sum) {
  return 1.22 * std::exp2((static_cast<double>(sum) - 1) / 2 - 5);
}

Weights own_formula(std::size_t own) {
  // Sixteen half octaves, then four spiky ones.
  if (own < 16) return formula_weights(mean_of_sum(own + 1), false, 0.03);
  return formula_weights(mean_of_sum(3 * (own - 16) + 4), false, 0.3);
}

std::size_t low_bits_of(std::size_t block_class) {
  return block_class <= kOwnClasses ? 0 : 1 + (block_class - kOwnClasses - 1) / kShapes;
}
std::size_t table_of(std::size_t block_class) {
  return block_class <= kOwnClasses ? block_class - 1
                                    : kOwnClasses + (block_class - kOwnClasses - 1) % kShapes;
}

}  // namespace

// Bits of every symbol in every table, and the cells' classes that follow.
class LorenzoTrainer::Clusters {
 public:
  explicit Clusters(LorenzoLiterals& literals) : literals_(literals) { measure(); }

  double bits(std::size_t block_class, std::int32_t value) const {
    const std::int32_t high = value >> low_bits_of(block_class);
    const auto& row = bits_[table_of(block_class)];
    const bool inside = high > kernels::kRansFirstSymbol + 3 && high < 128;
    const auto at = static_cast<std::size_t>(inside ? high + 128 : kernels::rans_escape_of(high));
    return row[at] + static_cast<double>(low_bits_of(block_class));
  }

  void assign(const LorenzoTrainer& trainer) {
    std::vector<std::array<double, kClasses>> costs(kBlockCells);
    std::vector<double> weights(kBlockCells);
    for (const Block& block : trainer.blocks_) {
      const std::size_t sum = block.cell / kBlockLengths;
      // Classes with a scale far from the cell's need not be tried.
      const int scale = static_cast<int>(std::floor(std::log2(mean_of_sum(sum)))) - 2;
      for (std::size_t c = 1; c < kClasses; ++c) {
        const int low_bits = static_cast<int>(low_bits_of(c));
        double& cost = costs[block.cell][c];
        if (low_bits == 0 ? scale > 4 : std::abs(low_bits - std::clamp(scale, -1, 20)) > 4) {
          cost = HUGE_VAL;
          continue;
        }
        double bits_sum = 0;
        for (std::size_t i = 0; i < block.size; ++i) {
          bits_sum += bits(c, trainer.values_[block.start + i]);
        }
        cost += bits_sum * block.weight;
      }
      weights[block.cell] += static_cast<double>(block.weight) * block.size;
    }
    for (std::size_t cell = kBlockLengths; cell < kBlockCells; ++cell) {
      literals_.classes[cell] = 0;
      if (weights[cell] == 0) continue;
      const auto& cost = costs[cell];
      const auto* const best = std::min_element(cost.begin() + 1, cost.end());
      literals_.classes[cell] = static_cast<std::uint8_t>(best - cost.begin());
      literals_.bits[cell] =
          static_cast<std::uint16_t>(std::min(65535.0, std::round(*best / weights[cell] * 256)));
    }
    seen_ = weights;
  }

  void estimate(const LorenzoTrainer& trainer) {
    std::vector<Weights> counts(kOwnClasses + kShapes, Weights{});
    for (const Block& block : trainer.blocks_) {
      const std::size_t block_class = literals_.classes[block.cell];
      Weights& count = counts[table_of(block_class)];
      for (std::size_t i = 0; i < block.size; ++i) {
        const std::int32_t high = trainer.values_[block.start + i] >> low_bits_of(block_class);
        const bool inside = high > kernels::kRansFirstSymbol + 3 && high < 128;
        count[static_cast<std::size_t>(inside ? high + 128 : kernels::rans_escape_of(high))] +=
            block.weight;
      }
    }
    for (std::size_t table = 0; table < counts.size(); ++table) {
      const bool half = table >= kOwnClasses;
      double mean = 0;
      double total = 0;
      for (std::size_t i = kernels::kRansEscapes; i < counts[table].size(); ++i) {
        mean += std::fabs(static_cast<double>(i) - 128) * counts[table][i];
        total += counts[table][i];
      }
      const Weights prior = total > 0 ? formula_weights(std::max(mean / total, 0.01), half, 0.03)
                            : half    ? formula_weights(4, true, 0.03)
                                      : own_formula(table);
      literals_.values[table] = table_frequencies(counts[table], prior, half);
    }
    measure();
  }

  // Cells that no training block fell into take the class of the nearest one that was seen.
  void complete() {
    for (std::size_t sum = 1; sum < kBlockSums; ++sum) {
      for (std::size_t length = 0; length < kBlockLengths; ++length) {
        const std::size_t cell = sum * kBlockLengths + length;
        if (!seen_.empty() && seen_[cell] > 0) continue;
        literals_.classes[cell] = class_near(sum, length);
        const double mean = mean_of_sum(sum);
        const double bits = mean < 1 ? 1.6 * std::sqrt(mean) : std::log2(mean) + 2.1;
        literals_.bits[cell] = static_cast<std::uint16_t>(256 * bits);
      }
    }
  }

 private:
  std::uint8_t class_near(std::size_t sum, std::size_t length) const {
    for (std::size_t distance = 0; distance < 12 && !seen_.empty(); ++distance) {
      for (const int side : {-1, 1}) {
        const auto at =
            static_cast<std::ptrdiff_t>(length) + side * static_cast<std::ptrdiff_t>(distance);
        if (at < 0 || at >= static_cast<std::ptrdiff_t>(kBlockLengths)) continue;
        const std::size_t cell = sum * kBlockLengths + static_cast<std::size_t>(at);
        if (seen_[cell] > 0) return literals_.classes[cell];
      }
    }
    if (sum <= 16) return static_cast<std::uint8_t>(sum);
    const std::size_t scale = std::min(kScales, 1 + (sum - 17) / 2);
    return static_cast<std::uint8_t>(kOwnClasses + 1 + (scale - 1) * kShapes + (sum - 17) % 2);
  }

  void measure() {
    for (std::size_t table = 0; table < literals_.values.size(); ++table) {
      const auto& frequencies = literals_.values[table];
      std::size_t longest = 3;
      std::array<std::size_t, 4> escape{};
      for (std::size_t e = 4; e-- > 0;) {
        if (frequencies[e] != 0) longest = e;
        escape[e] = longest;
      }
      for (std::size_t i = 0; i < frequencies.size(); ++i) {
        const bool own = i >= 4 && frequencies[i] != 0;
        const std::size_t e = escape[i < 4 ? i
                                           : static_cast<std::size_t>(kernels::rans_escape_of(
                                                 static_cast<int>(i) - 128))];
        bits_[table][i] = kernels::kRansBits -
                          std::log2(static_cast<double>(frequencies[own ? i : e])) +
                          (own ? 0 : kernels::kRansEscapeBits[e]);
      }
    }
  }

  LorenzoLiterals& literals_;
  std::array<std::array<double, kernels::kRansSymbols>, kOwnClasses + kShapes> bits_{};
  std::vector<double> seen_;
};

template <class T>
void LorenzoTrainer::add(const bounded::Field<T>& field, double bound, ChunkWorkspace& workspace) {
  const auto plan = plan_lorenzo(field, bound, model_, workspace.isa);
  if (!plan) return;
  const auto differences = lorenzo_differences(field, bound, *plan, workspace);
  if (!differences) return;
  for (int log2_block = 4; log2_block <= 5; ++log2_block) {
    const std::size_t size = std::size_t{1} << log2_block;
    Sequence sequence;
    sequence.shape = field.shape;
    sequence.log2_block = log2_block;
    sequence.cells.resize((field.values.size() + size - 1) / size);
    kernels::lorenzo_kernels(workspace.isa)
        .cells(differences->values.data(), sequence.cells.size(), log2_block,
               sequence.cells.data());
    const std::size_t stride = std::max<std::size_t>(1, sequence.cells.size() / kBlocksPerField);
    const std::size_t taken = sequence.cells.size() / stride;
    const float weight = 1500.0f / 16 / static_cast<float>(taken);
    for (std::size_t block = 0; block < sequence.cells.size(); block += stride) {
      if (sequence.cells[block] == 0) continue;
      blocks_.push_back({static_cast<std::uint32_t>(values_.size()), sequence.cells[block],
                         static_cast<std::uint8_t>(size), weight});
      const auto from = differences->values.subspan(block * size, size);
      values_.insert(values_.end(), from.begin(), from.end());
    }
    sequences_.push_back(std::move(sequence));
  }
}

template void LorenzoTrainer::add(const bounded::Field<float>&, double, ChunkWorkspace&);
template void LorenzoTrainer::add(const bounded::Field<double>&, double, ChunkWorkspace&);

namespace {

// What classes are likely below a class when nothing has been counted.
double class_prior(std::size_t context, std::size_t block_class) {
  const auto position = [](std::size_t c) {
    return c <= kOwnClasses
               ? static_cast<double>(c)
               : static_cast<double>(kOwnClasses) + 2.0 * static_cast<double>(low_bits_of(c));
  };
  if (context == kNoContext) return 1.0 / static_cast<double>(kClasses);
  const double at = context <= kOwnClasses ? static_cast<double>(context)
                                           : static_cast<double>(kOwnClasses) +
                                                 2.0 * static_cast<double>(context - kOwnClasses);
  const double distance = std::fabs(position(block_class) - at);
  return 0.9 * std::pow(0.55, distance) + 0.1 * std::pow(0.85, distance) +
         (block_class == 0 ? 0.05 : 0);
}

void estimate_contexts(const std::vector<std::array<double, kClasses>>& counts,
                       LorenzoLiterals& literals) {
  constexpr std::size_t kEscapes = kernels::kRansEscapes;
  for (std::size_t context = 0; context < kClassContexts; ++context) {
    std::array<double, kEscapes + kClasses> weights{};
    std::array<bool, kEscapes + kClasses> keep{};
    double total = 0;
    double prior_total = 0;
    for (std::size_t c = 0; c < kClasses; ++c) {
      total += counts[context][c];
      prior_total += class_prior(context, c);
    }
    const double prior_share = (20 + 0.01 * total) / prior_total;
    for (std::size_t c = 0; c < kClasses; ++c) {
      weights[kEscapes + c] = counts[context][c] + prior_share * class_prior(context, c);
    }
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (std::size_t c = 0; c < kClasses; ++c) {
      const std::size_t at = kEscapes + c;
      keep[at] = weights[at] / sum * kernels::kRansTotal >= 0.4;
      if (keep[at]) continue;
      weights[1] += weights[at];  // zigzag of a class is below 2^9
      weights[at] = 0;
    }
    keep[1] = true;
    normalize(weights, keep, literals.below[context]);
  }
}

}  // namespace

LorenzoLiterals formula_literals() {
  LorenzoLiterals literals;
  for (std::size_t own = 0; own < kOwnClasses; ++own) {
    literals.values[own] = table_frequencies({}, own_formula(own), false);
  }
  for (std::size_t shape = 0; shape < kShapes; ++shape) {
    literals.values[kOwnClasses + shape] =
        table_frequencies({}, formula_weights(kShapeMeans[shape], true, kShapeTails[shape]), true);
  }
  for (std::size_t sum = 1; sum < kBlockSums; ++sum) {
    for (std::size_t length = 0; length < kBlockLengths; ++length) {
      const std::size_t scale = sum <= 16 ? 0 : std::min(kScales, 1 + (sum - 17) / 2);
      const std::size_t block_class =
          scale == 0 ? sum : kOwnClasses + 1 + (scale - 1) * kShapes + (sum - 17) % 2;
      literals.classes[sum * kBlockLengths + length] = static_cast<std::uint8_t>(block_class);
      const double mean = mean_of_sum(sum);
      const double bits = mean < 1 ? 1.6 * std::sqrt(mean) : std::log2(mean) + 2.1;
      literals.bits[sum * kBlockLengths + length] = static_cast<std::uint16_t>(256 * bits);
    }
  }
  estimate_contexts(std::vector<std::array<double, kClasses>>(kClassContexts), literals);
  return literals;
}

LorenzoLiterals LorenzoTrainer::finish() const {
  LorenzoLiterals literals = formula_literals();
  Clusters clusters(literals);
  for (int round = 0; round < 12; ++round) {
    clusters.assign(*this);
    clusters.estimate(*this);
  }
  clusters.assign(*this);

  // Classes in the order of their means, so that neighbours in number are neighbours in kind.
  std::array<double, kOwnClasses> means{};
  for (std::size_t own = 0; own < kOwnClasses; ++own) {
    for (std::size_t i = kernels::kRansEscapes; i < kernels::kRansSymbols; ++i) {
      means[own] += std::fabs(static_cast<double>(i) - 128) * literals.values[own][i];
    }
  }
  std::array<std::size_t, kOwnClasses> order{};
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return means[a] < means[b]; });
  const auto old_values = literals.values;
  std::array<std::uint8_t, kClasses> renamed{};
  std::iota(renamed.begin(), renamed.end(), std::uint8_t{0});
  for (std::size_t own = 0; own < kOwnClasses; ++own) {
    literals.values[own] = old_values[order[own]];
    renamed[order[own] + 1] = static_cast<std::uint8_t>(own + 1);
  }
  for (auto& block_class : literals.classes) block_class = renamed[block_class];
  clusters.complete();

  std::vector<std::array<double, kClasses>> counts(kClassContexts);
  for (const Sequence& sequence : sequences_) {
    const ClassOrder class_order(fold_of(sequence.shape), sequence.log2_block);
    std::vector<std::uint8_t> classes(sequence.cells.size());
    for (std::size_t i = 0; i < classes.size(); ++i) {
      classes[i] = literals.classes[sequence.cells[i]];
    }
    const double weight = std::min(1.0, 2000.0 / static_cast<double>(classes.size()));
    for (std::size_t group = 0; group < class_order.groups(); ++group) {
      for (std::size_t lane = 0; lane < 16; ++lane) {
        const std::uint8_t table = class_order.table(group, lane, classes.data());
        if (table != 0) counts[table - 1u][classes[class_order.block(group, lane)]] += weight;
      }
    }
  }
  estimate_contexts(counts, literals);
  return literals;
}

}  // namespace tensorpress::dense
