#include "codecs/bounded/exact_values.h"

#include <algorithm>

#include "base/errors.h"

namespace tensorpress::bounded {
namespace {

constexpr std::size_t kMaxDistinct = 64;

void write_value(ElementBits value, std::size_t element_bytes, ByteWriter& to) {
  for (std::size_t i = 0; i < element_bytes; ++i) {
    to.write(static_cast<std::uint8_t>(value >> (8 * i)));
  }
}

Result<ElementBits> read_value(ByteReader& from, std::size_t element_bytes) {
  TRY(const auto bytes, from.take(element_bytes));
  ElementBits value = 0;
  for (std::size_t i = 0; i < element_bytes; ++i) {
    value |= ElementBits{static_cast<std::uint8_t>(bytes[i])} << (8 * i);
  }
  return value;
}

struct ValueRuns {
  std::vector<ElementBits> distinct;
  std::vector<std::pair<std::size_t, std::uint64_t>> runs;  // index of the value, count
};

// False when there are too many different values for a table to pay.
bool find_runs(std::span<const ElementBits> values, std::size_t element_bytes, ValueRuns& found) {
  for (const ElementBits value : values) {
    if (!found.runs.empty() && found.distinct[found.runs.back().first] == value) {
      ++found.runs.back().second;
      continue;
    }
    auto place = std::ranges::find(found.distinct, value);
    if (place == found.distinct.end()) {
      if (found.distinct.size() == kMaxDistinct) return false;
      place = found.distinct.insert(found.distinct.end(), value);
    }
    found.runs.emplace_back(place - found.distinct.begin(), 1);
  }
  return found.distinct.size() * element_bytes + 2 * found.runs.size() <
         values.size() * element_bytes;
}

}  // namespace

void write_special_values(std::span<const ElementBits> values, std::size_t element_bytes,
                          ByteWriter& to) {
  ValueRuns found;
  if (!find_runs(values, element_bytes, found)) {
    to.write_varint(0);
    for (const ElementBits value : values) write_value(value, element_bytes, to);
    return;
  }
  to.write_varint(found.distinct.size());
  for (const ElementBits value : found.distinct) write_value(value, element_bytes, to);
  for (const auto& [index, count] : found.runs) {
    to.write_varint(index);
    to.write_varint(count);
  }
}

Result<std::vector<ElementBits>> read_special_values(ByteReader& from, std::size_t count,
                                                     std::size_t element_bytes) {
  TRY(const std::uint64_t distinct_count, from.read_varint());
  if (distinct_count > kMaxDistinct) {
    return corrupt("a chunk has a table of ", distinct_count, " special values; ", kMaxDistinct,
                   " are allowed");
  }
  std::vector<ElementBits> values;
  if (distinct_count == 0) {
    if (count > from.remaining() / element_bytes) {
      return truncated(count, " special values do not fit into ", from.remaining(), " bytes");
    }
    values.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      TRY(const ElementBits value, read_value(from, element_bytes));
      values.push_back(value);
    }
    return values;
  }
  std::vector<ElementBits> distinct;
  for (std::uint64_t i = 0; i < distinct_count; ++i) {
    TRY(const ElementBits value, read_value(from, element_bytes));
    distinct.push_back(value);
  }
  values.reserve(count);
  while (values.size() < count) {
    TRY(const std::uint64_t index, from.read_varint());
    TRY(const std::uint64_t length, from.read_varint());
    if (index >= distinct.size() || length == 0 || length > count - values.size()) {
      return corrupt("a run of ", length, " special values with number ", index, " does not fit");
    }
    values.insert(values.end(), static_cast<std::size_t>(length),
                  distinct[static_cast<std::size_t>(index)]);
  }
  return values;
}

void write_patches(std::span<const Patch> patches, std::size_t element_bytes, ByteWriter& to) {
  to.write_varint(patches.size());
  std::uint64_t next = 0;
  for (const Patch& patch : patches) {
    to.write_varint(patch.index - next);
    write_value(patch.value, element_bytes, to);
    next = patch.index + 1;
  }
}

Result<std::vector<Patch>> read_patches(ByteReader& from, std::uint64_t element_count,
                                        std::size_t element_bytes) {
  TRY(const std::uint64_t count, from.read_varint());
  if (count > element_count || count > from.remaining() / (1 + element_bytes)) {
    return corrupt(count, " patches do not fit into a chunk of ", element_count, " elements");
  }
  std::vector<Patch> patches;
  patches.reserve(static_cast<std::size_t>(count));
  std::uint64_t next = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    TRY(const std::uint64_t gap, from.read_varint());
    if (next >= element_count || gap >= element_count - next) {
      return corrupt("a patch lies beyond its chunk of ", element_count, " elements");
    }
    TRY(const ElementBits value, read_value(from, element_bytes));
    patches.push_back({next + gap, value});
    next += gap + 1;
  }
  return patches;
}

}  // namespace tensorpress::bounded
