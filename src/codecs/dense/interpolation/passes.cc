#include "codecs/dense/interpolation/passes.h"

#include "codecs/dense/residuals/coding.h"

namespace tensorpress::dense {

std::size_t padded_values(const Lattice& lattice) {
  std::size_t total = 0;
  for (int level = 1; level <= lattice.levels; ++level) {
    const Extents &n = lattice.extent[level - 1], &m = lattice.extent[level];
    if (lattice.along[0]) total += n[0] / 2 * m[1] * padded_count(m[2]);
    if (lattice.along[1]) total += n[0] * (n[1] / 2) * padded_count(m[2]);
    if (lattice.along[2]) total += n[0] * n[1] * padded_count(n[2] / 2);
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
