// How well one static codebook serves many data sets: the mathematics of the CereSZ-II paper's
// Figures 6 and 7 and Table I, on distributions of differences that were counted elsewhere.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "benchmark/studies/delta_counts.h"
#include "codecs/ceresz2/codebook.h"

namespace tensorpress::benchmark {

/// Figure 7: the normal distribution with the mean and standard deviation of the differences (its
/// maximum-likelihood fit), compared in 41 bins around zero: single differences as in the figure,
/// or wider bins where three standard deviations need them.
struct GaussianFit {
  double mean = 0;
  double sigma = 0;
  double r_squared = 0;  // of the bins' shares; 1 is perfect
  std::uint32_t bin_width = 1;
  std::vector<double> shares;  // observed, a bin each
  std::vector<double> fitted;  // what the fit expects there
};
inline constexpr int kFitBins = 20;  // on either side of zero

/// Figure 6: the cost of a codebook of so many symbols, made for the data set itself.
struct CodeSize {
  std::uint32_t symbols = 0;
  double bits_per_value = 0;  // flags, codes and escapes, in blocks that are not zero
  double ratio = 0;           // with the blocks' counts, zero blocks and mean padding
};

struct StudiedSet {
  std::string name;
  std::uint64_t values = 0;
  double zero_blocks = 0;  // share
  double escapes = 0;      // share of the differences, at 2000 symbols
  GaussianFit fit;
  std::vector<CodeSize> sizes;
  double static_ratio = 0;   // with StudyOptions::static_book
  double dynamic_ratio = 0;  // with the data set's own codebook of as many symbols
};

/// Table I: data sets coded with codebooks that were trained on others.
struct TrainingDraw {
  std::vector<std::size_t> trained_on;
  struct Held {
    std::size_t set = 0;
    double static_ratio = 0;
    double dynamic_ratio = 0;
  };
  std::vector<Held> held_out;
  double mean_loss = 0;  // of 1 - static / dynamic
  double worst_loss = 0;
};

struct CodebookStudy {
  std::vector<StudiedSet> sets;
  std::vector<TrainingDraw> draws;  // none when there are fewer than four data sets
};

struct StudyOptions {
  std::vector<std::uint32_t> symbols = {50, 100, 200, 500, 1000, 2000, 3000, 4000, 5000};
  std::uint32_t trained_symbols = ceresz2::kDefaultSymbols;
  std::size_t train_on = 3;
  std::size_t draws = 10;
  std::uint32_t seed = 1;
  const ceresz2::Codebook* static_book = nullptr;  // compared with every set's own, if given
};

/// The middle `symbols` of the counts; what they leave out becomes escapes.
ceresz2::DeltaCounts narrowed(const ceresz2::DeltaCounts& counts, std::uint32_t symbols);

/// The paper's equation (1), the mean of the data sets' distributions, each of weight one; then
/// made symmetric and falling from zero (by pooling neighbours), which is what all of them tend to
/// be and the comb of a single data set of whole numbers is not.
Result<ceresz2::Codebook> mean_codebook(std::span<const DeltaDistribution* const> sets,
                                        std::uint32_t symbols);

CodeSize code_size(const DeltaDistribution& set, const ceresz2::Codebook& book);
GaussianFit fit_gaussian(const ceresz2::DeltaCounts& counts);

/// Every distribution must have been counted with the most of options.symbols at least.
Result<CodebookStudy> study_codebooks(std::span<const DeltaDistribution> sets,
                                      const StudyOptions& options);

}  // namespace tensorpress::benchmark
