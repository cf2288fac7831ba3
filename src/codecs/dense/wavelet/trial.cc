#include "codecs/dense/wavelet/trial.h"

#include <algorithm>
#include <vector>

#include "codecs/dense/interpolation/interpolation.h"
#include "codecs/dense/lattice/folding.h"
#include "codecs/dense/wavelet/wavelet.h"

namespace tensorpress::dense {
namespace {

constexpr std::uint64_t kSide = 129;             // of a chunk, at most
constexpr std::uint64_t kLeastSide = 65;         // of a tensor that is cut into cubes
constexpr std::uint64_t kLeastValues = 1 << 21;  // of such a tensor
constexpr std::size_t kLeastExtent = 33;         // of a chunk
constexpr std::size_t kLeastChunk = 1 << 17;
constexpr double kMostBits = 12;
constexpr std::size_t kTrialSide = 65;

// The block in the middle of a folded chunk.
template <class T>
std::vector<T> middle_of(std::span<const T> values, const Extents& extents, const Extents& block) {
  std::vector<T> taken;
  taken.reserve(block[0] * block[1] * block[2]);
  Extents from;
  for (std::size_t axis = 0; axis < 3; ++axis) from[axis] = (extents[axis] - block[axis]) / 2;
  for (std::size_t z = 0; z < block[0]; ++z) {
    for (std::size_t y = 0; y < block[1]; ++y) {
      const auto row = values.subspan(
          ((from[0] + z) * extents[1] + from[1] + y) * extents[2] + from[2], block[2]);
      taken.insert(taken.end(), row.begin(), row.end());
    }
  }
  return taken;
}

}  // namespace

std::optional<Shape> wavelet_chunk_shape(const Shape& shape) {
  const std::size_t rank = shape.rank();
  if (rank < 3 || shape.element_count() < kLeastValues) return std::nullopt;
  Shape chunk = shape;
  for (std::size_t axis = 0; axis + 3 < rank; ++axis) chunk[axis] = 1;
  for (std::size_t axis = rank - 3; axis < rank; ++axis) {
    const std::uint64_t extent = shape[axis];
    if (extent < kLeastSide) return std::nullopt;
    // Pieces of about the same size and of an odd length, as the transform likes them.
    const std::uint64_t pieces = (extent + kSide - 1) / kSide;
    chunk[axis] = std::min(extent, ((extent + pieces - 1) / pieces) | 1);
  }
  return chunk;
}

bool suits_wavelets(const Shape& shape, double bits_of_others) {
  const Folding folding = fold(shape);
  return shape.element_count() >= kLeastChunk && folding.components == 1 &&
         *std::ranges::min_element(folding.extents) >= kLeastExtent && bits_of_others < kMostBits;
}

template <class T>
Verdict try_wavelet(const bounded::Field<T>& field, double bound, const InterpolationMode& other,
                    ChunkWorkspace& workspace) {
  const Folding folding = fold(field.shape);
  Extents block;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    block[axis] = std::min(folding.extents[axis], kTrialSide);
  }
  // Holes have been filled, and zeros need not come back here.
  const std::vector<T> values = middle_of<T>(field.values, folding.extents, block);
  const bounded::Field<T> sample{values, Shape{block[0], block[1], block[2]}, {}, false};
  std::vector<std::byte> output(values.size() * sizeof(T));
  const auto interpolated =
      encode_interpolation(sample, bound, other, std::span(output), workspace);
  if (interpolated) output.resize(*interpolated);
  const auto transformed = encode_wavelet(sample, bound, {}, std::span(output), workspace);
  return transformed ? Verdict::wavelet : Verdict::other;
}

template Verdict try_wavelet(const bounded::Field<float>&, double, const InterpolationMode&,
                             ChunkWorkspace&);
template Verdict try_wavelet(const bounded::Field<double>&, double, const InterpolationMode&,
                             ChunkWorkspace&);

}  // namespace tensorpress::dense
