// What a parameter means that a header of version 2 does not name. Part of the format: what users
// get who say nothing may change (src/codecs), this may not.
#pragma once

#include <array>
#include <string_view>

namespace tensorpress::stream::compact {

struct Default {
  std::string_view codec, parameter, value;
};

inline constexpr std::array kDefaults = {
    Default{"dense", "effort", "normal"},
    Default{"ceresz2", "codebook", "default"},
    Default{"dct-chop", "cf", "4"},
    Default{"dct-chop", "layout", "square"},
    Default{"dct-chop", "transform", "dct"},
    Default{"dct-chop", "coefficients", "f32"},
    Default{"dct-chop", "form", "block"},
    Default{"dct-chop", "serialize", "1"},
    Default{"quantize", "bits", "4"},
    Default{"quantize", "group", "256"},
    Default{"quantize", "rounding", "nearest"},
    Default{"quantize", "seed", "0"},
    Default{"cast", "to", "bf16"},
};

/// Empty where there is none.
constexpr std::string_view default_of(std::string_view codec, std::string_view parameter) {
  for (const Default& each : kDefaults) {
    if (each.codec == codec && each.parameter == parameter) return each.value;
  }
  return {};
}

}  // namespace tensorpress::stream::compact
