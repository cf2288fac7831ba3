// Numbers as colours. `sequential` runs from dark violet over green to yellow with evenly rising
// lightness, so that equal steps look equal and it survives grey printing and colour blindness;
// its anchors lie on the viridis curve. `diverging` is blue below the middle, white at it, and
// red-brown above.
#pragma once

#include <cstdint>
#include <string>

namespace tensorpress::report {

struct Rgb {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
  friend bool operator==(const Rgb&, const Rgb&) = default;
};

enum class ColorMap : std::uint8_t { sequential, grey, diverging };

/// `position` is clamped to [0, 1]; NaN becomes a mid grey-pink that no map contains.
Rgb color_at(ColorMap map, double position);

/// "#0072b2".
std::string css(Rgb color);

/// Relative luminance in [0, 1] (WCAG 2): above about 0.18 black text reads better than white.
double luminance(Rgb color);

}  // namespace tensorpress::report
