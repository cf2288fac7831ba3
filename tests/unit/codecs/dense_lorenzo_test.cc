// The Lorenzo half of `dense`: bounds, shapes, types, special cases and hostile bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "base/errors.h"
#include "codecs/dense/lorenzo/lorenzo.h"
#include "kernels/lorenzo/lorenzo_row.h"
#include "training/train.h"

namespace tensorpress::dense {
namespace {

template <class T>
std::optional<std::size_t> encode_planned(const bounded::Field<T>& field, double bound,
                                          std::span<std::byte> output, ChunkWorkspace& workspace) {
  const auto plan = plan_lorenzo(field, bound, LorenzoModel::standard(), workspace.isa);
  if (!plan) return std::nullopt;
  return encode_lorenzo(field, bound, *plan, output, workspace);
}

template <class T>
std::optional<std::vector<std::byte>> encode(const std::vector<T>& values, const Shape& shape,
                                             double bound, Isa isa,
                                             std::span<const bounded::Hole> holes = {}) {
  ChunkWorkspace workspace(isa);
  std::vector<std::byte> output(values.size() * sizeof(T) + 4096);
  const auto size =
      encode_planned(bounded::Field<T>{values, shape, holes}, bound, output, workspace);
  if (!size) return std::nullopt;
  output.resize(*size);
  return output;
}

template <class T>
Result<std::vector<T>> decode(std::span<const std::byte> bytes, const Shape& shape, double bound,
                              Isa isa) {
  ChunkWorkspace workspace(isa);
  std::vector<T> values(shape.element_count());
  RETURN_IF_ERROR(decode_lorenzo(bytes, shape, bound, std::span(values), workspace));
  return values;
}

// Encodes and decodes on every instruction set; returns the size.
template <class T>
std::size_t check(const std::vector<T>& values, const Shape& shape, double bound) {
  const auto expected = encode(values, shape, bound, Isa::scalar);
  if (!expected) {
    ADD_FAILURE() << "nothing was written for " << shape.to_string();
    return 0;
  }
  for (const Isa isa : usable_isas()) {
    EXPECT_EQ(encode(values, shape, bound, isa), expected) << name_of(isa);
    const auto decoded = decode<T>(*expected, shape, bound, isa);
    if (!decoded.ok()) {
      ADD_FAILURE() << decoded.error().message;
      return 0;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double error =
          std::fabs(static_cast<double>(values[i]) - static_cast<double>((*decoded)[i]));
      EXPECT_LE(error, bound) << shape.to_string() << " value " << i << " is " << values[i];
      EXPECT_TRUE(values[i] != 0 || (*decoded)[i] == 0);
      if (error > bound) return 0;
    }
  }
  return expected->size();
}

template <class T>
std::vector<T> waves(const Shape& shape, double noise, unsigned seed, double offset = 0) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-noise, noise);
  std::vector<T> values(shape.element_count());
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::size_t rest = i;
    double sum = offset + uniform(random);
    for (std::size_t axis = shape.rank(); axis-- > 0;) {
      sum += std::sin(static_cast<double>(rest % shape[axis]) / (5.0 + static_cast<double>(axis)));
      rest /= shape[axis];
    }
    values[i] = static_cast<T>(sum);
  }
  return values;
}

TEST(DenseLorenzo, BoundHoldsForEveryShape) {
  for (const Shape& shape : {Shape{1},
                             Shape{2},
                             Shape{15},
                             Shape{16},
                             Shape{17},
                             Shape{31},
                             Shape{33},
                             Shape{997},
                             Shape{4096},
                             Shape{5000},
                             Shape{1, 1},
                             Shape{3, 1},
                             Shape{1, 40},
                             Shape{60, 2},
                             Shape{37, 41},
                             Shape{9, 600},
                             Shape{700, 9},
                             Shape{5, 7, 11},
                             Shape{17, 17, 17},
                             Shape{3, 40, 100},
                             Shape{1, 30, 1, 50},
                             Shape{4, 3, 5, 60},
                             Shape{2, 2, 2, 2, 2, 2, 2, 2}}) {
    for (const double bound : {0.3, 1e-2, 1e-4}) {
      check(waves<float>(shape, 0.01, 1), shape, bound);
      check(waves<double>(shape, 0.01, 2), shape, bound);
    }
  }
}

TEST(DenseLorenzo, SmoothFieldsShrink) {
  const Shape shape{200, 300};
  EXPECT_LT(check(waves<float>(shape, 0, 1), shape, 1e-3), 60000u * 4 / 12);
  EXPECT_LT(check(waves<double>(shape, 0, 1), shape, 1e-3), 60000u * 8 / 24);
}

TEST(DenseLorenzo, DoublesAtTenDigitsAreNotRaw) {
  const Shape shape{100, 200};
  const auto smooth = waves<double>(shape, 0, 1);
  EXPECT_LT(check(smooth, shape, 1e-10), 20000u * 8 / 2);
  const auto noisy = waves<double>(shape, 0.5, 1, 3000);
  EXPECT_LT(check(noisy, shape, 1e-10), 20000u * 8 * 3 / 4);
  check(waves<double>(shape, 1e-4, 1, 1e6), shape, 1e-9);
}

TEST(DenseLorenzo, FloatsWithLargeOffsetsKeepTheirBound) {
  const Shape shape{64, 64};
  check(waves<float>(shape, 1, 3, 287), shape, 2e-6 * 287);
  check(waves<float>(shape, 1, 3, 287), shape, 6e-5);
  check(waves<float>(shape, 1, 3, 100000), shape, 0.02);
  std::vector<float> ramp(100000);
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<float>(i + 1);
  EXPECT_LT(check(ramp, Shape{100000}, 1e-2), 400000u / 12);
}

TEST(DenseLorenzo, ConstantChunksTakeAFewBytes) {
  for (const float value : {0.0f, 1.0f, -273.15f, 1e-20f}) {
    const std::vector<float> values(100000, value);
    EXPECT_LT(check(values, Shape{100, 1000}, 1e-3), 9u);
    const std::vector<double> doubles(10000, static_cast<double>(value));
    EXPECT_LT(check(doubles, Shape{10, 10, 100}, 1e-3), 12u);
  }
}

TEST(DenseLorenzo, SpikesAndHugeRangesAreKept) {
  const Shape shape{50, 60};
  auto values = waves<float>(shape, 0.01, 4);
  for (std::size_t i = 0; i < values.size(); i += 97) values[i] = i % 2 == 0 ? 3e4f : -2e4f;
  check(values, shape, 1e-2);
  auto doubles = waves<double>(shape, 0.01, 4);
  for (std::size_t i = 0; i < doubles.size(); i += 97) doubles[i] = i % 2 == 0 ? 1e9 : -1e-9;
  check(doubles, shape, 1e-3);
  std::vector<float> alternating(3000);
  for (std::size_t i = 0; i < alternating.size(); ++i) {
    alternating[i] = i % 2 == 0 ? 1000.0f : -1e-3f * static_cast<float>(i % 7);
  }
  check(alternating, shape, 0.1);
}

TEST(DenseLorenzo, BoundHoldsFarFromOne) {
  const Shape shape{40, 50};
  for (const double scale : {1e-30, 1e-10, 1e10, 1e30}) {
    auto values = waves<float>(shape, 0.1, 5);
    for (auto& value : values) value = static_cast<float>(value * scale);
    check(values, shape, 1e-3 * scale);
  }
}

TEST(DenseLorenzo, BoundsBelowHalfAnUlpAreExactOrRefused) {
  const Shape shape{4000};
  const auto values = waves<float>(shape, 3, 6, 1e7);
  const auto bytes = encode(values, shape, 1e-3, Isa::scalar);
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ(*decode<float>(*bytes, shape, 1e-3, Isa::scalar), values);
  EXPECT_FALSE(encode(waves<double>(shape, 1, 6, 1e7), shape, 1e-12, Isa::scalar).has_value());
}

TEST(DenseLorenzo, TooSmallAnOutputIsReported) {
  const Shape shape{30, 40};
  const auto values = waves<float>(shape, 0.1, 7);
  const auto bytes = encode(values, shape, 1e-3, Isa::scalar);
  ASSERT_TRUE(bytes.has_value());
  ChunkWorkspace workspace(usable_isas().back());
  for (std::size_t size = 0; size < bytes->size(); size += 5) {
    std::vector<std::byte> output(size);
    EXPECT_FALSE(encode_planned(bounded::Field<float>{values, shape}, 1e-3, output, workspace));
  }
}

TEST(DenseLorenzo, HolesHaveNoOutliers) {
  const Shape shape{2000};
  auto values = waves<float>(shape, 0, 8);
  // At a bound near an ulp some values are outliers; with everything a hole, none is stored.
  for (auto& value : values) value += 3000;
  const double bound = 1.7e-4;
  const auto with = encode(values, shape, bound, Isa::scalar);
  const bounded::Hole all{0, 2000};
  const auto without = encode(values, shape, bound, Isa::scalar, std::span(&all, 1));
  ASSERT_TRUE(with.has_value() && without.has_value());
  EXPECT_LE(without->size(), with->size());
  EXPECT_TRUE(decode<float>(*without, shape, bound, Isa::scalar).ok());
}

TEST(DenseLorenzo, EstimateIsNearWhatIsWritten) {
  const Shape shape{300, 400};
  ChunkWorkspace workspace(usable_isas().back());
  for (const double noise : {0.001, 0.01, 0.1}) {
    const auto values = waves<float>(shape, noise, 9);
    const auto plan = plan_lorenzo(bounded::Field<float>{values, shape}, 1e-3,
                                   LorenzoModel::standard(), workspace.isa);
    ASSERT_TRUE(plan.has_value());
    const double estimate = expected_bits(*plan, values.size());
    const double written = static_cast<double>(check(values, shape, 1e-3)) * 8 / 120000;
    EXPECT_NEAR(estimate, written, 0.15 * written);
  }
}

template <class T>
void survive(const Shape& shape, double bound, double noise) {
  const auto values = waves<T>(shape, noise, 10);
  const auto bytes = encode(values, shape, bound, Isa::scalar);
  ASSERT_TRUE(bytes.has_value());
  const Isa best = usable_isas().back();
  for (std::size_t size = 0; size < bytes->size(); ++size) {
    const std::vector<std::byte> cut(bytes->begin(), bytes->begin() + std::ptrdiff_t(size));
    EXPECT_FALSE(decode<T>(cut, shape, bound, best).ok()) << size;
  }
  auto longer = *bytes;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode<T>(longer, shape, bound, best).ok());
  std::mt19937 random(11);
  for (int trial = 0; trial < 400; ++trial) {
    auto damaged = *bytes;
    for (int flips = 0; flips < 2; ++flips) {
      const std::size_t at = trial % 2 == 0 ? random() % damaged.size() : random() % 12;
      damaged[at] ^= static_cast<std::byte>(1u << random() % 8);
    }
    const auto scalar = decode<T>(damaged, shape, bound, Isa::scalar);
    const auto vector = decode<T>(damaged, shape, bound, best);
    EXPECT_EQ(scalar.ok(), vector.ok());
  }
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<std::byte> random_bytes(random() % 300);
    for (auto& byte : random_bytes) byte = static_cast<std::byte>(random());
    (void)decode<T>(random_bytes, shape, bound, best).ok();
  }
}

TEST(DenseLorenzo, HostileBytesAreErrorsOrValues) {
  survive<float>(Shape{7, 11, 13}, 1e-3, 0.1);
  survive<float>(Shape{900}, 2e-7, 0.1);  // wide
  survive<double>(Shape{20, 50}, 1e-3, 0.1);
  survive<double>(Shape{20, 20}, 1e-12, 0.1);  // with low bits
}

TEST(DenseLorenzo, ChunksAreWholeRowsOfAtMost2To18Values) {
  EXPECT_EQ(chunk_shape_of(Shape{20, 180, 360}, kLorenzoChunkValues), (Shape{4, 180, 360}));
  EXPECT_EQ(chunk_shape_of(Shape{2161, 4320}, kLorenzoChunkValues), (Shape{59, 4320}));
  EXPECT_EQ(chunk_shape_of(Shape{3000000}, kLorenzoChunkValues), (Shape{250000}));
  EXPECT_EQ(chunk_shape_of(Shape{5, 5}, kLorenzoChunkValues), (Shape{5, 5}));
  EXPECT_EQ(chunk_shape_of(Shape{4, 1 << 12, 1 << 12}, kLorenzoChunkValues),
            (Shape{1, 64, 1 << 12}));
}

TEST(DenseTrainer, GivesTablesThatAddUpAndCodeTheirOwnFieldsBetterThanFormulas) {
  const Shape shape{64, 96};
  ChunkWorkspace workspace(usable_isas().back());
  const LorenzoLiterals formula = formula_literals();
  const LorenzoModel start(formula);
  LorenzoTrainer trainer(start);
  for (const double noise : {0.0, 0.01, 0.1}) {
    const auto values = waves<float>(shape, noise, 13);
    for (const double bound : {1e-2, 1e-3}) {
      trainer.add(bounded::Field<float>{values, shape}, bound, workspace);
    }
  }
  const LorenzoLiterals trained = trainer.finish();
  for (const LorenzoLiterals* literals : {&formula, &trained, &lorenzo_literals()}) {
    for (const auto& table : literals->values) {
      EXPECT_EQ(std::accumulate(table.begin(), table.end(), 0), int{kernels::kRansTotal});
    }
    for (const auto& table : literals->below) {
      EXPECT_EQ(std::accumulate(table.begin(), table.end(), 0), int{kernels::kRansTotal});
    }
    for (const auto block_class : literals->classes) EXPECT_LT(block_class, kClasses);
    for (std::size_t cell = kernels::kBlockLengths; cell < kernels::kBlockCells; ++cell) {
      EXPECT_NE(literals->classes[cell], 0);
    }
  }
  const LorenzoModel model(trained);
  const auto block = std::vector<std::int32_t>{0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0};
  const auto features = kernels::lorenzo::block_features(block.data(), block.size());
  const std::uint8_t block_class = model.class_of_cell(kernels::lorenzo::block_cell(features, 4));
  double bits = 0;
  for (const std::int32_t value : block) bits += model.values().bits(block_class, value);
  EXPECT_LT(bits, 40);
  EXPECT_NE(literals_source(trained, "a test").find("kBelow"), std::string::npos);
}

}  // namespace
}  // namespace tensorpress::dense
