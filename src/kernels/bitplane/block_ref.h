// One block of 32 values, plainly: prequantization, 1-D Lorenzo prediction, zigzag, bit planes
// (CereSZ: Song et al., HPDC 2024, with the planes of cuSZp). The truth for the kernels of this
// folder and of kernels/huffman, and what a simulated processing element runs.
//
// A value x becomes the integer q with x * scale + magic = magic + q: adding 1.5 * 2^(digits - 1)
// leaves the rounded product in the low bits of the sum, ties to even, on every machine. Back it is
// ((magic + q) - magic) * step. Quanta, differences and zigzag codes are unsigned and wrap, so any
// bits decode to something.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tensorpress::kernels::bitplane {

inline constexpr std::size_t kBlockValues = 32;
/// Instead of a width: the block's values follow as they are.
inline constexpr std::uint8_t kRawBlock = 255;

template <class T>
struct Arithmetic;
template <>
struct Arithmetic<float> {
  using Word = std::uint32_t;
  static constexpr float kMagic = 0x1.8p23f;
};
template <>
struct Arithmetic<double> {
  using Word = std::uint64_t;
  static constexpr double kMagic = 0x1.8p52;
};
template <class T>
using Word = typename Arithmetic<T>::Word;
template <class T>
inline constexpr int kWordBits = static_cast<int>(8 * sizeof(T));
template <class T>
inline constexpr Word<T> kMagicBits = std::bit_cast<Word<T>>(Arithmetic<T>::kMagic);
template <class T>
using Block = std::array<Word<T>, kBlockValues>;

template <class T>
struct Quantizer {
  T scale;      // 1 / step
  T step;       // distance of two neighbouring quanta
  T tolerance;  // largest |x - x'| in T that surely is within the bound
};

/// How far the step stays below twice the bound: 2^-10 of it for slack 0, doubling up to 2^-3. The
/// slack absorbs the rounding of scale, product and result, which grows with the quantum.
inline constexpr unsigned kSlacks = 8;

/// `bound` is a positive normal number of T at least. An error that rounds to the number below the
/// largest T within the bound is below the bound.
template <class T>
Quantizer<T> make_quantizer(double bound, unsigned slack) {
  const auto below = [](T positive) {
    return std::bit_cast<T>(std::bit_cast<Word<T>>(positive) - Word<T>{1});
  };
  T tolerance = static_cast<T>(bound);
  if (static_cast<double>(tolerance) > bound) tolerance = below(tolerance);
  tolerance = below(tolerance);
  const T share = T{1} - T{1} / static_cast<T>(1U << (10 - slack));
  const T step = (T{2} * tolerance) * share;
  return {T{1} / step, step, tolerance};
}

/// The slack that suits quanta up to that of `largest`.
template <class T>
unsigned slack_for(double bound, T largest) {
  const T quantum = largest * make_quantizer<T>(bound, 0).scale;
  T limit = static_cast<T>(std::uint64_t{1} << (std::numeric_limits<T>::digits - 12));
  unsigned slack = 0;
  for (; slack + 1 < kSlacks && quantum > limit; ++slack) limit *= T{2};
  return slack;
}

template <class T>
Word<T> quantize(T value, const Quantizer<T>& quantizer) {
  const T scaled = value * quantizer.scale;
  return std::bit_cast<Word<T>>(scaled + Arithmetic<T>::kMagic) - kMagicBits<T>;
}

template <class T>
T reconstruct(Word<T> quantum, const Quantizer<T>& quantizer) {
  return (std::bit_cast<T>(quantum + kMagicBits<T>) - Arithmetic<T>::kMagic) * quantizer.step;
}

/// False for every value that would come back outside the bound, NaN and infinities among them.
template <class T>
bool holds(T value, Word<T> quantum, const Quantizer<T>& quantizer) {
  return std::abs(value - reconstruct(quantum, quantizer)) <= quantizer.tolerance;
}

/// 0, -1, 1, -2, 2... become 0, 1, 2, 3, 4...
template <class W>
W zigzag(W difference) {
  const W sign = W{0} - (difference >> (8 * sizeof(W) - 1));
  return static_cast<W>(difference << 1) ^ sign;
}
template <class W>
W unzigzag(W code) {
  return (code >> 1) ^ (W{0} - (code & 1));
}

/// Quanta of a block, and whether all of them hold.
template <class T>
bool quantize_block(const T* values, const Quantizer<T>& quantizer, Block<T>& quanta) {
  bool all = true;
  for (std::size_t i = 0; i < kBlockValues; ++i) {
    quanta[i] = quantize(values[i], quantizer);
    all = all && holds(values[i], quanta[i], quantizer);
  }
  return all;
}

/// 1-D Lorenzo within the block: each quantum minus the one before it, the first minus zero.
template <class W>
void predict_block(std::array<W, kBlockValues>& quanta) {
  for (std::size_t i = kBlockValues - 1; i > 0; --i) quanta[i] -= quanta[i - 1];
}
template <class W>
void sum_block(std::array<W, kBlockValues>& differences) {
  for (std::size_t i = 1; i < kBlockValues; ++i) differences[i] += differences[i - 1];
}

/// Bits that the largest zigzag code of the block needs: the block's fixed length.
template <class W>
int width_of_block(const std::array<W, kBlockValues>& codes) {
  W all = 0;
  for (const W code : codes) all |= code;
  return static_cast<int>(std::bit_width(all));
}

/// Which value a bit of a plane belongs to: bit 8 m + 4 h + c is value 8 c + 2 m + h. That is the
/// order in which four vectors of eight values fall into place without crossing lanes.
constexpr std::size_t value_of_bit(std::size_t bit) {
  return 8 * (bit % 4) + 2 * (bit / 8) + bit / 4 % 2;
}

/// Plane p holds bit p of every code.
template <class W>
void planes_of_block(const std::array<W, kBlockValues>& codes, int width, std::uint32_t* planes) {
  for (int p = 0; p < width; ++p) {
    std::uint32_t plane = 0;
    for (std::size_t bit = 0; bit < kBlockValues; ++bit) {
      plane |= static_cast<std::uint32_t>(codes[value_of_bit(bit)] >> p & 1) << bit;
    }
    planes[p] = plane;
  }
}
template <class W>
void block_of_planes(const std::uint32_t* planes, int width, std::array<W, kBlockValues>& codes) {
  codes.fill(0);
  for (int p = 0; p < width; ++p) {
    for (std::size_t bit = 0; bit < kBlockValues; ++bit) {
      codes[value_of_bit(bit)] |= W{planes[p] >> bit & 1} << p;
    }
  }
}

}  // namespace tensorpress::kernels::bitplane
