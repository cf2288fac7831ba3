// The few values that a chunk consists of: counts, classes, readings in whole steps. A chunk is
// then a field of their numbers in ascending order. Values that agree within the bound share one
// entry, and 0 is an entry of its own or stands for its neighbours, so that zeros stay zeros.
//
// Bytes:  varint          number of entries, at least 1
//         varint          divisor; 0: the entries follow as they are (T)
//         signed varint   first; varint step; varint last
//         bytes           bits 1 ... last - 1, lowest first: which of the steps are entries
// Entry m of a grid is T(f64(first + m step) / f64(divisor)); steps 0 and `last` are always
// entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"

namespace tensorpress::dense {

/// More would make tables of differences large and lookups slow.
inline constexpr std::size_t kMostEntries = 4096;

/// Whether a sample of the values recurs: the cheap way to see that a chunk is not of this kind.
template <class T>
bool may_have_palette(std::span<const T> values);

/// The entries, ascending, and in `numbers` which one each value is. Nothing if there are too many.
template <class T>
std::optional<std::vector<T>> find_palette(std::span<const T> values, double bound,
                                           std::span<std::uint16_t> numbers);

/// The same for a line whose entries would be shared: each value is what the one before it became,
/// as long as the bound allows, so that noise about a threshold does not flicker. Nothing if that
/// is not better than `shared`, the numbers of find_palette.
template <class T>
std::optional<std::vector<T>> hold_values(std::span<const T> values, double bound,
                                          std::span<const std::uint16_t> shared,
                                          std::span<std::uint16_t> numbers);

template <class T>
void append_palette(std::span<const T> entries, std::vector<std::byte>& bytes);
template <class T>
Result<std::vector<T>> read_palette(ByteReader& reader);

}  // namespace tensorpress::dense
