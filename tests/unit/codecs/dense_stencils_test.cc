// Stencils of codec `dense`: bounds at every face, zeros, holes, hostile bytes, equal bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "codecs/dense/interpolation/forward.h"
#include "codecs/dense/interpolation/interpolation.h"
#include "codecs/dense/interpolation/stencils/trial.h"

namespace tensorpress::dense {
namespace {

// Waves in several directions, which need points off the axes.
template <class T>
std::vector<T> slanted_waves(const Shape& shape, double noise, bool zeros = false) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<T> values(shape.element_count());
  for (std::size_t i = 0; i < values.size(); ++i) {
    double phase[3] = {};
    std::size_t rest = i;
    for (std::size_t axis = shape.rank(); axis-- > 0;) {
      const auto at = static_cast<double>(rest % shape[axis]);
      rest /= shape[axis];
      phase[0] += at * (0.35 + 0.1 * static_cast<double>(axis));
      phase[1] += at * (axis % 2 == 0 ? -0.5 : 0.4);
      phase[2] += at * at * 0.004;
    }
    const double value = 10 * std::sin(phase[0]) + 7 * std::cos(phase[1]) + 3 * std::sin(phase[2]);
    values[i] = static_cast<T>(value + noise * normal(random));
    if (zeros && values[i] < 0) values[i] = 0;
  }
  return values;
}

InterpolationMode stencils_along(const Extents& extents) {
  InterpolationMode mode;
  mode.stencils = true;
  for (std::size_t axis = 0; axis < 3; ++axis) mode.along[axis] = extents[axis] > 1;
  return mode;
}

template <class T>
struct Trip {
  std::vector<std::byte> bytes;
  std::vector<T> back;
};
template <class T>
std::optional<Trip<T>> trip(const bounded::Field<T>& field, double bound,
                            const InterpolationMode& mode, Isa isa = detected_isa()) {
  ChunkWorkspace workspace(isa);
  Trip<T> result;
  result.bytes.resize(field.values.size() * sizeof(T) + 4000);
  const auto size = encode_interpolation(field, bound, mode, zeros_of(field, bound, workspace),
                                         result.bytes, workspace);
  if (!size) return std::nullopt;
  result.bytes.resize(*size);
  result.back.resize(field.values.size());
  const auto decoded =
      decode_interpolation<T>(result.bytes, field.shape, bound, result.back, workspace);
  EXPECT_TRUE(decoded.ok()) << (decoded.ok() ? "" : decoded.error().message);
  return result;
}

template <class T>
void expect_within(const bounded::Field<T>& field, const std::vector<T>& back, double bound) {
  for (std::size_t i = 0; i < back.size(); ++i) {
    ASSERT_LE(std::abs(static_cast<double>(field.values[i]) - static_cast<double>(back[i])), bound)
        << i << " of " << field.shape.to_string();
    if (field.has_zeros && field.values[i] == 0) {
      ASSERT_EQ(back[i], T(0)) << i;
    }
  }
}

template <class T>
void bound_holds() {
  for (const Shape& shape :
       {Shape{8}, Shape{9}, Shape{1000}, Shape{20001}, Shape{8, 8}, Shape{33, 48}, Shape{130, 97},
        Shape{8, 9, 10}, Shape{16, 17, 18}, Shape{31, 32, 33}, Shape{12, 1, 40}, Shape{65, 10, 9},
        Shape{3, 4, 20, 30}, Shape{2, 12, 13, 14}, Shape{24, 25, 3}}) {
    for (const bool wanted : {false, true}) {
      const auto values = slanted_waves<T>(shape, 0.01, wanted);
      const bool zeros = std::ranges::find(values, T(0)) != values.end();
      const bounded::Field<T> field{values, shape, {}, zeros};
      for (const double bound : {1.0, 1e-2, 1e-4}) {
        for (const bool tighten : {false, true}) {
          InterpolationMode mode = stencils_along(fold(shape).extents);
          mode.keep_zeros = zeros && bound < 1;  // else they are listed
          mode.tighten = tighten;
          const auto result = trip(field, bound, mode);
          if (result) expect_within(field, result->back, bound);
        }
      }
    }
  }
}
TEST(DenseStencils, BoundAndZerosHoldForFloats) {
  bound_holds<float>();
}
TEST(DenseStencils, BoundAndZerosHoldForDoubles) {
  bound_holds<double>();
}

TEST(DenseStencils, EverySubsetOfAxesKeepsTheBound) {
  const Shape shape{18, 21, 40};
  const auto values = slanted_waves<float>(shape, 0.05);
  const bounded::Field<float> field{values, shape};
  for (unsigned axes = 1; axes < 8; ++axes) {
    InterpolationMode mode;
    mode.stencils = true;
    mode.along = {(axes & 4) != 0, (axes & 2) != 0, (axes & 1) != 0};
    for (std::uint8_t limit = 0; limit < 4; ++limit) {
      mode.level_limit = limit;
      const auto result = trip(field, 1e-2, mode);
      ASSERT_TRUE(result.has_value());
      expect_within(field, result->back, 1e-2);
    }
  }
}

// An axis of 2 or 3 would be all margin; it may be there, but not be interpolated.
TEST(DenseStencils, ShortAxesAreLeftToOtherModes) {
  for (const std::uint64_t side : {2u, 3u, 7u}) {
    const Shape shape{side, 20, 30};
    const auto values = slanted_waves<float>(shape, 0);
    const bounded::Field<float> field{values, shape};
    InterpolationMode mode = stencils_along(fold(shape).extents);
    EXPECT_FALSE(trip(field, 1e-2, mode).has_value());
    mode.along[0] = false;
    const auto result = trip(field, 1e-2, mode);
    ASSERT_TRUE(result.has_value());
    expect_within(field, result->back, 1e-2);
  }
}

TEST(DenseStencils, AreChosenForSlantedWavesAndSaveAQuarter) {
  const Shape shape{48, 50, 65};
  const auto values = slanted_waves<float>(shape, 0.002);
  const bounded::Field<float> field{values, shape};
  ChunkWorkspace workspace(detected_isa());
  const auto mode =
      estimate_interpolation(field, 5e-2, zeros_of(field, 5e-2, workspace), workspace).mode;
  EXPECT_TRUE(mode.stencils);
  const auto with = trip(field, 5e-2, mode);
  InterpolationMode other;
  other.average = true;
  const auto without = trip(field, 5e-2, other);
  ASSERT_TRUE(with && without);
  expect_within(field, with->back, 5e-2);
  EXPECT_LT(static_cast<double>(with->bytes.size()),
            0.75 * static_cast<double>(without->bytes.size()));
}

TEST(DenseStencils, HolesAndHugeValuesSpoilNothing) {
  const Shape shape{20, 30, 40};
  auto values = slanted_waves<float>(shape, 0);
  std::vector<bounded::Hole> holes;
  for (std::uint64_t row = 0; row < 600; row += 3) holes.push_back({row * 40 + 5, 20});
  for (std::size_t i = 7; i < values.size(); i += 997) values[i] = i % 2 == 0 ? 3e38f : -3e38f;
  const bounded::Field<float> field{values, shape, holes};
  const auto result = trip(field, 1e-2, stencils_along(fold(shape).extents));
  ASSERT_TRUE(result.has_value());
  std::vector<bool> hole(values.size());
  for (const auto& h : holes) {
    for (std::uint64_t i = 0; i < h.length; ++i) hole[h.start + i] = true;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (hole[i]) continue;
    ASSERT_LE(std::abs(double{values[i]} - double{result->back[i]}), 1e-2) << i;
  }
}

TEST(DenseStencils, EveryIsaWritesTheSameBytes) {
  for (const Shape& shape : {Shape{30, 33, 47}, Shape{128, 101}, Shape{20000}, Shape{90, 90, 3}}) {
    const auto floats = slanted_waves<float>(shape, 0.01);
    const auto doubles = slanted_waves<double>(shape, 0.01);
    InterpolationMode mode = stencils_along(fold(shape).extents);
    if (fold(shape).components > 1) mode.along[0] = false;
    const auto float_truth = trip(bounded::Field<float>{floats, shape}, 1e-2, mode, Isa::scalar);
    const auto double_truth = trip(bounded::Field<double>{doubles, shape}, 1e-2, mode, Isa::scalar);
    ASSERT_TRUE(float_truth && double_truth);
    for (const Isa isa : usable_isas()) {
      const auto f = trip(bounded::Field<float>{floats, shape}, 1e-2, mode, isa);
      const auto d = trip(bounded::Field<double>{doubles, shape}, 1e-2, mode, isa);
      ASSERT_TRUE(f && d);
      EXPECT_EQ(f->bytes, float_truth->bytes) << name_of(isa);
      EXPECT_EQ(f->back, float_truth->back) << name_of(isa);
      EXPECT_EQ(d->bytes, double_truth->bytes) << name_of(isa);
      EXPECT_EQ(d->back, double_truth->back) << name_of(isa);
      ChunkWorkspace workspace(isa), scalar(Isa::scalar);
      const bounded::Field<float> field{floats, shape};
      EXPECT_EQ(estimate_interpolation(field, 1e-2, zeros_of(field, 1e-2, workspace), workspace)
                    .bits_per_value,
                estimate_interpolation(field, 1e-2, zeros_of(field, 1e-2, scalar), scalar)
                    .bits_per_value);
    }
  }
}

// The default effort takes the small stencils, which are read twice as fast.
TEST(DenseStencils, LargeChunksHaveWideOnesWhereTheseAreAskedFor) {
  const Shape shape{65, 64, 64};
  const auto values = slanted_waves<float>(shape, 0.01);
  const bounded::Field<float> field{values, shape};
  constexpr std::size_t kReachAt = 3 + 5 * kRowGroups;  // behind the mode and its scales
  for (const bool wide : {false, true}) {
    InterpolationMode mode = stencils_along(fold(shape).extents);
    mode.wide_stencils = wide;
    const auto expected = trip(field, 1e-2, mode);
    ASSERT_TRUE(expected);
    EXPECT_EQ(std::byte{wide}, expected->bytes[kReachAt]);
    expect_within(field, expected->back, 1e-2);
    for (const Isa isa : usable_isas()) {
      const auto found = trip(field, 1e-2, mode, isa);
      ASSERT_TRUE(found);
      EXPECT_EQ(expected->bytes, found->bytes);
      EXPECT_EQ(expected->back, found->back);
    }
  }
}

TEST(DenseStencils, HostileBytesAreErrorsOrTheSameValuesEverywhere) {
  std::mt19937 random(11);
  const Shape shape{17, 24, 26};
  const auto values = slanted_waves<float>(shape, 0.01);
  const bounded::Field<float> field{values, shape};
  const auto good = trip(field, 1e-1, stencils_along(fold(shape).extents));
  ASSERT_TRUE(good.has_value());
  ChunkWorkspace workspace(detected_isa()), scalar(Isa::scalar);
  std::vector<float> back(values.size()), truth(values.size());
  for (std::size_t size = 0; size < good->bytes.size(); size += size < 900 ? 1 : 37) {
    const std::vector<std::byte> cut(good->bytes.begin(),
                                     good->bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(decode_interpolation<float>(cut, shape, 1e-1, back, workspace).ok()) << size;
  }
  for (int i = 0; i < 3000; ++i) {
    auto bytes = good->bytes;
    const std::size_t near = i % 4 == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 700);
    for (std::size_t flips = 1 + random() % 3; flips > 0; --flips) {
      bytes[random() % near] ^= static_cast<std::byte>(1u << random() % 8);
    }
    const bool ok = decode_interpolation<float>(bytes, shape, 1e-1, back, workspace).ok();
    const bool also = decode_interpolation<float>(bytes, shape, 1e-1, truth, scalar).ok();
    ASSERT_EQ(ok, also);
    if (ok) {
      ASSERT_EQ(0, std::memcmp(back.data(), truth.data(), back.size() * sizeof(float)));
    }
  }
}

TEST(DenseStencils, StencilsReachOnlyClassesCodedBefore) {
  for (AxisBits axes = 1; axes < kParityClasses; ++axes) {
    std::set<AxisBits> known = {0};
    for (const AxisBits odd : kClassOrder) {
      if ((odd & ~axes) != 0) continue;
      for (const StencilReach reach : {StencilReach::nine, StencilReach::fourteen}) {
        const StencilShape& shape = stencil_shape(axes, odd, reach);
        EXPECT_EQ(shape.axes, static_cast<std::size_t>(std::popcount(odd)));
        for (const PointGroup& group : shape.groups) {
          ASSERT_EQ(0u, group.points.size() % 2);
          for (std::size_t i = 0; i < group.points.size(); ++i) {
            const auto& offset = group.points[i].offset;
            AxisBits other = odd;
            for (std::size_t axis = 0; axis < 3; ++axis) {
              if (offset[axis] % 2 != 0) other ^= 4u >> axis;
              EXPECT_EQ(offset[axis], -group.points[i ^ 1].offset[axis]);
            }
            EXPECT_TRUE(known.contains(other));
          }
        }
      }
      known.insert(odd);
    }
  }
  // Worked out by hand: three pairs on the axis, then (1, 2, 0), (1, 0, 2) and (1, 2, 2).
  EXPECT_EQ(6u, stencil_shape(7, 1, StencilReach::nine).groups.size());
}

TEST(DenseStencils, WeightsThatAreTooLargeAreRefused) {
  const Lattice lattice({9, 9, 9}, {true, true, true}, 0);
  StencilSet set;
  StencilWeights weights(stencil_shape(7, 1, set.reach).groups.size());
  weights[1] = 16383;
  EXPECT_TRUE(set.set(1, 1, weights));
  EXPECT_EQ(kStencilUnit - 16383, set.of(1, 1)[0]);
  weights[1] = 16384;  // 15 bits hold no more
  EXPECT_FALSE(set.set(1, 1, weights));
  weights[1] = weights[2] = weights[3] = 16000;
  EXPECT_FALSE(set.set(1, 1, weights));
  std::vector<std::byte> bytes;
  append_stencils(set, lattice, bytes);
  ByteReader reader(bytes);
  const auto back = read_stencils(reader, lattice);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->of(1, 1), set.of(1, 1));
  EXPECT_TRUE(back->of(1, 2).empty());
}

// Waves in sixty directions, hardly resolved along z. Of predictions along axes, an average over y
// and x is best there, which does not speak against stencils: they take a sixth less.
TEST(DenseStencils, AreTriedWhereAnAverageOfTwoAxesIsBest) {
  const Shape shape{40, 64, 64};
  struct Waves {
    double along_z, slope;
  };
  for (const auto& [along_z, slope] : {Waves{1.5, 0.7}, Waves{2.6, 1.0}}) {
    std::mt19937 random(5);
    const auto share = [&] { return static_cast<double>(random() >> 8) / 16777216.0; };
    std::vector<float> values(shape.element_count());
    for (int wave = 0; wave < 60; ++wave) {
      const double pace = 0.25 * std::pow(7.0, share()), tilt = 2 * share() - 1;
      const double turn = 6.2832 * share(), flat = pace * std::sqrt(1 - tilt * tilt);
      const double phase = 6.28 * share(), height = std::pow(pace, -slope);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto z = static_cast<double>(i / 4096), y = static_cast<double>(i / 64 % 64),
                   x = static_cast<double>(i % 64);
        values[i] += static_cast<float>(
            height * std::sin(pace * tilt * along_z * z +
                              flat * (std::cos(turn) * y + std::sin(turn) * x) + phase));
      }
    }
    ChunkWorkspace workspace(detected_isa());
    const bounded::Field<float> field{values, shape};
    EXPECT_TRUE(estimate_interpolation(field, 0.1, {}, workspace).mode.stencils) << along_z;
  }
}

}  // namespace
}  // namespace tensorpress::dense
