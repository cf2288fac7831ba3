#include "stream/bounds/likely_fill.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/errors.h"

namespace tensorpress::stream {
namespace {

constexpr double kShareOfRange = 0.1;

double width(const ValueRange& range) {
  return range.high - range.low;
}

/// The range of the samples that are none of `values`; low above high if there are no others.
ValueRange range_without(std::span<const double> samples, std::span<const double> values) {
  ValueRange range{HUGE_VAL, -HUGE_VAL};
  for (const double sample : samples) {
    if (std::ranges::find(values, sample) != values.end()) continue;
    range.low = std::min(range.low, sample);
    range.high = std::max(range.high, sample);
  }
  return range;
}

std::uint64_t special_count(const Survey& survey) {
  std::uint64_t count = 0;
  for (const ChunkHint& chunk : survey.chunks) count += chunk.specials;
  return count;
}

/// Numbers that people write for "nothing here": nines (-999, 9999, 99.9, 9.99e20), large powers of
/// ten (1e20, -1e34), the ends of integer and float types, and NetCDF's default.
bool is_customary_fill(double value) {
  constexpr double kEnds[] = {32767,
                              32768,
                              65535,
                              2147483647,
                              2147483648,
                              9.969209968386869e36,
                              std::numeric_limits<float>::max(),
                              std::numeric_limits<double>::max()};
  const double size = std::abs(value);
  if (std::ranges::find(kEnds, size) != std::end(kEnds)) return true;
  const std::string shown = rounded(size, 6);
  double exact = 0;
  std::from_chars(shown.data(), shown.data() + shown.size(), exact);
  if (size != exact && size != static_cast<double>(static_cast<float>(exact))) return false;
  const std::string mantissa = shown.substr(0, shown.find('e'));
  const auto nines = static_cast<std::size_t>(std::ranges::count(mantissa, '9'));
  const auto points = static_cast<std::size_t>(std::ranges::count(mantissa, '.'));
  constexpr double kSmallestPower = 1e10;
  if (mantissa == "1" && size >= kSmallestPower) return true;
  return nines >= 3 && nines + points == mantissa.size();
}

class Search {
 public:
  Search(const Survey& survey, DataLook& look, const ChunkGrid& grid,
         std::span<const double> fill_values)
      : survey_(survey),
        look_(look),
        grid_(grid),
        fill_values_(fill_values),
        width_(width(survey.range)) {}

  Result<std::optional<LikelyFill>> run() {
    for (const double extreme : {survey_.range.high, survey_.range.low}) {
      if (!possible({&extreme, 1})) continue;
      TRY(const auto found, alone(extreme));
      if (found) return found;
    }
    const double both[] = {survey_.range.low, survey_.range.high};
    if (!possible(both)) return std::optional<LikelyFill>();
    return together(both);
  }

 private:
  /// The samples are some of the values: where they cover a tenth of the range, all of them do.
  bool possible(std::span<const double> values) const {
    const ValueRange others = range_without(survey_.samples, values);
    return !(others.low <= others.high) || is_small(others);
  }
  bool is_small(const ValueRange& others) const { return width(others) < kShareOfRange * width_; }

  /// Two values make a field of two values, unless one of them is known for what it is.
  static bool are_data(const Survey& others, double extreme) {
    return others.has_values &&
           (others.range.low < others.range.high || is_customary_fill(extreme));
  }
  static bool is_repeated(double extreme, std::uint64_t count) {
    return count >= (is_customary_fill(extreme) ? 1 : 2);
  }

  /// The ends of the chunks' ranges are some of the values too, and need no second look.
  bool are_surely_wide(std::span<const double> left_out) const {
    ValueRange others{HUGE_VAL, -HUGE_VAL};
    for (const ChunkHint& chunk : survey_.chunks) {
      if (!(chunk.min <= chunk.max)) continue;
      for (const double end : {chunk.min, chunk.max}) {
        if (std::ranges::find(left_out, end) != left_out.end()) continue;
        others.low = std::min(others.low, end);
        others.high = std::max(others.high, end);
      }
    }
    return others.low <= others.high && !is_small(others);
  }

  /// The survey with some of its extremes left out. A chunk that has one is a chunk whose range
  /// ends there; only these are looked at again.
  Result<Survey> survey_without(std::span<const double> extremes) {
    std::vector<double> left_out(fill_values_.begin(), fill_values_.end());
    left_out.insert(left_out.end(), extremes.begin(), extremes.end());
    std::vector<Sighting> sightings;
    std::vector<std::uint64_t> again;
    for (const ChunkHint& chunk : survey_.chunks) {
      const bool has_one = std::ranges::any_of(
          extremes, [&](double extreme) { return extreme == chunk.min || extreme == chunk.max; });
      if (has_one) again.push_back(sightings.size());
      sightings.push_back({.hint = chunk, .samples = {}});
    }
    TRY(auto seen, look_.look_at(grid_, again, left_out));
    for (std::size_t i = 0; i < again.size(); ++i) {
      sightings[static_cast<std::size_t>(again[i])] = std::move(seen[i]);
    }
    return conclude(sightings);
  }

  Result<std::optional<LikelyFill>> alone(double extreme) {
    if (are_surely_wide({&extreme, 1})) return std::optional<LikelyFill>();
    TRY(const Survey others, survey_without({&extreme, 1}));
    const std::uint64_t count = special_count(others) - special_count(survey_);
    counts_[extreme == survey_.range.low ? 0 : 1] = count;
    if (!are_data(others, extreme) || !is_small(others.range) || !is_repeated(extreme, count)) {
      return std::optional<LikelyFill>();
    }
    return std::optional(LikelyFill{extreme, count, others.range});
  }

  Result<std::optional<LikelyFill>> together(std::span<const double, 2> both) {
    if (are_surely_wide(both)) return std::optional<LikelyFill>();
    for (std::size_t i = 0; i < both.size(); ++i) {
      if (counts_[i] > 0) continue;
      TRY(const Survey others, survey_without({&both[i], 1}));
      counts_[i] = special_count(others) - special_count(survey_);
    }
    TRY(const Survey others, survey_without(both));
    const std::size_t more = counts_[0] > counts_[1] ? 0 : 1;
    if (!are_data(others, both[more]) || !is_small(others.range) ||
        !is_repeated(both[0], counts_[0]) || !is_repeated(both[1], counts_[1])) {
      return std::optional<LikelyFill>();
    }
    return std::optional(LikelyFill{both[more], counts_[more], others.range});
  }

  const Survey& survey_;
  DataLook& look_;
  const ChunkGrid& grid_;
  std::span<const double> fill_values_;
  double width_;
  std::uint64_t counts_[2] = {0, 0};  // elements at the low and the high end, 0 until counted
};

}  // namespace

Result<std::optional<LikelyFill>> find_likely_fill(const Survey& survey, DataLook& look,
                                                   const ChunkGrid& grid,
                                                   std::span<const double> fill_values) {
  if (!survey.has_values || !(survey.range.low < survey.range.high)) {
    return std::optional<LikelyFill>();
  }
  return Search(survey, look, grid, fill_values).run();
}

Error likely_fill_error(const LikelyFill& fill) {
  const std::string value = rounded(fill.value, 7);
  return likely_fill(
      fill.count, fill.count == 1 ? " value is " : " values are ", value, ", and all others lie ",
      "between ", rounded(fill.without_it.low), " and ", rounded(fill.without_it.high), ": ", value,
      " is likely a fill value, and a bound of the whole range would not protect the others. ",
      "Name it as a fill value, give the value range, or say that the whole range is meant");
}

}  // namespace tensorpress::stream
