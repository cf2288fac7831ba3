// The interpolation half of codec `dense`: bounds, zeros, holes, hostile bytes, equal bytes.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "codecs/dense/interpolation/forward.h"
#include "codecs/dense/interpolation/interpolation.h"

namespace tensorpress::dense {
namespace {

// Waves with noise and, if wanted, regions of zeros and spikes.
template <class T>
std::vector<T> waves(const Shape& shape, double noise, bool zeros, unsigned seed = 7) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<T> values(shape.element_count());
  const std::size_t width = shape.rank() > 0 ? shape[shape.rank() - 1] : 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto x = static_cast<double>(i % width), y = static_cast<double>(i / width);
    values[i] = static_cast<T>(10 * std::sin(x / 9) * std::cos(y / 7) + noise * normal(random));
    if (zeros && values[i] < 0) values[i] = 0;
    if (zeros && random() % 97 == 0) values[i] *= 1000;
  }
  return values;
}

template <class T>
struct Trip {
  std::vector<std::byte> bytes;
  std::vector<T> back;
};
/// In the mode that the codec would choose.
template <class T>
std::optional<std::size_t> encode_chosen(const bounded::Field<T>& field, double bound,
                                         std::span<std::byte> output, ChunkWorkspace& workspace) {
  const InterpolationMode mode =
      estimate_interpolation(field, bound, zeros_of(field, bound, workspace), workspace).mode;
  return encode_interpolation(field, bound, mode, zeros_of(field, bound, workspace), output,
                              workspace);
}

template <class T>
std::optional<Trip<T>> trip(const bounded::Field<T>& field, double bound,
                            const std::optional<InterpolationMode>& mode = {},
                            Isa isa = detected_isa()) {
  ChunkWorkspace workspace(isa);
  Trip<T> result;
  result.bytes.resize(field.values.size() * sizeof(T) + 400);
  const auto size =
      mode ? encode_interpolation(field, bound, *mode, zeros_of(field, bound, workspace),
                                  result.bytes, workspace)
           : encode_chosen<T>(field, bound, result.bytes, workspace);
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
  std::vector<bool> hole(field.values.size());
  for (const auto& h : field.holes) {
    for (std::uint64_t i = 0; i < h.length; ++i) hole[h.start + i] = true;
  }
  for (std::size_t i = 0; i < back.size(); ++i) {
    if (hole[i]) continue;
    ASSERT_LE(std::abs(static_cast<double>(field.values[i]) - static_cast<double>(back[i])), bound)
        << i << " of " << field.shape.to_string();
    if (field.has_zeros && field.values[i] == 0) {
      ASSERT_EQ(back[i], T(0)) << i << " of " << field.shape.to_string();
    }
  }
}

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> kShapes = {
      Shape{1},           Shape{2},         Shape{3},         Shape{17},         Shape{1000},
      Shape{1, 1, 1},     Shape{5, 1},      Shape{1, 40},     Shape{33, 47},     Shape{64, 3},
      Shape{9, 10, 11},   Shape{2, 2, 2},   Shape{3, 70, 65}, Shape{17, 17, 17}, Shape{4, 5, 6, 7},
      Shape{2, 3, 20, 9}, Shape{200, 2, 2}, Shape{40, 1, 9},  Shape{130, 8},     Shape{2, 300},
  };
  return kShapes;
}

template <class T>
void bound_holds() {
  for (const Shape& shape : shapes()) {
    for (const bool zeros : {false, true}) {
      const auto values = waves<T>(shape, 0.1, zeros);
      const bounded::Field<T> field{values, shape, {}, zeros};
      for (const double bound : {1.0, 1e-2, 1e-4}) {
        const auto result = trip(field, bound);
        if (!result) continue;  // does not fit: stored raw by others
        expect_within(field, result->back, bound);
      }
    }
  }
}
TEST(DenseInterpolation, BoundAndZerosHoldForFloats) {
  bound_holds<float>();
}
TEST(DenseInterpolation, BoundAndZerosHoldForDoubles) {
  bound_holds<double>();
}

TEST(DenseInterpolation, EveryModeKeepsTheBound) {
  for (const Shape& shape : {Shape{9, 21, 37}, Shape{12, 16, 64}, Shape{2, 5, 9}, Shape{31, 66}}) {
    const auto values = waves<float>(shape, 0.05, true);
    const bounded::Field<float> field{values, shape, {}, true};
    for (unsigned bits = 1; bits < 128; ++bits) {
      InterpolationMode mode;
      mode.along = {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
      mode.cubic = (bits & 8) != 0;
      mode.average = (bits & 16) != 0;
      mode.tighten = (bits & 32) != 0;
      mode.keep_zeros = bits % 5 != 0;  // else they are listed
      if ((bits & 64) != 0) mode.feedback = {5, -7, 3, 0, 14};
      mode.weights = static_cast<std::uint8_t>(bits % 3);
      const auto result = trip(field, 1e-2, mode);
      if (!result) continue;
      expect_within(field, result->back, 1e-2);
    }
  }
}

TEST(DenseInterpolation, SmoothFieldsShrinkFarBelowABitPerValue) {
  const auto values = waves<float>(Shape{128, 256}, 0, false);
  const bounded::Field<float> field{values, Shape{128, 256}};
  const auto result = trip(field, 0.2);
  ASSERT_TRUE(result.has_value());
  EXPECT_LT(result->bytes.size(), values.size() / 25);
}

TEST(DenseInterpolation, HolesCostLittleAndAreNeverOutliers) {
  auto values = waves<float>(Shape{64, 128}, 0, false);
  std::vector<bounded::Hole> holes;
  for (std::uint64_t y = 0; y < 64; ++y) holes.push_back({y * 128 + 20 + y / 2, 60});
  for (const auto& hole : holes) {
    for (std::uint64_t i = 0; i < hole.length; ++i) {
      values[hole.start + i] = values[hole.start - 1];
    }
  }
  const bounded::Field<float> field{values, Shape{64, 128}, holes};
  const auto with = trip(field, 1e-2);
  const auto without = trip(bounded::Field<float>{values, Shape{64, 128}}, 1e-2);
  ASSERT_TRUE(with && without);
  expect_within(field, with->back, 1e-2);
  EXPECT_LT(with->bytes.size(), without->bytes.size());
}

TEST(DenseInterpolation, HugeTinyAndAlternatingValuesKeepTheBound) {
  std::mt19937 random(3);
  for (const double scale : {1e-38, 1e-30, 1.0, 1e30, 3e38}) {
    for (const Shape& shape : {Shape{40, 50}, Shape{500}}) {
      std::vector<float> values(shape.element_count());
      for (auto& value : values) {
        value = static_cast<float>(scale * (static_cast<double>(random() % 2001) / 1000 - 1));
        if (random() % 50 == 0) value = static_cast<float>(random() % 2) * 3e38f;
        if (random() % 50 == 0) value = 1e-45f;
      }
      const bounded::Field<float> field{values, shape, {}, true};
      for (const double bound : {std::max(1.2e-38, scale * 1e-3), std::min(1e37, scale * 10)}) {
        const auto result = trip(field, bound);
        if (result) expect_within(field, result->back, bound);
      }
    }
  }
}

TEST(DenseInterpolation, DoublesReachTenDigits) {
  const auto values = waves<double>(Shape{64, 64}, 0, false);
  const bounded::Field<double> field{values, Shape{64, 64}};
  const auto result = trip(field, 20 * 1e-10);
  ASSERT_TRUE(result.has_value());
  expect_within(field, result->back, 20 * 1e-10);
  EXPECT_LT(result->bytes.size(), values.size() * 4);
}

// UndefinedBehaviorSanitizer watches: the squares of a few such residuals exceed 64 bits.
TEST(DenseInterpolation, NoiseOfABillionBoundsKeepsTheBound) {
  const Shape shape{64, 64};
  std::vector<double> values(shape.element_count());
  std::mt19937 random(5);
  for (auto& value : values) value = 4e9 * (static_cast<double>(random()) / 4294967296.0 - 0.5);
  const bounded::Field<double> field{values, shape};
  const auto result = trip(field, 1.0);
  ASSERT_TRUE(result.has_value());
  expect_within(field, result->back, 1.0);
}

TEST(DenseInterpolation, ARampAndAnOffsetKeepTheirBounds) {
  std::vector<float> ramp(100000);
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<float>(i + 1);
  const bounded::Field<float> field{ramp, Shape{100000}};
  const auto result = trip(field, 1e-2);
  ASSERT_TRUE(result.has_value());
  expect_within(field, result->back, 1e-2);
  auto offset = waves<float>(Shape{60, 60}, 0.01, false);
  for (auto& value : offset) value = 287 + value / 10;
  const bounded::Field<float> high{offset, Shape{60, 60}};
  const auto second = trip(high, 2e-5);
  if (second) expect_within(high, second->back, 2e-5);
}

TEST(DenseInterpolation, EveryIsaWritesTheSameBytes) {
  for (const Shape& shape : {Shape{9, 33, 47}, Shape{64, 101}, Shape{5000}, Shape{300, 3}}) {
    for (const bool zeros : {false, true}) {
      const auto floats = waves<float>(shape, 0.1, zeros);
      const auto doubles = waves<double>(shape, 0.1, zeros);
      const auto float_truth =
          trip(bounded::Field<float>{floats, shape, {}, zeros}, 1e-2, {}, Isa::scalar);
      const auto double_truth =
          trip(bounded::Field<double>{doubles, shape, {}, zeros}, 1e-2, {}, Isa::scalar);
      ASSERT_TRUE(float_truth && double_truth);
      for (const Isa isa : usable_isas()) {
        const auto f = trip(bounded::Field<float>{floats, shape, {}, zeros}, 1e-2, {}, isa);
        const auto d = trip(bounded::Field<double>{doubles, shape, {}, zeros}, 1e-2, {}, isa);
        ASSERT_TRUE(f && d);
        EXPECT_EQ(f->bytes, float_truth->bytes) << name_of(isa);
        EXPECT_EQ(f->back, float_truth->back) << name_of(isa);
        EXPECT_EQ(d->bytes, double_truth->bytes) << name_of(isa);
        EXPECT_EQ(d->back, double_truth->back) << name_of(isa);
      }
    }
  }
}

TEST(DenseInterpolation, AFullOutputIsNoError) {
  const auto values = waves<float>(Shape{50, 50}, 1, false);
  const bounded::Field<float> field{values, Shape{50, 50}};
  ChunkWorkspace workspace(detected_isa());
  std::vector<std::byte> output(20000);
  const auto size = encode_chosen<float>(field, 1e-3, output, workspace);
  ASSERT_TRUE(size.has_value());
  for (const std::size_t room : {std::size_t{0}, std::size_t{1}, std::size_t{70}, *size - 1}) {
    EXPECT_FALSE(
        encode_chosen<float>(field, 1e-3, std::span(output).first(room), workspace).has_value());
  }
  EXPECT_EQ(encode_chosen<float>(field, 1e-3, std::span(output).first(*size), workspace), size);
}

TEST(DenseInterpolation, HostileBytesAreErrorsOrValues) {
  std::mt19937 random(11);
  for (const Shape& shape : {Shape{9, 10, 12}, Shape{33, 20}, Shape{1}, Shape{90, 3}}) {
    const auto values = waves<float>(shape, 0.3, true);
    const bounded::Field<float> field{values, shape, {}, true};
    const auto good = trip(field, 1e-2);
    ASSERT_TRUE(good.has_value());
    ChunkWorkspace workspace(detected_isa());
    std::vector<float> back(values.size());
    for (std::size_t size = 0; size < good->bytes.size(); ++size) {
      const std::vector<std::byte> cut(good->bytes.begin(),
                                       good->bytes.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_FALSE(decode_interpolation<float>(cut, shape, 1e-2, back, workspace).ok()) << size;
    }
    for (int i = 0; i < 3000; ++i) {
      auto bytes = good->bytes;
      const std::size_t near = i % 2 == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 60);
      for (std::size_t flips = 1 + random() % 3; flips > 0; --flips) {
        bytes[random() % near] ^= static_cast<std::byte>(1u << random() % 8);
      }
      if (i % 5 == 0) bytes.push_back(static_cast<std::byte>(random()));
      (void)decode_interpolation<float>(bytes, shape, 1e-2, back, workspace).ok();
    }
  }
}

TEST(DenseInterpolation, FoldingKeepsEveryValue) {
  EXPECT_EQ(fold(Shape{5, 6, 70, 80}).extents, (Extents{30, 70, 80}));
  EXPECT_EQ(fold(Shape{100, 1, 90}).extents, (Extents{1, 100, 90}));
  const Folding components = fold(Shape{100, 90, 3});
  EXPECT_EQ(components.components, 3u);
  EXPECT_EQ(components.extents, (Extents{3, 100, 90}));
  EXPECT_EQ(fold(Shape{2, 3, 4}).extents, (Extents{1, 1, 24}));
}

}  // namespace
}  // namespace tensorpress::dense
