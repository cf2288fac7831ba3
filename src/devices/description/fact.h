// A number of a device, with where it is from. Every number that a prediction rests on is one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tensorpress::devices {

enum class Origin : std::uint8_t {
  fact,      // printed by the vendor or in a paper
  derived,   // arithmetic on printed numbers
  inferred,  // the simplest assumption that explains a published outcome
  fitted,    // adjusted until a published measurement came out; the source says which
};
std::string_view name_of(Origin origin);
std::optional<Origin> origin_named(std::string_view name);

struct Fact {
  double value = 0;
  Origin origin = Origin::fact;
  std::string source = {};
  /// Rows of `tensorpress reproduce`, as "dct-chop: CS-2, fastest".
  std::vector<std::string> fitted_on = {};
};

}  // namespace tensorpress::devices
