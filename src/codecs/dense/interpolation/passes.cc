#include "codecs/dense/interpolation/passes.h"

#include <bit>

#include "kernels/rans/rans.h"

namespace tensorpress::dense {

Lattice::Lattice(const Extents& chunk, const InterpolationMode& mode) : along(mode.along) {
  std::size_t longest = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (along[axis]) longest = std::max(longest, chunk[axis]);
  }
  levels = std::min(static_cast<int>(std::bit_width(longest - 1)), kLevelLimits[mode.level_limit]);
  for (int level = 0; level <= levels; ++level) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::size_t step = std::size_t{1} << level;
      extent[level][axis] = along[axis] ? (chunk[axis] + step - 1) / step : chunk[axis];
    }
  }
}

std::size_t Lattice::padded_values() const {
  const auto padded = [](std::size_t width) {
    return (width + kernels::kRansGroup - 1) / kernels::kRansGroup * kernels::kRansGroup;
  };
  std::size_t total = 0;
  for (int level = 1; level <= levels; ++level) {
    const Extents &n = extent[level - 1], &m = extent[level];
    if (along[0]) total += n[0] / 2 * m[1] * padded(m[2]);
    if (along[1]) total += n[0] * (n[1] / 2) * padded(m[2]);
    if (along[2]) total += n[0] * n[1] * padded(n[2] / 2);
  }
  return total;
}

namespace {

// Hands out the pieces of a buffer; with no buffer it counts.
template <class T>
struct Carver {
  T* base;
  std::size_t used = 0;
  T* take(std::size_t count) {
    T* piece = base == nullptr ? nullptr : base + used;
    used += count;
    return piece;
  }
};

template <class T>
void carve(Carver<T>& carver, const Lattice& lattice, PassBuffers<T>& buffers) {
  using Buffers = PassBuffers<T>;
  const Extents& chunk = lattice.extent[0];
  const std::size_t half = lattice.along[2] ? (chunk[2] + 1) / 2 : chunk[2];
  const std::size_t slack = 2 * kernels::kRowSlack;
  buffers.grid = carver.take(chunk[0] * chunk[1] * Buffers::pitch_of(half) + slack);
  buffers.above = carver.take(Buffers::pitch_of(half) + slack);
  buffers.error = carver.take(Buffers::pitch_of(half) + slack);
  buffers.behind = carver.take(chunk[0] > 1 ? chunk[1] * Buffers::pitch_of(half) + slack : 0);
  for (T*& row : buffers.spare) row = carver.take(chunk[2] + slack);
  buffers.tail_pitch = chunk[2] + slack;
  buffers.tail = carver.take((slack / chunk[2] + 2) * buffers.tail_pitch);
  for (int level = 1; level <= lattice.levels; ++level) {
    buffers.level[level] = carver.take(lattice.count(level) + slack);
  }
}

}  // namespace

template <class T>
std::size_t PassBuffers<T>::elements_needed(const Lattice& lattice) {
  Carver<T> carver{nullptr};
  PassBuffers none({}, lattice);
  carve(carver, lattice, none);
  return carver.used;
}

template <class T>
PassBuffers<T>::PassBuffers(std::span<T> memory, const Lattice& lattice) {
  Carver<T> carver{memory.data()};
  carve(carver, lattice, *this);
}

template class PassBuffers<float>;
template class PassBuffers<double>;

}  // namespace tensorpress::dense
