// Which points a stencil has. On its way to the finer level, a lattice has eight parity classes: a
// value's coordinates are even (known from the coarser level) or odd on each axis. Classes are
// coded one after the other, and a stencil takes the points around a value whose classes came
// before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tensorpress::dense {

/// Axes as bits: x 1, y 2, z 4. A class is the axes on which its coordinates are odd.
using AxisBits = unsigned;
inline constexpr std::size_t kParityClasses = 8;
/// Classes with fewer odd axes first: these have fewer known neighbours, and give more to others.
inline constexpr std::array<AxisBits, 7> kClassOrder = {1, 2, 4, 3, 5, 6, 7};

struct StencilPoint {
  std::array<int, 3> offset{};  // z y x, in steps of the finer level
};

/// Points with the same distances on each axis. They come in opposite pairs.
struct PointGroup {
  std::vector<StencilPoint> points;
};

struct StencilShape {
  std::vector<PointGroup> groups;    // first the nearest pair of each axis, z y x
  std::size_t axes = 0;              // so many of these
  std::vector<StencilPoint> beside;  // coded neighbours, whose residuals tell of this one's
};

/// How far from a value its points lie, at most, squared; on the axes themselves 1, 3 and 5 steps.
enum class StencilReach : std::uint8_t { nine, fourteen };
inline constexpr std::size_t kStencilReaches = 2;

/// Of values that have no neighbours on one side, on none of the odd axes: one, three and five
/// steps before them. Each point stands twice, so that they come in pairs here too.
const StencilShape& one_sided_shape(AxisBits odd);

/// Of the class `odd`, where `axes` are those that this level interpolates. Valid for ever.
const StencilShape& stencil_shape(AxisBits axes, AxisBits odd, StencilReach reach);

}  // namespace tensorpress::dense
