#include "codecs/dense/interpolation/stencils/points.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace tensorpress::dense {
namespace {

AxisBits class_at(AxisBits odd, const std::array<int, 3>& offset) {
  const auto parity = [&](int axis) { return static_cast<AxisBits>(offset[axis] & 1); };
  return odd ^ (parity(0) << 2 | parity(1) << 1 | parity(2));
}

bool comes_before(AxisBits earlier, AxisBits later) {
  if (earlier == 0) return true;
  const auto at = [](AxisBits c) { return std::ranges::find(kClassOrder, c); };
  return at(earlier) < at(later);
}

// All points at distances |dz|, |dy|, |dx|, each followed by the opposite one.
PointGroup mirrored(const std::array<int, 3>& distance) {
  PointGroup group;
  for (int signs = 0; signs < 8; ++signs) {
    std::array<int, 3> offset{};
    bool repeated = false, first = true, leads = true;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const bool positive = (signs >> (2 - axis) & 1) != 0;
      if (distance[axis] == 0) {
        repeated = repeated || positive;
        continue;
      }
      if (first) leads = !positive;
      first = false;
      offset[axis] = positive ? distance[axis] : -distance[axis];
    }
    if (repeated || !leads) continue;
    group.points.push_back({offset});
    group.points.push_back({{-offset[0], -offset[1], -offset[2]}});
  }
  return group;
}

std::array<int, 3> on_axis(std::size_t axis, int distance) {
  std::array<int, 3> offset{};
  offset[axis] = distance;
  return offset;
}

void add_points_off_axes(AxisBits axes, AxisBits odd, int reach, StencilShape& shape) {
  const auto most = [&](std::size_t axis) { return (axes >> (2 - axis) & 1) != 0 ? 3 : 0; };
  for (int z = 0; z <= most(0); ++z) {
    for (int y = 0; y <= most(1); ++y) {
      for (int x = 0; x <= most(2); ++x) {
        if ((z != 0) + (y != 0) + (x != 0) < 2 || z * z + y * y + x * x > reach) continue;
        const AxisBits other = class_at(odd, {z, y, x});
        if (other != odd && comes_before(other, odd)) shape.groups.push_back(mirrored({z, y, x}));
      }
    }
  }
}

// Neighbours on the axes; where these all belong to the coarser level, those diagonal to it.
void add_points_beside(AxisBits axes, AxisBits odd, StencilShape& shape) {
  for (const int nonzero : {1, 2}) {
    for (int at = 1; at < 8; ++at) {
      const std::array<int, 3> distance = {at >> 2 & 1, at >> 1 & 1, at & 1};
      if (std::popcount(static_cast<unsigned>(at)) != nonzero) continue;
      if ((static_cast<AxisBits>(at) & ~axes) != 0) continue;
      const AxisBits other = class_at(odd, distance);
      if (other == 0 || other == odd || !comes_before(other, odd)) continue;
      for (const StencilPoint& point : mirrored(distance).points) shape.beside.push_back(point);
    }
    if (!shape.beside.empty()) return;
  }
}

StencilShape make_shape(AxisBits axes, AxisBits odd, int reach) {
  StencilShape shape;
  shape.axes = static_cast<std::size_t>(std::popcount(odd));
  for (const int distance : {1, 3, 5}) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if ((odd >> (2 - axis) & 1) != 0) shape.groups.push_back(mirrored(on_axis(axis, distance)));
    }
  }
  add_points_off_axes(axes, odd, reach, shape);
  add_points_beside(axes, odd, shape);
  return shape;
}

using Shapes = std::array<std::array<std::array<StencilShape, kStencilReaches>, kParityClasses>,
                          kParityClasses>;

const Shapes& all_shapes() {
  // Never destroyed: HDF5 may still compress chunks while the process ends.
  static const Shapes& shapes = *[] {
    auto* made = new Shapes;
    for (AxisBits axes = 1; axes < kParityClasses; ++axes) {
      for (const AxisBits odd : kClassOrder) {
        if ((odd & ~axes) != 0) continue;
        (*made)[axes][odd][0] = make_shape(axes, odd, 9);
        (*made)[axes][odd][1] = make_shape(axes, odd, 14);
      }
    }
    return made;
  }();
  return shapes;
}

}  // namespace

const StencilShape& one_sided_shape(AxisBits odd) {
  static const auto& shapes = *[] {
    auto* made = new std::array<StencilShape, kParityClasses>;
    for (const AxisBits axes : kClassOrder) {
      StencilShape& shape = (*made)[axes];
      shape.axes = static_cast<std::size_t>(std::popcount(axes));
      for (const int distance : {1, 3, 5}) {
        for (std::size_t axis = 0; axis < 3; ++axis) {
          if ((axes >> (2 - axis) & 1) == 0) continue;
          const StencilPoint point{on_axis(axis, -distance)};
          shape.groups.push_back({{point, point}});
        }
      }
    }
    return made;
  }();
  return shapes[odd];
}

const StencilShape& stencil_shape(AxisBits axes, AxisBits odd, StencilReach reach) {
  return all_shapes()[axes][odd][static_cast<std::size_t>(reach)];
}

}  // namespace tensorpress::dense
