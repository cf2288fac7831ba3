// What the first chunk of a stream tells about the others: how it is coded best, if one way was
// clearly better than the rest. A chunk that is like it is coded that way without a trial.
#pragma once

#include "codecs/chunk_codec.h"
#include "codecs/dense/interpolation/mode.h"

namespace tensorpress::dense {

struct Guide final : ChunkGuide {
  enum class Way { lorenzo, interpolation, wavelet };

  Way way = Way::lorenzo;
  InterpolationMode interpolation;
  bool has_zeros = false;
  double lorenzo_bits = 0;  // that the first chunk was expected to take by Lorenzo, a value
  double bits = 0;          // that it may take at most by the guide's way

  /// How much more or less a chunk may take by Lorenzo that is like the first one.
  static constexpr double kAlike = 2.0;
  bool suits(double lorenzo_bits_of_chunk) const {
    return lorenzo_bits_of_chunk < kAlike * lorenzo_bits &&
           lorenzo_bits < kAlike * lorenzo_bits_of_chunk;
  }
  /// More than this, and the chunk was not like the first one after all.
  double most_bits(double lorenzo_bits_of_chunk) const {
    return bits * lorenzo_bits_of_chunk / lorenzo_bits;
  }
};

}  // namespace tensorpress::dense
