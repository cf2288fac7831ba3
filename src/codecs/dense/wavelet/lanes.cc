#include "codecs/dense/wavelet/lanes.h"

#include <algorithm>

#include "codecs/dense/lattice/folding.h"
#include "codecs/dense/wavelet/wavelet.h"

namespace tensorpress::dense {
namespace {

// A cache line of 16 values; long lines have wide rows, which take less time.
constexpr std::size_t kFewLanes = 16, kManyLanes = 64;
constexpr std::size_t kLongLine = std::size_t{1} << 18;

}  // namespace

Lanes Lanes::of(const Shape& shape) {
  const Folding folding = fold(shape);
  const std::size_t values = folding.extents[2];
  if (folding.extents[0] != 1 || folding.extents[1] != 1 || folding.components != 1 ||
      values < kLeastLine) {
    return {};
  }
  const std::size_t count = values < kLongLine ? kFewLanes : kManyLanes;
  return {count, (values + count - 1) / count};
}

WaveletForm wavelet_form_of(const Shape& shape) {
  return Lanes::of(shape).exist() ? WaveletForm::lanes : WaveletForm::grid;
}

// A few rows at a time, so that what is read of each lane stays in the cache until it is used.
template <class T>
void Lanes::gather(std::span<const T> line, T made_up, std::span<T> rows) const {
  constexpr std::size_t kRows = 32;
  for (std::size_t from = 0; from < length; from += kRows) {
    const std::size_t to = std::min(from + kRows, length);
    for (std::size_t lane = 0; lane < count; ++lane) {
      for (std::size_t y = from; y < to; ++y) {
        const std::size_t at = lane * length + y;
        rows[y * count + lane] = at < line.size() ? line[at] : made_up;
      }
    }
  }
}
template void Lanes::gather(std::span<const float>, float, std::span<float>) const;
template void Lanes::gather(std::span<const double>, double, std::span<double>) const;

template <class T>
void Lanes::scatter(const T* rows, std::span<T> line) const {
  constexpr std::size_t kRows = 32;
  for (std::size_t from = 0; from < length; from += kRows) {
    const std::size_t to = std::min(from + kRows, length);
    for (std::size_t lane = 0; lane < count; ++lane) {
      for (std::size_t y = from; y < to; ++y) {
        const std::size_t at = lane * length + y;
        if (at < line.size()) line[at] = rows[y * count + lane];
      }
    }
  }
}
template void Lanes::scatter(const float*, std::span<float>) const;
template void Lanes::scatter(const double*, std::span<double>) const;

}  // namespace tensorpress::dense
