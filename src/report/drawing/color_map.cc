#include "report/drawing/color_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace tensorpress::report {
namespace {

constexpr std::array<Rgb, 10> kSequential = {{{68, 1, 84},
                                              {72, 40, 120},
                                              {62, 74, 137},
                                              {49, 104, 142},
                                              {38, 130, 142},
                                              {31, 158, 137},
                                              {53, 183, 121},
                                              {110, 206, 88},
                                              {181, 222, 43},
                                              {253, 231, 37}}};
constexpr std::array<Rgb, 2> kGrey = {{{0, 0, 0}, {255, 255, 255}}};
constexpr std::array<Rgb, 7> kDiverging = {{{5, 48, 97},
                                            {67, 133, 190},
                                            {167, 208, 228},
                                            {255, 255, 255},
                                            {246, 188, 151},
                                            {205, 92, 65},
                                            {103, 0, 31}}};
constexpr Rgb kNotANumber = {200, 140, 160};

std::span<const Rgb> anchors(ColorMap map) {
  switch (map) {
    case ColorMap::grey:
      return kGrey;
    case ColorMap::diverging:
      return kDiverging;
    case ColorMap::sequential:
      break;
  }
  return kSequential;
}

std::uint8_t between(std::uint8_t low, std::uint8_t high, double share) {
  return static_cast<std::uint8_t>(std::lround(low + share * (high - low)));
}

}  // namespace

Rgb color_at(ColorMap map, double position) {
  if (std::isnan(position)) return kNotANumber;
  const std::span<const Rgb> colors = anchors(map);
  const double at = std::clamp(position, 0.0, 1.0) * static_cast<double>(colors.size() - 1);
  const auto index = std::min(static_cast<std::size_t>(at), colors.size() - 2);
  const double share = at - static_cast<double>(index);
  const Rgb& low = colors[index];
  const Rgb& high = colors[index + 1];
  return {between(low.red, high.red, share), between(low.green, high.green, share),
          between(low.blue, high.blue, share)};
}

std::string css(Rgb color) {
  std::string out = "#";
  for (const unsigned part : {color.red, color.green, color.blue}) {
    out += "0123456789abcdef"[part >> 4];
    out += "0123456789abcdef"[part & 15];
  }
  return out;
}

double luminance(Rgb color) {
  const auto linear = [](std::uint8_t part) {
    const double share = part / 255.0;
    return share <= 0.04045 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(color.red) + 0.7152 * linear(color.green) + 0.0722 * linear(color.blue);
}

}  // namespace tensorpress::report
