// Elements that are stored bit for bit beside the coded ones: NaN, infinities and fill values
// (which come in long runs of one value), and elements whose bound the coder could not keep.
//
// Special values, in the order of the mask that says where they are:
//   varint distinct      0: every value follows as it is; else
//   distinct values, then runs until all are told: varint index of the value, varint count
// Patches:
//   varint count, then count times: varint elements since the last patch, the value
//
// A value is the element as it is in the tensor, little-endian.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"

namespace tensorpress::bounded {

/// An element's bits, whatever its type.
using ElementBits = std::uint64_t;

void write_special_values(std::span<const ElementBits> values, std::size_t element_bytes,
                          ByteWriter& to);
/// Gives exactly `count` values.
Result<std::vector<ElementBits>> read_special_values(ByteReader& from, std::size_t count,
                                                     std::size_t element_bytes);

struct Patch {
  std::uint64_t index = 0;
  ElementBits value = 0;
};

void write_patches(std::span<const Patch> patches, std::size_t element_bytes, ByteWriter& to);
/// Indices ascend and are below `element_count`.
Result<std::vector<Patch>> read_patches(ByteReader& from, std::uint64_t element_count,
                                        std::size_t element_bytes);

}  // namespace tensorpress::bounded
