#include "benchmark/studies/codebook_study.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "base/errors.h"

namespace tensorpress::benchmark {
namespace {

using ceresz2::Codebook;
using ceresz2::DeltaCounts;

double total_of(const DeltaCounts& counts) {
  return std::accumulate(counts.counts.begin(), counts.counts.end(), 0.0);
}

/// The nearest symmetric distribution that never rises away from zero: opposite differences share
/// their mean, and neighbours that rise are pooled (isotonic regression).
void make_symmetric_and_falling(std::vector<double>& shares) {
  const auto middle = static_cast<std::int64_t>(shares.size() / 2);
  const auto count = static_cast<std::int64_t>(shares.size());
  const auto members = [&](std::int64_t distance, auto&& visit) {
    if (middle - distance >= 0) visit(shares[static_cast<std::size_t>(middle - distance)]);
    if (distance != 0 && middle + distance < count) {
      visit(shares[static_cast<std::size_t>(middle + distance)]);
    }
  };
  struct Pool {
    double sum = 0, weight = 0;
    std::int64_t last = 0;  // the largest distance in it
    double mean() const { return sum / weight; }
  };
  std::vector<Pool> pools;
  for (std::int64_t distance = 0; distance <= middle; ++distance) {
    Pool pool{.last = distance};
    members(distance, [&](double share) {
      pool.sum += share;
      pool.weight += 1;
    });
    while (!pools.empty() && pools.back().mean() < pool.mean()) {
      pool.sum += pools.back().sum;
      pool.weight += pools.back().weight;
      pools.pop_back();
    }
    pools.push_back(pool);
  }
  std::int64_t distance = 0;
  for (const Pool& pool : pools) {
    for (; distance <= pool.last; ++distance) {
      members(distance, [&](double& share) { share = pool.mean(); });
    }
  }
}

/// `size` different numbers below `count`, ascending. Not std::shuffle, whose result is the
/// library's own affair.
std::vector<std::size_t> draw(std::size_t count, std::size_t size, std::mt19937& generator) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  for (std::size_t i = 0; i < size; ++i) {
    std::swap(numbers[i], numbers[i + generator() % (count - i)]);
  }
  numbers.resize(size);
  std::ranges::sort(numbers);
  return numbers;
}

Result<StudiedSet> study_set(const DeltaDistribution& set, const StudyOptions& options) {
  StudiedSet studied;
  studied.name = set.name;
  studied.values = set.values;
  studied.zero_blocks =
      static_cast<double>(set.counts.zero_blocks) / static_cast<double>(set.counts.blocks);
  const DeltaCounts usual = narrowed(set.counts, options.trained_symbols);
  const double differences = total_of(usual) + static_cast<double>(usual.escapes);
  if (differences > 0) studied.escapes = static_cast<double>(usual.escapes) / differences;
  studied.fit = fit_gaussian(set.counts);
  for (const std::uint32_t symbols : options.symbols) {
    TRY(const Codebook book, Codebook::from_counts(narrowed(set.counts, symbols).counts));
    studied.sizes.push_back(code_size(set, book));
  }
  if (options.static_book != nullptr) {
    const std::uint32_t symbols = options.static_book->symbols();
    TRY(const Codebook own, Codebook::from_counts(narrowed(set.counts, symbols).counts));
    studied.static_ratio = code_size(set, *options.static_book).ratio;
    studied.dynamic_ratio = code_size(set, own).ratio;
  }
  return studied;
}

Result<TrainingDraw> study_draw(std::span<const DeltaDistribution> sets,
                                const std::vector<std::size_t>& trained_on,
                                const StudyOptions& options) {
  TrainingDraw result{.trained_on = trained_on, .held_out = {}};
  std::vector<const DeltaDistribution*> training;
  for (const std::size_t i : trained_on) training.push_back(&sets[i]);
  TRY(const Codebook trained, mean_codebook(training, options.trained_symbols));
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (std::ranges::binary_search(trained_on, i)) continue;
    TRY(const Codebook own,
        Codebook::from_counts(narrowed(sets[i].counts, options.trained_symbols).counts));
    const TrainingDraw::Held held{i, code_size(sets[i], trained).ratio,
                                  code_size(sets[i], own).ratio};
    const double loss = 1 - held.static_ratio / held.dynamic_ratio;
    result.mean_loss += loss;
    result.worst_loss = std::max(result.worst_loss, loss);
    result.held_out.push_back(held);
  }
  result.mean_loss /= static_cast<double>(result.held_out.size());
  return result;
}

}  // namespace

DeltaCounts narrowed(const DeltaCounts& counts, std::uint32_t symbols) {
  DeltaCounts result(symbols);
  result.escapes = counts.escapes;
  result.bits_as_escapes = counts.bits_as_escapes;
  result.blocks = counts.blocks;
  result.zero_blocks = counts.zero_blocks;
  result.outliers = counts.outliers;
  const std::int64_t shift = counts.first_symbol() - result.first_symbol();
  for (std::size_t i = 0; i < counts.counts.size(); ++i) {
    const std::int64_t symbol = static_cast<std::int64_t>(i) + shift;
    if (symbol >= 0 && symbol < static_cast<std::int64_t>(symbols)) {
      result.counts[static_cast<std::size_t>(symbol)] = counts.counts[i];
    } else {
      result.escapes += counts.counts[i];
    }
  }
  return result;
}

Result<Codebook> mean_codebook(std::span<const DeltaDistribution* const> sets,
                               std::uint32_t symbols) {
  std::vector<double> mean(symbols, 0.0);
  for (const DeltaDistribution* set : sets) {
    const DeltaCounts counts = narrowed(set->counts, symbols);
    const double total = total_of(counts) + static_cast<double>(counts.escapes);
    if (total == 0) continue;  // zero blocks only: nothing is looked up
    for (std::size_t i = 0; i < symbols; ++i) {
      mean[i] += static_cast<double>(counts.counts[i]) / total;
    }
  }
  make_symmetric_and_falling(mean);
  return Codebook::from_probabilities(mean);
}

CodeSize code_size(const DeltaDistribution& set, const Codebook& book) {
  const DeltaCounts counts = narrowed(set.counts, book.symbols());
  CodeSize size{.symbols = book.symbols()};
  const double differences = total_of(counts) + static_cast<double>(counts.escapes);
  // Chunks of f64 differ in what an escape takes: the mean.
  double escape_bits = set.element_bits;
  if (differences > 0 && counts.bits_as_escapes > 0) {
    escape_bits = static_cast<double>(counts.bits_as_escapes) / differences;
  }
  double bits = static_cast<double>(counts.escapes) * (1 + escape_bits);
  for (std::size_t i = 0; i < counts.counts.size(); ++i) {
    bits += static_cast<double>(counts.counts[i]) * (book.lengths()[i] + 1);
  }
  if (differences > 0) size.bits_per_value = bits / differences;
  // A word of 32 bits for each block; the others end on average in the middle of a word.
  const auto blocks = static_cast<double>(counts.blocks);
  const auto coded_blocks = static_cast<double>(counts.blocks - counts.zero_blocks);
  bits += 32 * blocks + 15.5 * coded_blocks +
          static_cast<double>(counts.outliers) * (32 + set.element_bits);
  if (blocks > 0) size.ratio = static_cast<double>(set.values) * set.element_bits / bits;
  return size;
}

GaussianFit fit_gaussian(const DeltaCounts& counts) {
  GaussianFit fit;
  fit.shares.resize(2 * kFitBins + 1);
  fit.fitted.resize(fit.shares.size());
  double total = 0, sum = 0, squares = 0;
  for (std::size_t i = 0; i < counts.counts.size(); ++i) {
    const auto count = static_cast<double>(counts.counts[i]);
    const double difference = static_cast<double>(i) + static_cast<double>(counts.first_symbol());
    total += count;
    sum += count * difference;
    squares += count * difference * difference;
  }
  if (total == 0) return fit;
  fit.mean = sum / total;
  fit.sigma = std::sqrt(std::max(0.0, squares / total - fit.mean * fit.mean));
  // An odd width, so that zero is the middle of a bin.
  const double bins_in_three_sigma = std::ceil(3 * fit.sigma / kFitBins);
  fit.bin_width = static_cast<std::uint32_t>(std::max(1.0, bins_in_three_sigma)) | 1U;
  const auto width = static_cast<std::int64_t>(fit.bin_width);
  for (std::size_t i = 0; i < counts.counts.size(); ++i) {
    const std::int64_t difference = static_cast<std::int64_t>(i) + counts.first_symbol();
    const std::int64_t bin = (difference + width * kFitBins + width / 2) / width;
    if (difference < -(width * kFitBins + width / 2) || bin > 2 * kFitBins) continue;
    fit.shares[static_cast<std::size_t>(bin)] += static_cast<double>(counts.counts[i]) / total;
  }
  const double scale = std::max(fit.sigma, 1e-9) * std::sqrt(2.0);
  const double mean_share = std::accumulate(fit.shares.begin(), fit.shares.end(), 0.0) /
                            static_cast<double>(fit.shares.size());
  double unexplained = 0, variance = 0;
  for (std::size_t i = 0; i < fit.shares.size(); ++i) {
    const double x = (static_cast<double>(i) - kFitBins) * fit.bin_width - fit.mean;
    const double half = 0.5 * fit.bin_width;
    fit.fitted[i] = 0.5 * (std::erf((x + half) / scale) - std::erf((x - half) / scale));
    unexplained += (fit.shares[i] - fit.fitted[i]) * (fit.shares[i] - fit.fitted[i]);
    variance += (fit.shares[i] - mean_share) * (fit.shares[i] - mean_share);
  }
  fit.r_squared = variance > 0 ? 1 - unexplained / variance : 0;
  return fit;
}

Result<CodebookStudy> study_codebooks(std::span<const DeltaDistribution> sets,
                                      const StudyOptions& options) {
  CodebookStudy study;
  for (const DeltaDistribution& set : sets) {
    TRY(StudiedSet studied, study_set(set, options));
    study.sets.push_back(std::move(studied));
  }
  if (sets.size() <= options.train_on) return study;
  std::mt19937 generator(options.seed);
  for (std::size_t i = 0; i < options.draws; ++i) {
    TRY(TrainingDraw drawn,
        study_draw(sets, draw(sets.size(), options.train_on, generator), options));
    study.draws.push_back(std::move(drawn));
  }
  return study;
}

}  // namespace tensorpress::benchmark
