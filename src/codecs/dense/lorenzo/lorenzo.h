// The Lorenzo half of the codec `dense`, all of its `effort fast`: prequantization, Lorenzo
// differences over any subset of the last three axes, blocks of differences classed into a family
// of static distributions (model.h), interleaved rANS. Chunks are independent.
//
// Bytes of a chunk (numbers are LEB128 varints, signed ones zigzagged):
//   u8   mode: x order 0 … 2 | y << 2 | z << 3 | 32-value blocks << 4 | V code << 5 | wide << 7
//   u8   shrink: how much smaller than twice the bound the step is
//   num  the first quantum (its difference is coded as 0)
//   num  outliers, then of each: distance from the one before, and after all of them their values
//   wide chunks: u8 shift; the low `shift` bits of every difference, packed
//   V code 1, 2, 3: rANS with V = 1, 2, 4: classes, then differences. 0: all differences are 0.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "codecs/bounded/field_coder.h"
#include "codecs/dense/lorenzo/plan.h"

namespace tensorpress::dense {

/// With the plan that was made for the field (plan.h). Returns the bytes written, or nothing when
/// they do not fit or too many values would be outliers.
template <class T>
std::optional<std::size_t> encode_lorenzo(const bounded::Field<T>& field, double bound,
                                          const LorenzoPlan& plan, std::span<std::byte> output,
                                          ChunkWorkspace& workspace);

/// `input` is what encode_lorenzo wrote for that shape and bound, or hostile bytes.
template <class T>
Result<void> decode_lorenzo(std::span<const std::byte> input, const Shape& shape, double bound,
                            std::span<T> output, ChunkWorkspace& workspace);

/// Bits a value that a chunk of `count` values will take by its plan, states and header included.
double expected_bits(const LorenzoPlan& plan, std::size_t count);

/// Whole rows or planes in nearly equal parts of at most so many values.
Shape chunk_shape_of(const Shape& shape, std::uint64_t most_values);
/// As good as 2^20 in ratio, and they stay in the cache.
inline constexpr std::uint64_t kLorenzoChunkValues = std::uint64_t{1} << 18;

}  // namespace tensorpress::dense
