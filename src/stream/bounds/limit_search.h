// The error limit for goals that only compression can tell whether they are met: a PSNR or a ratio.
// A search first looks at samples of the tensor and proposes a limit; when everything was
// compressed with it, the search takes the limit or proposes another one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "stream/bounds/trial.h"
#include "stream/chunks/chunk_grid.h"
#include "tensorpress/result.h"

namespace tensorpress::stream {

/// What became of a whole tensor.
struct Outcome {
  double mean_squared_error = 0;  // of the values that count
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;  // the whole stream

  double ratio() const { return static_cast<double>(bytes_in) / static_cast<double>(bytes_out); }
};

/// What a search looks at.
struct SearchSpace {
  const ChunkGrid& grid;
  DType dtype;
  double width = 0;                 // of the value range
  std::uint64_t opening_bytes = 0;  // what a stream has before its chunks, about
  /// Compresses these chunks with a limit, for their size and error alone.
  std::function<Result<Trial>(double limit, std::span<const std::uint64_t> chunks)> try_limit;
};

class LimitSearch {
 public:
  virtual ~LimitSearch() = default;
  /// The limit to compress everything with first. Looks at samples.
  virtual Result<double> first() = 0;
  /// The limit to try after the last one came to `outcome`; absent when that one is taken.
  virtual Result<std::optional<double>> next(const Outcome& outcome) = 0;
};

/// The largest limit found whose PSNR is at least so many decibels.
std::unique_ptr<LimitSearch> search_for_psnr(double decibels, SearchSpace space);

/// The smallest limit found with which the stream is at least `ratio` times smaller than the
/// tensor; a few per cent more at most, where the codec's sizes allow it. An error where no limit
/// reaches the ratio.
std::unique_ptr<LimitSearch> search_for_ratio(double ratio, SearchSpace space);

}  // namespace tensorpress::stream
