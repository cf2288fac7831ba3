// How many bits the differences without a code take in a chunk of ceresz2. For f32 32, as in the
// paper; for f64 the fewest that hold every difference seen as two's complement. Differences
// without a code are no nearer to zero than those with one, so if there are any, they decide.
#pragma once

#include <bit>
#include <span>

#include "kernels/huffman/huffman.h"

namespace tensorpress::ceresz2 {

using kernels::bitplane::Word;
using kernels::huffman::kMaxEscapeBits;

template <class T>
class EscapeWidth {
 public:
  void see(std::span<const Word<T>> differences) {
    for (const Word<T> difference : differences) {
      const Word<T> sign = Word<T>{0} - (difference >> (kMaxEscapeBits<T> - 1));
      magnitudes_ |= difference ^ sign;
    }
  }
  unsigned bits() const {
    if (sizeof(T) == 4) return kMaxEscapeBits<T>;
    return 1 + static_cast<unsigned>(std::bit_width(magnitudes_));
  }

 private:
  Word<T> magnitudes_ = 0;
};

}  // namespace tensorpress::ceresz2
