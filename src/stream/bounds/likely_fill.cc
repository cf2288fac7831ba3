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

/// The survey once more, with more values left out.
Result<Survey> survey_without(DataLook& look, const ChunkGrid& grid,
                              std::span<const double> fill_values,
                              std::span<const double> left_out) {
  std::vector<double> all(fill_values.begin(), fill_values.end());
  all.insert(all.end(), left_out.begin(), left_out.end());
  return look.survey(grid, all);
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

  Result<std::optional<LikelyFill>> alone(double extreme) {
    TRY(const Survey others, survey_without(look_, grid_, fill_values_, {&extreme, 1}));
    const std::uint64_t count = special_count(others) - special_count(survey_);
    counts_[extreme == survey_.range.low ? 0 : 1] = count;
    if (!are_data(others, extreme) || !is_small(others.range) || !is_repeated(extreme, count)) {
      return std::optional<LikelyFill>();
    }
    return std::optional(LikelyFill{extreme, count, others.range});
  }

  Result<std::optional<LikelyFill>> together(std::span<const double, 2> both) {
    for (std::size_t i = 0; i < both.size(); ++i) {
      if (counts_[i] > 0) continue;
      TRY(const Survey others, survey_without(look_, grid_, fill_values_, {&both[i], 1}));
      counts_[i] = special_count(others) - special_count(survey_);
    }
    TRY(const Survey others, survey_without(look_, grid_, fill_values_, both));
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
