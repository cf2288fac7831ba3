#include "command_line/reports/bound_remark.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/cpu.h"
#include "base/errors.h"
#include "stream/bounds/survey.h"

namespace tensorpress::cli {
namespace {

constexpr double kHalf = 0.5;
constexpr double kFewDecibels = 10;
constexpr std::uint64_t kSampleElements = 4096, kSamples = 16;
constexpr std::uint64_t kPieceElements = std::uint64_t{1} << 20;

/// Pieces of at most `elements` elements that lie together.
Shape piece_shape(const Shape& shape, std::uint64_t elements) {
  Shape piece = shape;
  for (std::size_t i = shape.rank(); i-- > 0;) {
    piece[i] = std::clamp<std::uint64_t>(shape[i], 1, elements);
    elements /= piece[i];
    if (elements == 0) elements = 1;
  }
  return piece;
}

/// Of pieces from all over the tensor, or of all of them. Nothing is found where no value counts.
Result<stream::Survey> look(TensorSource& source, std::span<const double> fill_values,
                            std::uint64_t piece_elements, std::uint64_t most_pieces) {
  TRY(const auto execution, stream::Execution::on({}, 1));
  TRY(const auto grid,
      stream::ChunkGrid::make(source.shape(), piece_shape(source.shape(), piece_elements)));
  const std::uint64_t count = std::min(grid.chunk_count(), most_pieces);
  std::vector<std::uint64_t> pieces(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count; ++i) {
    const double share = (static_cast<double>(i) + kHalf) / static_cast<double>(count);
    pieces[static_cast<std::size_t>(i)] =
        count == grid.chunk_count()
            ? i
            : static_cast<std::uint64_t>(share * static_cast<double>(grid.chunk_count()));
  }
  TRY(const auto seen, stream::look_at_chunks(source, grid, pieces, fill_values, execution));
  return stream::conclude(seen);
}

Result<std::string> remark_on_absolute(double bound, std::span<const double> fill_values,
                                       TensorSource& source) {
  const auto is_large = [bound](const stream::Survey& survey) {
    return bound >= kHalf * (survey.range.high - survey.range.low);
  };
  if (!source.random_access() || !is_floating(source.dtype()) ||
      source.shape().element_count() == 0) {
    return std::string();
  }
  TRY(const auto some, look(source, fill_values, kSampleElements, kSamples));
  if (!is_large(some)) return std::string();
  TRY(const auto all, look(source, fill_values, kPieceElements, UINT64_MAX));
  const double range = all.range.high - all.range.low;
  // Values that are all the same stay so.
  if (!is_large(all) || !(range > 0)) return std::string();
  return text("a bound of ", bound, bound > range ? " exceeds" : " is at least half of",
              " what the values differ by: the data's range is ", rounded(range, 6),
              ", so little of it is kept");
}

}  // namespace

Result<std::string> remark_on_bound(const CompressOptions& options, TensorSource& source) {
  if (!options.bound) return std::string();
  const double value = options.bound->value();
  switch (options.bound->kind()) {
    case Bound::Kind::absolute:
      if (value == 0) return std::string();
      return remark_on_absolute(value, options.fill_values, source);
    case Bound::Kind::relative:
      if (value < kHalf) return std::string();
      return text("a bound of ", value, " of the data's range keeps little of the data");
    case Bound::Kind::pointwise_relative:
      if (value < kHalf) return std::string();
      return text("a bound of ", value, " lets every value differ by ", rounded(100 * value, 3),
                  " % of itself");
    case Bound::Kind::psnr:
      if (value >= kFewDecibels) return std::string();
      return text("a PSNR of ", value, " dB keeps little of the data; pictures of use have 30 dB ",
                  "or more");
    case Bound::Kind::ratio:
      return std::string();
  }
  return std::string();
}

}  // namespace tensorpress::cli
