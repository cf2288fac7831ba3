// Planes of a chunk that equal an earlier one: seasons that repeat, frames that stand still. Only
// the planes that are new are coded, as a chunk of fewer planes; the others are copied. A plane is
// what the chunk's first axis of more than one place counts: a row in two dimensions. A line has no
// planes; there, values that equal those a period before are copied one by one.
//
// Bytes:  varint  0, where a palette has its number of entries
//         varint  number of runs, at least 1; for each: varint planes that are coded before it,
//         varint
//                 length, varint distance to the planes it repeats, which may overlap it
//         the chunk of the planes that are coded: its predictor and so on, without copies of its
//         own
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "codecs/bounded/field_coder.h"

namespace tensorpress::dense {

struct CopiedRun {
  std::size_t coded_before = 0;  // planes since the run before
  std::size_t length = 0;
  std::size_t distance = 0;
};
struct Copies {
  std::size_t axis = 0;  // of the planes
  std::size_t unit = 1;  // values a plane
  std::size_t planes = 0;
  std::vector<CopiedRun> runs;

  std::size_t copied() const {
    std::size_t sum = 0;
    for (const CopiedRun& run : runs) sum += run.length;
    return sum;
  }
  /// Of the planes that are coded.
  Shape coded_shape(const Shape& shape) const;
};

/// Nothing if few planes are worth copying.
template <class T>
std::optional<Copies> find_copies(const bounded::Field<T>& field);

void append_copies(const Copies& copies, std::vector<std::byte>& bytes);
/// Whether `body` begins with copies.
bool has_copies(std::span<const std::byte> body);
Result<Copies> read_copies(ByteReader& reader, const Shape& shape);

/// The planes that are coded; `values` and `holes` are where they go.
template <class T>
bounded::Field<T> coded_part(const bounded::Field<T>& field, const Copies& copies,
                             std::span<T> values, std::vector<bounded::Hole>& holes);
/// From the coded planes at the front of `output` to all of them.
template <class T>
void put_copies(const Copies& copies, std::span<T> output);

}  // namespace tensorpress::dense
