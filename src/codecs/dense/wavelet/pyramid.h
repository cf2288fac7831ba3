// The levels of a wavelet transform of a chunk, and where each band of coefficients lies.
//
// Level 0 holds the chunk. A step along an axis splits it into low values (averages) and high ones
// (differences); what is low along all axes is the next level. Axes shorter than 8 are not split.
// A step needs an odd number of values: an even one gets one more, made up from the last two.
//
//        x low   x high
//      +-------+------+     which = 1 for high along x, 2 along y, 4 along z, added up
//  low | level |  1   |     low has one value more than high
//   y  | l + 1 |      |
//      +-------+------+
// high |   2   |  3   |
//      +-------+------+
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "base/cpu.h"
#include "codecs/dense/lattice/lattice.h"  // Extents
#include "kernels/wavelet/wavelet.h"

namespace tensorpress::dense {

struct WaveletLevel {
  Extents size{1, 1, 1};    // of its values
  Extents padded{1, 1, 1};  // odd where it is split
  Extents low{1, 1, 1};     // of the next level
  std::array<bool, 3> split{};
  std::size_t pitch = 0;  // elements from one row to the next
  std::size_t start = 0;  // of the level in the pyramid's memory

  std::size_t place(std::size_t z, std::size_t y, std::size_t x) const {
    return start + (z * padded[1] + y) * pitch + x;
  }
};

struct WaveletBand {
  int level = 0;
  unsigned which = 0;  // 0: the coarsest values
  Extents from{};      // in its level
  Extents size{};
};

class Pyramid {
 public:
  static constexpr int kMostLevels = 6;
  static constexpr std::size_t kShortest = 8;
  static constexpr std::size_t kBands = 7;
  /// The order of the bands of a level: those that are high along one axis, two, three.
  static constexpr std::array<unsigned, kBands> kOrder = {1, 2, 4, 3, 5, 6, 7};

  /// Which axes may be split: z y x.
  using Axes = std::array<bool, 3>;
  static constexpr Axes kAllAxes = {true, true, true};

  Pyramid(const Extents& chunk, kernels::WaveletFilter filter, kernels::WaveletEnds ends,
          const Axes& axes = kAllAxes);

  int levels() const { return levels_; }
  const WaveletLevel& level(int number) const { return level_[static_cast<std::size_t>(number)]; }
  /// Elements of memory for all levels.
  std::size_t elements() const { return elements_; }
  std::size_t scratch_elements() const;
  /// False if it has no values.
  bool band(int level, unsigned which, WaveletBand& band) const;

  /// Zeros behind every row, which columns are worked on with.
  template <class T>
  void clear_margins(T* memory) const;
  template <class T>
  void clear(const WaveletBand& band, T* memory) const;
  /// `memory` holds the chunk at level 0, without the made-up values; then all coefficients.
  template <class T>
  void analyze(T* memory, T* scratch, Isa isa) const;
  /// The inverse: the chunk at level 0. finish_plane(z) follows when plane z is done, which is
  /// still in the cache then; later planes may not be touched.
  template <class T, class FinishPlane>
  bool synthesize(T* memory, T* scratch, Isa isa, const FinishPlane& finish_plane) const {
    for (int number = levels_ - 1; number >= 0; --number) {
      synthesize_planes(number, memory, scratch, isa);
      for (std::size_t z = 0; z < level(number).size[0]; ++z) {
        synthesize_within_plane(number, z, memory, scratch, isa);
        if (number == 0 && !finish_plane(z)) return false;
      }
    }
    return true;
  }

 private:
  kernels::WaveletStep step_for(std::size_t count) const;
  // A step along z, then those along y and x.
  template <class T>
  void synthesize_planes(int number, T* memory, T* scratch, Isa isa) const;
  template <class T>
  void synthesize_within_plane(int number, std::size_t z, T* memory, T* scratch, Isa isa) const;
  template <class T>
  void make_up_values(const WaveletLevel& level, T* memory) const;

  kernels::WaveletFilter filter_;
  kernels::WaveletEnds ends_;
  int levels_ = 0;
  std::size_t elements_ = 0;
  std::array<WaveletLevel, kMostLevels + 1> level_;
};

}  // namespace tensorpress::dense
