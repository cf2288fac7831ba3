#include "codecs/dense/interpolation/stencils/fit.h"

#include <algorithm>
#include <cmath>

namespace tensorpress::dense {
namespace {

constexpr std::size_t kPiece = kernels::kSamplePiece;  // of a row; whole lanes of products
constexpr std::size_t kBatch = 1024;  // samples whose products are summed up in floats
// With fewer samples a weight the fit would follow noise.
constexpr std::size_t kSamplesAWeight = 40;
// Neighbours are nearly copies of each other; this keeps the weights small where it costs nothing.
constexpr double kRidge = 1e-6;

// Solves a x = b for symmetric positive a (lower half given), n x n inside rows of n + 1 whose last
// one is b. Variables that are combinations of others become 0.
std::vector<double> solve(std::vector<double>& a, std::size_t n) {
  const std::size_t pitch = n + 1;
  const auto at = [&](std::size_t row, std::size_t column) -> double& {
    return a[row * pitch + column];
  };
  std::vector<double> inverse(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double before = at(i, i);
    at(i, i) += kRidge * before;
    inverse[i] = before;
  }
  // a = l d l', the last row becomes l^-1 b.
  for (std::size_t i = 0; i < n; ++i) {
    const double pivot = at(i, i);
    const bool usable = pivot > 1e-9 * inverse[i] && pivot > 0;
    inverse[i] = usable ? 1 / pivot : 0;
    for (std::size_t row = i + 1; row <= n; ++row) {
      const double factor = at(row, i) * inverse[i];
      for (std::size_t column = i + 1; column <= std::min(row, n - 1); ++column) {
        at(row, column) -= factor * at(column, i);
      }
      a[row * pitch + i] = at(row, i);
    }
  }
  std::vector<double> x(n);
  for (std::size_t i = n; i-- > 0;) {
    double sum = at(n, i);
    for (std::size_t row = i + 1; row < n; ++row) sum -= at(row, i) * x[row];
    x[i] = sum * inverse[i];
  }
  return x;
}

}  // namespace

template <class T>
auto FittedWeights<T>::pieces(const StencilClass<T>& stencil, const GridLayout& layout) const
    -> std::vector<Piece> {
  // Away from faces: values beyond them are made up.
  Extents from{}, to = stencil.extents;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!layout.along(axis)) continue;
    from[axis] = GridLayout::kBefore;
    to[axis] = to[axis] > GridLayout::kBehind ? to[axis] - GridLayout::kBehind : 0;
    if (to[axis] <= from[axis]) return {};
  }
  const std::size_t planes = to[0] - from[0], rows = to[1] - from[1], columns = to[2] - from[2];
  const std::size_t in_row = (columns + kPiece - 1) / kPiece, all = planes * rows * in_row;
  const std::size_t wanted = std::max<std::size_t>(1, samples_ * in_row / columns);
  const std::size_t taken = std::min(all, wanted);
  std::vector<Piece> result;
  for (std::size_t i = 0; i < taken; ++i) {
    const std::size_t number = (2 * i + 1) * all / (2 * taken);
    const std::size_t x = number % in_row * kPiece, row = number / in_row;
    result.push_back(
        {from[0] + row / rows, from[1] + row % rows, from[2] + x, std::min(kPiece, columns - x)});
  }
  return result;
}

template <class T>
void FittedWeights<T>::add_piece(const StencilClass<T>& stencil, const GridLayout& layout,
                                 ClassGrids<T>& grids, const Piece& piece) {
  const std::size_t groups = stencil.groups.size();
  constexpr std::size_t kPitch = kPiece + 2 * kernels::kRowSlack;
  sums_.resize(std::max(sums_.size(), groups * kPitch));
  kernels::StencilRow<T> row = stencil.row;
  row.at = grids.row(stencil.odd, piece.z, piece.y) + piece.x;
  kernels_.sums(row, piece.count, kPitch, sums_.data());
  const auto finer = [&](std::size_t axis, std::size_t at) {
    return layout.along(axis) ? 2 * at + (stencil.odd >> (2 - axis) & 1) : at;
  };
  const Extents& n = layout.finer();
  const T* const originals =
      originals_ + (finer(0, piece.z) * n[1] + finer(1, piece.y)) * n[2] + finer(2, piece.x);
  kernels_.samples({.sums = sums_.data(),
                    .pitch = kPitch,
                    .groups = stencil.groups.data(),
                    .group_count = groups,
                    .originals = originals,
                    .step = layout.along(2) ? std::size_t{2} : std::size_t{1},
                    .count = piece.count,
                    .inverse_step = static_cast<T>(1) / step_},
                   kBatch, features_.data() + filled_);
  filled_ += kPiece;
}

template <class T>
StencilWeights FittedWeights<T>::of(const StencilClass<T>& stencil, const GridLayout& layout,
                                    ClassGrids<T>& grids) {
  const StencilWeights cubic = cubic_weights(*stencil.shape);
  if (stencil.level > kStencilLevels) return cubic;
  const std::size_t groups = stencil.groups.size();
  const auto samples = pieces(stencil, layout);
  std::size_t count = 0;
  for (const Piece& piece : samples) count += piece.count;
  if (count < kSamplesAWeight * groups) return cubic;

  features_.resize(std::max(features_.size(), groups * kBatch));
  products_.assign(groups * groups, 0);
  const auto flush = [&] {
    kernels_.add_products(features_.data(), groups, kBatch, filled_, products_.data());
    filled_ = 0;
  };
  for (const Piece& piece : samples) {
    if (filled_ + kPiece > kBatch) flush();
    add_piece(stencil, layout, grids, piece);
  }
  flush();
  const std::vector<double> fitted = solve(products_, groups - 1);
  StencilWeights weights(groups);
  for (std::size_t g = 1; g < groups; ++g) {
    const double scaled = fitted[g - 1] * kStencilUnit;
    if (!(std::abs(scaled) < kMostStencilWeight)) return cubic;
    weights[g] = static_cast<std::int32_t>(std::floor(scaled + 0.5));
  }
  if (!set_.set(stencil.level, stencil.odd, weights)) return cubic;
  return set_.of(stencil.level, stencil.odd);
}

template class FittedWeights<float>;
template class FittedWeights<double>;

}  // namespace tensorpress::dense
