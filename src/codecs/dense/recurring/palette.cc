#include "codecs/dense/recurring/palette.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "codecs/dense/varint.h"

namespace tensorpress::dense {
namespace {

constexpr std::size_t kSampled = 2048;
// A field of real numbers has as many values in the sample as the sample has places.
constexpr std::size_t kMostSampled = kSampled / 4 * 3;

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

// Numbers values in the order in which they come. Open addressing, at most a quarter full.
template <class T>
class Numbering {
 public:
  explicit Numbering(std::size_t most)
      : shift_(64 - static_cast<int>(std::bit_width(4 * most - 1))),
        slots_(std::bit_ceil(4 * most)),
        most_(most) {}

  /// The number of `value`, or `most` when there is no room for it.
  std::size_t of(T value) {
    const auto bits = std::bit_cast<BitsOf<T>>(value + static_cast<T>(0));  // -0 is 0
    std::size_t at = (std::uint64_t{bits} * 0x9E3779B97F4A7C15u) >> shift_;
    for (;; at = (at + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[at];
      if (slot.number == 0) {
        if (values_.size() == most_) return most_;
        values_.push_back(value + static_cast<T>(0));
        slot = {bits, static_cast<std::uint32_t>(values_.size())};
      }
      if (slot.bits == bits) return slot.number - 1;
    }
  }
  const std::vector<T>& values() const { return values_; }

 private:
  struct Slot {
    BitsOf<T> bits = 0;
    std::uint32_t number = 0;  // from 1 on; 0: empty
  };
  int shift_;
  std::vector<Slot> slots_;
  std::vector<T> values_;
  std::size_t most_;
};

// What stands for sorted[first ... end), or nothing if one number cannot.
template <class T>
std::optional<T> shared_entry(std::span<const T> values, double bound) {
  const T low = values.front();
  const T high = values.back();
  if (low == high) return low;
  const auto serves = [&](T entry) {
    const auto middle = static_cast<double>(entry);
    return middle - static_cast<double>(low) <= bound &&
           static_cast<double>(high) - middle <= bound;
  };
  if (low <= 0 && high >= 0 && std::ranges::binary_search(values, static_cast<T>(0))) {
    return serves(0) ? std::optional(static_cast<T>(0)) : std::nullopt;
  }
  const T middle = low + (high - low) / 2;
  return serves(middle) ? std::optional(middle) : std::nullopt;
}

}  // namespace

template <class T>
bool may_have_palette(std::span<const T> values) {
  if (values.size() <= kSampled) return true;
  Numbering<T> numbering(kMostSampled);
  // Scattered by a step that shares no factor with common row lengths.
  const std::size_t step = values.size() / kSampled | 1;
  for (std::size_t i = 0; i < values.size(); i += step) {
    if (numbering.of(values[i]) == kMostSampled) return false;
  }
  return true;
}
template bool may_have_palette(std::span<const float>);
template bool may_have_palette(std::span<const double>);

namespace {

// Values in ascending order, and which of them has each number so far.
template <class T>
struct Sorted {
  std::vector<T> values;
  std::vector<std::uint16_t> order;
};
template <class T>
Sorted<T> sorted_by_value(const std::vector<T>& found) {
  Sorted<T> sorted{std::vector<T>(found.size()), std::vector<std::uint16_t>(found.size())};
  std::iota(sorted.order.begin(), sorted.order.end(), std::uint16_t{0});
  std::ranges::sort(sorted.order, {}, [&](std::uint16_t n) { return found[n]; });
  for (std::size_t i = 0; i < found.size(); ++i) sorted.values[i] = found[sorted.order[i]];
  return sorted;
}

void renumber(std::span<std::uint16_t> numbers, const std::vector<std::uint16_t>& to) {
  for (std::uint16_t& number : numbers) number = to[number];
}

std::size_t changes_in(std::span<const std::uint16_t> numbers) {
  std::size_t changes = 0;
  for (std::size_t i = 1; i < numbers.size(); ++i) changes += numbers[i] != numbers[i - 1] ? 1 : 0;
  return changes;
}

}  // namespace

template <class T>
std::optional<std::vector<T>> find_palette(std::span<const T> values, double bound,
                                           std::span<std::uint16_t> numbers) {
  Numbering<T> numbering(kMostEntries);
  std::size_t number = kMostEntries;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i == 0 || values[i] != values[i - 1]) number = numbering.of(values[i]);
    if (number == kMostEntries) return std::nullopt;
    numbers[i] = static_cast<std::uint16_t>(number);
  }
  const auto [sorted, order] = sorted_by_value(numbering.values());
  std::vector<T> entries;
  std::vector<std::uint16_t> entry_of(sorted.size());
  for (std::size_t first = 0; first < sorted.size();) {
    T entry = sorted[first];
    std::size_t end = first + 1;
    for (; end < sorted.size(); ++end) {
      const auto shared = shared_entry<T>(std::span(sorted).subspan(first, end + 1 - first), bound);
      if (!shared) break;
      entry = *shared;
    }
    for (; first < end; ++first) {
      entry_of[order[first]] = static_cast<std::uint16_t>(entries.size());
    }
    entries.push_back(entry);
  }
  renumber(numbers, entry_of);
  return entries;
}
template std::optional<std::vector<float>> find_palette(std::span<const float>, double,
                                                        std::span<std::uint16_t>);
template std::optional<std::vector<double>> find_palette(std::span<const double>, double,
                                                         std::span<std::uint16_t>);

template <class T>
std::optional<std::vector<T>> hold_values(std::span<const T> values, double bound,
                                          std::span<const std::uint16_t> shared,
                                          std::span<std::uint16_t> numbers) {
  Numbering<T> numbering(kMostEntries);
  T held = values[0];
  std::size_t number = numbering.of(held);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double away = std::fabs(static_cast<double>(values[i]) - static_cast<double>(held));
    if (!(away <= bound) || (values[i] == 0 && held != 0)) {
      held = values[i];
      number = numbering.of(held);
    }
    if (number == kMostEntries) return std::nullopt;
    numbers[i] = static_cast<std::uint16_t>(number);
  }
  if (changes_in(numbers) >= changes_in(shared)) return std::nullopt;
  auto [sorted, order] = sorted_by_value(numbering.values());
  std::vector<std::uint16_t> entry_of(sorted.size());
  for (std::size_t i = 0; i < order.size(); ++i) entry_of[order[i]] = static_cast<std::uint16_t>(i);
  renumber(numbers, entry_of);
  return std::move(sorted);
}
template std::optional<std::vector<float>> hold_values(std::span<const float>, double,
                                                       std::span<const std::uint16_t>,
                                                       std::span<std::uint16_t>);
template std::optional<std::vector<double>> hold_values(std::span<const double>, double,
                                                        std::span<const std::uint16_t>,
                                                        std::span<std::uint16_t>);

namespace {

// Whole numbers of steps over a divisor: 20 m, 0.1 K, a quarter.
struct Grid {
  std::uint64_t divisor = 1;
  std::int64_t first = 0;
  std::uint64_t step = 1;
  std::vector<std::uint64_t> places;  // ascending from 0 on
};

constexpr double kLargestWhole = 0x1p53;
// Beyond so many steps an entry, a grid takes more than the entries themselves.
constexpr std::uint64_t kMostGaps = 16;

template <class T>
T on_grid(std::int64_t whole, std::uint64_t divisor) {
  return static_cast<T>(static_cast<double>(whole) / static_cast<double>(divisor));
}

template <class T>
std::optional<Grid> grid_of(std::span<const T> entries, std::uint64_t divisor) {
  Grid grid{divisor, 0, 0, {}};
  std::vector<std::int64_t> wholes;
  for (const T entry : entries) {
    const double scaled =
        std::floor(static_cast<double>(entry) * static_cast<double>(divisor) + 0.5);
    if (!(std::fabs(scaled) < kLargestWhole)) return std::nullopt;
    const auto whole = static_cast<std::int64_t>(scaled);
    if (on_grid<T>(whole, divisor) != entry) return std::nullopt;
    if (wholes.empty()) grid.first = whole;
    grid.step = std::gcd(grid.step, static_cast<std::uint64_t>(whole - grid.first));
    wholes.push_back(whole);
  }
  grid.step = std::max<std::uint64_t>(grid.step, 1);
  for (const std::int64_t whole : wholes) {
    grid.places.push_back(static_cast<std::uint64_t>(whole - grid.first) / grid.step);
  }
  if (grid.places.back() > kMostGaps * entries.size()) return std::nullopt;
  return grid;
}

void append_grid(const Grid& grid, std::vector<std::byte>& bytes) {
  append_varint(bytes, grid.divisor);
  append_varint(bytes, zigzag64(grid.first));
  append_varint(bytes, grid.step);
  const std::uint64_t last = grid.places.back();
  append_varint(bytes, last);
  const std::size_t start = bytes.size();
  bytes.resize(start + (last > 1 ? (last - 1 + 7) / 8 : 0));
  for (const std::uint64_t place : grid.places) {
    if (place == 0 || place == last) continue;
    bytes[start + (place - 1) / 8] |= static_cast<std::byte>(1u << ((place - 1) % 8));
  }
}

template <class T>
Result<std::vector<T>> read_grid(ByteReader& reader, std::uint64_t count, std::uint64_t divisor) {
  TRY(const auto first_code, reader.read_varint());
  TRY(const auto step, reader.read_varint());
  TRY(const auto last, reader.read_varint());
  const std::int64_t first = unzigzag64(first_code);
  if (last > kMostGaps * kMostEntries || std::fabs(static_cast<double>(first)) > kLargestWhole ||
      step > (std::uint64_t{1} << 54) / std::max<std::uint64_t>(last, 1)) {
    return corrupt("a palette has ", last, " steps of ", step);
  }
  TRY(const auto bits, reader.take(last > 1 ? (last - 1 + 7) / 8 : 0));
  std::vector<T> entries;
  for (std::uint64_t place = 0; place <= last; ++place) {
    const bool inside = place != 0 && place != last;
    if (inside && ((static_cast<unsigned>(bits[(place - 1) / 8]) >> ((place - 1) % 8)) & 1) == 0) {
      continue;
    }
    entries.push_back(on_grid<T>(first + static_cast<std::int64_t>(place * step), divisor));
  }
  if (entries.size() != count) {
    return corrupt("a palette of ", count, " entries has ", entries.size());
  }
  return entries;
}

}  // namespace

template <class T>
void append_palette(std::span<const T> entries, std::vector<std::byte>& bytes) {
  append_varint(bytes, entries.size());
  constexpr std::array<std::uint64_t, 9> kDivisors = {1, 10, 100, 1000, 10000, 2, 4, 16, 65536};
  for (const std::uint64_t divisor : kDivisors) {
    if (const auto grid = grid_of(entries, divisor)) return append_grid(*grid, bytes);
  }
  append_varint(bytes, 0);
  const std::size_t start = bytes.size();
  bytes.resize(start + entries.size_bytes());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    store_le(bytes.data() + start + i * sizeof(T), std::bit_cast<BitsOf<T>>(entries[i]));
  }
}
template void append_palette(std::span<const float>, std::vector<std::byte>&);
template void append_palette(std::span<const double>, std::vector<std::byte>&);

template <class T>
Result<std::vector<T>> read_palette(ByteReader& reader) {
  TRY(const auto count, reader.read_varint());
  if (count == 0 || count > kMostEntries) return corrupt("a palette has ", count, " entries");
  TRY(const auto divisor, reader.read_varint());
  if (divisor != 0) return read_grid<T>(reader, count, divisor);
  std::vector<T> entries(count);
  for (T& entry : entries) {
    TRY(const auto bits, reader.read<BitsOf<T>>());
    entry = std::bit_cast<T>(bits);
  }
  return entries;
}
template Result<std::vector<float>> read_palette(ByteReader&);
template Result<std::vector<double>> read_palette(ByteReader&);

}  // namespace tensorpress::dense
