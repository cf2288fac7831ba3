#include "codecs/dense/wavelet/pyramid.h"

#include <algorithm>
#include <cstring>

namespace tensorpress::dense {

Pyramid::Pyramid(const Extents& chunk, kernels::WaveletFilter filter, kernels::WaveletEnds ends,
                 const Axes& axes)
    : filter_(filter), ends_(ends) {
  Extents size = chunk;
  for (;;) {
    WaveletLevel& level = level_[static_cast<std::size_t>(levels_)];
    level.size = level.padded = level.low = size;
    bool any = false;
    for (std::size_t axis = 0; axis < 3 && levels_ < kMostLevels; ++axis) {
      if (!axes[axis] || size[axis] < kShortest) continue;
      any = level.split[axis] = true;
      level.padded[axis] = size[axis] | 1;
      level.low[axis] = (level.padded[axis] + 1) / 2;
    }
    constexpr std::size_t kBlock = kernels::kWaveletBlock;
    level.pitch = (level.padded[2] + kBlock - 1) / kBlock * kBlock;
    level.start = elements_;
    elements_ += level.padded[0] * level.padded[1] * level.pitch;
    if (!any) return;
    size = level.low;
    ++levels_;
  }
}

std::size_t Pyramid::scratch_elements() const {
  const Extents& most = level_[0].padded;
  return kernels::wavelet_scratch(std::max({most[0], most[1], most[2]}));
}

bool Pyramid::band(int number, unsigned which, WaveletBand& band) const {
  const WaveletLevel& at = level(number);
  band = {number, which, {}, at.low};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (((which >> (2 - axis)) & 1) == 0) continue;
    band.from[axis] = at.low[axis];
    band.size[axis] = at.padded[axis] - at.low[axis];
  }
  return band.size[0] > 0 && band.size[1] > 0 && band.size[2] > 0;
}

// Near the ends of the chunk a long filter would reach beyond both.
kernels::WaveletStep Pyramid::step_for(std::size_t count) const {
  const bool fits = count > kernels::wavelet_reach(filter_);
  return {fits ? filter_ : kernels::WaveletFilter::taps_9_7, ends_, count};
}

template <class T>
void Pyramid::make_up_values(const WaveletLevel& level, T* memory) const {
  const bool slope = ends_ == kernels::WaveletEnds::through_point;
  const auto made_up = [slope](T last, T before) {
    return slope ? (last + last) - before : before;
  };
  const Extents &size = level.size, &padded = level.padded;
  if (padded[2] > size[2]) {
    for (std::size_t z = 0; z < size[0]; ++z) {
      for (std::size_t y = 0; y < size[1]; ++y) {
        T* const end = memory + level.place(z, y, size[2]);
        *end = made_up(end[-1], end[-2]);
      }
    }
  }
  const auto make_row = [&](T* to, const T* last, const T* before) {
    for (std::size_t x = 0; x < padded[2]; ++x) to[x] = made_up(last[x], before[x]);
  };
  if (padded[1] > size[1]) {
    for (std::size_t z = 0; z < size[0]; ++z) {
      make_row(memory + level.place(z, size[1], 0), memory + level.place(z, size[1] - 1, 0),
               memory + level.place(z, size[1] - 2, 0));
    }
  }
  if (padded[0] > size[0]) {
    for (std::size_t y = 0; y < padded[1]; ++y) {
      make_row(memory + level.place(size[0], y, 0), memory + level.place(size[0] - 1, y, 0),
               memory + level.place(size[0] - 2, y, 0));
    }
  }
}

template <class T>
void Pyramid::clear_margins(T* memory) const {
  for (int number = 0; number <= levels_; ++number) {
    const WaveletLevel& at = level(number);
    for (std::size_t z = 0; z < at.padded[0]; ++z) {
      for (std::size_t y = 0; y < at.padded[1]; ++y) {
        std::fill(memory + at.place(z, y, at.size[2]), memory + at.place(z, y, at.pitch),
                  static_cast<T>(0));
      }
    }
  }
}

template <class T>
void Pyramid::clear(const WaveletBand& band, T* memory) const {
  const WaveletLevel& at = level(band.level);
  for (std::size_t z = 0; z < band.size[0]; ++z) {
    for (std::size_t y = 0; y < band.size[1]; ++y) {
      std::fill_n(memory + at.place(band.from[0] + z, band.from[1] + y, band.from[2]), band.size[2],
                  static_cast<T>(0));
    }
  }
}

template <class T>
void Pyramid::analyze(T* memory, T* scratch, Isa isa) const {
  const auto& kernels = kernels::wavelet_kernels<T>(isa);
  for (int number = 0; number < levels_; ++number) {
    const WaveletLevel& at = level(number);
    const Extents& padded = at.padded;
    make_up_values(at, memory);
    for (std::size_t z = 0; z < padded[0]; ++z) {
      if (at.split[2]) {
        const auto step = step_for(padded[2]);
        for (std::size_t y = 0; y < padded[1]; ++y) {
          kernels.analyze_row(step, memory + at.place(z, y, 0), scratch);
        }
      }
      if (at.split[1]) {
        kernels.analyze_columns(step_for(padded[1]), memory + at.place(z, 0, 0), at.pitch, at.pitch,
                                scratch);
      }
    }
    if (at.split[0]) {
      kernels.analyze_columns(step_for(padded[0]), memory + at.start, padded[1] * at.pitch,
                              padded[1] * at.pitch, scratch);
    }
    const WaveletLevel& next = level(number + 1);
    for (std::size_t z = 0; z < at.low[0]; ++z) {
      for (std::size_t y = 0; y < at.low[1]; ++y) {
        std::memcpy(memory + next.place(z, y, 0), memory + at.place(z, y, 0),
                    at.low[2] * sizeof(T));
      }
    }
  }
}

template <class T>
void Pyramid::synthesize_planes(int number, T* memory, T* scratch, Isa isa) const {
  const WaveletLevel &at = level(number), &next = level(number + 1);
  for (std::size_t z = 0; z < at.low[0]; ++z) {
    for (std::size_t y = 0; y < at.low[1]; ++y) {
      std::memcpy(memory + at.place(z, y, 0), memory + next.place(z, y, 0), at.low[2] * sizeof(T));
    }
  }
  if (!at.split[0]) return;
  kernels::wavelet_kernels<T>(isa).synthesize_columns(step_for(at.padded[0]), memory + at.start,
                                                      at.padded[1] * at.pitch,
                                                      at.padded[1] * at.pitch, scratch);
}

template <class T>
void Pyramid::synthesize_within_plane(int number, std::size_t z, T* memory, T* scratch,
                                      Isa isa) const {
  const auto& kernels = kernels::wavelet_kernels<T>(isa);
  const WaveletLevel& at = level(number);
  if (at.split[1]) {
    kernels.synthesize_columns(step_for(at.padded[1]), memory + at.place(z, 0, 0), at.pitch,
                               at.pitch, scratch);
  }
  if (!at.split[2]) return;
  const auto step = step_for(at.padded[2]);
  for (std::size_t y = 0; y < at.size[1]; ++y) {
    kernels.synthesize_row(step, memory + at.place(z, y, 0), scratch);
  }
}

template void Pyramid::clear(const WaveletBand&, float*) const;
template void Pyramid::clear(const WaveletBand&, double*) const;
template void Pyramid::clear_margins(float*) const;
template void Pyramid::clear_margins(double*) const;
template void Pyramid::analyze(float*, float*, Isa) const;
template void Pyramid::analyze(double*, double*, Isa) const;
template void Pyramid::synthesize_planes(int, float*, float*, Isa) const;
template void Pyramid::synthesize_planes(int, double*, double*, Isa) const;
template void Pyramid::synthesize_within_plane(int, std::size_t, float*, float*, Isa) const;
template void Pyramid::synthesize_within_plane(int, std::size_t, double*, double*, Isa) const;

}  // namespace tensorpress::dense
