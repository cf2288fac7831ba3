#include "codecs/dense/recurring/copies.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "codecs/dense/varint.h"
#include "kernels/checksum/checksum.h"

namespace tensorpress::dense {
namespace {

// Fewer are not worth a chunk of another shape, and shorter runs of a line not their place in it.
constexpr std::size_t kLeastShare = 8;
constexpr std::size_t kLeastLength = 64;

Copies geometry_of(const Shape& shape) {
  Copies copies;
  while (copies.axis + 1 < shape.rank() && shape[copies.axis] == 1) ++copies.axis;
  copies.planes = static_cast<std::size_t>(shape[copies.axis]);
  for (std::size_t axis = copies.axis + 1; axis < shape.rank(); ++axis) {
    copies.unit *= static_cast<std::size_t>(shape[axis]);
  }
  return copies;
}

template <class T>
bool same_bits(const T* a, const T* b, std::size_t count) {
  return std::memcmp(a, b, count * sizeof(T)) == 0;
}

// Lengthens the last run if this plane goes on with it, else begins one.
void copy_plane(Copies& copies, std::size_t distance, std::size_t& coded) {
  if (!copies.runs.empty() && coded == 0 && copies.runs.back().distance == distance) {
    ++copies.runs.back().length;
    return;
  }
  copies.runs.push_back({coded, 1, distance});
  coded = 0;
}

template <class T>
std::optional<Copies> copies_of_planes(std::span<const T> values, Copies copies) {
  std::unordered_map<std::uint64_t, std::size_t> last;  // plane of each checksum
  std::size_t worth = 0;
  std::size_t coded = 0;
  for (std::size_t plane = 0; plane < copies.planes; ++plane) {
    const auto here = values.subspan(plane * copies.unit, copies.unit);
    const auto [found, is_new] = last.try_emplace(checksum_of(std::as_bytes(here)), plane);
    const T* const before = values.data() + found->second * copies.unit;
    if (is_new || !same_bits(before, here.data(), copies.unit)) {
      ++coded;
      continue;
    }
    copy_plane(copies, plane - found->second, coded);
    found->second = plane;
    // Planes of one value cost nothing anyway.
    worth += same_bits(here.data(), here.data() + 1, copies.unit - 1) ? 0 : 1;
  }
  if (worth * kLeastShare < copies.planes) return std::nullopt;
  return copies;
}

template <class T>
std::optional<Copies> copies_of_a_line(std::span<const T> values, Copies copies) {
  const std::size_t half = values.size() / 2;
  if (half < 2 * kLeastLength) return std::nullopt;
  const T* const pattern = values.data() + half;
  std::size_t period = 0;
  for (std::size_t i = 1; i + kLeastLength <= values.size() - half; ++i) {
    if (pattern[i] != pattern[0] || !std::equal(pattern, pattern + kLeastLength, pattern + i)) {
      continue;
    }
    period = i;
    break;
  }
  if (period <= 1) return std::nullopt;
  std::size_t coded = period;
  for (std::size_t i = period; i < values.size();) {
    std::size_t end = i;
    while (end < values.size() && values[end] == values[end - period]) ++end;
    if (end - i >= kLeastLength) {
      copies.runs.push_back({coded, end - i, period});
      coded = 0;
      i = end;
    } else {
      coded += end + 1 - i;
      i = end + 1;
    }
  }
  if (copies.copied() * kLeastShare < values.size()) return std::nullopt;
  return copies;
}

}  // namespace

Shape Copies::coded_shape(const Shape& shape) const {
  Shape coded = shape;
  coded[axis] = planes - copied();
  return coded;
}

template <class T>
std::optional<Copies> find_copies(const bounded::Field<T>& field) {
  const Copies geometry = geometry_of(field.shape);
  if (geometry.planes < 2) return std::nullopt;
  if (geometry.unit == 1) return copies_of_a_line(field.values, geometry);
  return copies_of_planes(field.values, geometry);
}
template std::optional<Copies> find_copies(const bounded::Field<float>&);
template std::optional<Copies> find_copies(const bounded::Field<double>&);

void append_copies(const Copies& copies, std::vector<std::byte>& bytes) {
  append_varint(bytes, 0);
  append_varint(bytes, copies.runs.size());
  for (const CopiedRun& run : copies.runs) {
    for (const std::size_t number : {run.coded_before, run.length, run.distance}) {
      append_varint(bytes, number);
    }
  }
}

bool has_copies(std::span<const std::byte> body) {
  return !body.empty() && body[0] == std::byte{0};
}

Result<Copies> read_copies(ByteReader& reader, const Shape& shape) {
  Copies copies = geometry_of(shape);
  TRY(const auto mark, reader.read_varint());
  TRY(const auto count, reader.read_varint());
  if (mark != 0 || count == 0 || count > reader.remaining() / 3) {
    return corrupt("a chunk has ", count, " runs of planes that are copied");
  }
  copies.runs.reserve(count);
  std::size_t plane = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    TRY(const auto coded_before, reader.read_varint());
    TRY(const auto length, reader.read_varint());
    TRY(const auto distance, reader.read_varint());
    if (coded_before > copies.planes - plane || length > copies.planes - plane - coded_before ||
        length == 0 || distance == 0 || distance > plane + coded_before) {
      return corrupt("a chunk copies ", length, " planes from ", distance, " before");
    }
    copies.runs.push_back({coded_before, length, distance});
    plane += coded_before + length;
  }
  return copies;
}

template <class T>
bounded::Field<T> coded_part(const bounded::Field<T>& field, const Copies& copies,
                             std::span<T> values, std::vector<bounded::Hole>& holes) {
  auto hole = field.holes.begin();
  std::size_t from = 0;
  std::size_t to = 0;
  const auto keep = [&](std::size_t end) {
    std::copy(field.values.begin() + static_cast<std::ptrdiff_t>(from),
              field.values.begin() + static_cast<std::ptrdiff_t>(end),
              values.begin() + static_cast<std::ptrdiff_t>(to));
    while (hole != field.holes.end() && hole->start + hole->length <= from) ++hole;
    for (; hole != field.holes.end() && hole->start < end; ++hole) {
      const std::uint64_t first = std::max<std::uint64_t>(hole->start, from);
      const std::uint64_t last = std::min<std::uint64_t>(hole->start + hole->length, end);
      const std::uint64_t start = to + first - from;
      if (!holes.empty() && holes.back().start + holes.back().length == start) {
        holes.back().length += last - first;
      } else {
        holes.push_back({start, last - first});
      }
      if (hole->start + hole->length > end) break;
    }
    to += end - from;
  };
  for (const CopiedRun& run : copies.runs) {
    keep(from + run.coded_before * copies.unit);
    from += (run.coded_before + run.length) * copies.unit;
  }
  keep(field.values.size());
  return {values.first(to), copies.coded_shape(field.shape), holes, field.has_zeros,
          field.mean_counts};
}
template bounded::Field<float> coded_part(const bounded::Field<float>&, const Copies&,
                                          std::span<float>, std::vector<bounded::Hole>&);
template bounded::Field<double> coded_part(const bounded::Field<double>&, const Copies&,
                                           std::span<double>, std::vector<bounded::Hole>&);

template <class T>
void put_copies(const Copies& copies, std::span<T> output) {
  // Coded planes go to their places from the last on, so that none is overwritten before it moved.
  std::size_t end = output.size();
  std::size_t coded_end = (copies.planes - copies.copied()) * copies.unit;
  const auto move_back = [&](std::size_t count) {
    std::memmove(output.data() + end - count, output.data() + coded_end - count, count * sizeof(T));
    end -= count;
    coded_end -= count;
  };
  std::size_t before = 0;
  for (const CopiedRun& run : copies.runs) before += run.coded_before * copies.unit;
  move_back(coded_end - before);
  for (std::size_t i = copies.runs.size(); i-- > 0;) {
    end -= copies.runs[i].length * copies.unit;
    move_back(copies.runs[i].coded_before * copies.unit);
  }
  std::size_t at = 0;
  for (const CopiedRun& run : copies.runs) {
    at += run.coded_before * copies.unit;
    const std::size_t distance = run.distance * copies.unit;
    const std::size_t count = run.length * copies.unit;
    for (std::size_t done = 0; done < count; done += distance) {
      std::copy_n(output.data() + at + done - distance, std::min(distance, count - done),
                  output.data() + at + done);
    }
    at += count;
  }
}
template void put_copies(const Copies&, std::span<float>);
template void put_copies(const Copies&, std::span<double>);

}  // namespace tensorpress::dense
