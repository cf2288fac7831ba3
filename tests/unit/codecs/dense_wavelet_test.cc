// The wavelet predictor of codec `dense`: bounds, zeros, holes, hostile bytes, equal bytes.
#include "codecs/dense/wavelet/wavelet.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "codecs/dense/codec.h"
#include "codecs/dense/interpolation/interpolation.h"
#include "codecs/dense/lattice/folding.h"
#include "codecs/dense/wavelet/trial.h"
#include "codecs/dense/wavelet/weights.h"
#include "tensorpress/stream.h"

namespace tensorpress::dense {
namespace {

// Waves around a point, with noise and, if wanted, nothing far from it.
template <class T>
std::vector<T> ripples(const Shape& shape, double noise, bool zeros, double scale = 10) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<T> values(shape.element_count());
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::size_t rest = i;
    double square = 0;
    for (std::size_t axis = shape.rank(); axis-- > 0;) {
      const double at = static_cast<double>(rest % shape[axis]) - 11.3;
      square += at * at;
      rest /= shape[axis];
    }
    const double distance = std::sqrt(square);
    const double value = scale * (std::sin(distance / 3) + noise * normal(random));
    values[i] = zeros && distance > 20 ? static_cast<T>(0) : static_cast<T>(value);
  }
  return values;
}

template <class T>
struct Trip {
  std::vector<std::byte> bytes;
  std::vector<T> back;
};
template <class T>
std::optional<Trip<T>> trip(const bounded::Field<T>& field, double bound,
                            const WaveletMode& mode = {}, Isa isa = detected_isa()) {
  ChunkWorkspace workspace(isa);
  Trip<T> result;
  result.bytes.resize(field.values.size() * sizeof(T) + 400);
  const auto coded = encode_wavelet(field, bound, mode, zeros_of(field, bound, workspace),
                                    std::span(result.bytes), workspace);
  if (!coded) return std::nullopt;
  result.bytes.resize(coded->bytes);
  result.back.resize(field.values.size());
  const auto decoded = decode_wavelet<T>(result.bytes, field.shape, bound, result.back, workspace,
                                         wavelet_form_of(field.shape));
  EXPECT_TRUE(decoded.ok()) << (decoded.ok() ? "" : decoded.error().message);
  return result;
}

template <class T>
void expect_within(const std::vector<T>& values, const std::vector<T>& back, double bound) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_LE(std::fabs(static_cast<double>(values[i]) - static_cast<double>(back[i])), bound)
        << "value " << i;
    if (values[i] == 0) {
      ASSERT_EQ(0, back[i]) << "zero " << i;
    }
  }
}

const std::vector<Shape> kShapes = {{40, 33, 37}, {64, 64},    {9, 8, 10}, {1000}, {1, 17, 90},
                                    {2, 3, 50},   {12, 3, 21}, {3, 70, 2}, {8},    {5, 20, 20, 3}};

template <class T>
class DenseWavelet : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(DenseWavelet, Types);

TYPED_TEST(DenseWavelet, KeepsTheBoundForEveryShapeFilterAndStep) {
  using T = TypeParam;
  std::size_t coded = 0;
  for (const Shape& shape : kShapes) {
    for (const bool zeros : {false, true}) {
      const auto values = ripples<T>(shape, 0.01, zeros);
      for (unsigned choice = 0; choice < 8; ++choice) {
        const WaveletMode mode = {static_cast<kernels::WaveletFilter>(choice % 4),
                                  static_cast<kernels::WaveletEnds>(choice / 4),
                                  static_cast<std::uint8_t>(16 + 12 * choice), 26, choice % 2 == 0};
        for (const double bound : {0.5, 1e-2, 1e-4}) {
          const auto done = trip<T>({values, shape, {}, true}, bound, mode);
          if (!done) continue;
          ++coded;
          expect_within(values, done->back, bound);
        }
      }
    }
  }
  EXPECT_GT(coded, 300u);
}

TYPED_TEST(DenseWavelet, KeepsTheBoundFromTinyToHugeNumbersOrRefuses) {
  using T = TypeParam;
  const Shape shape{20, 20, 20};
  const int most = sizeof(T) == 4 ? 126 : 1022;
  for (int exponent = -most - 10; exponent <= most; exponent += most / 9) {
    const auto values = ripples<T>(shape, 0.001, false, std::ldexp(1.0, exponent));
    const double bound = std::ldexp(1.0, exponent - 9);
    if (static_cast<T>(bound) < std::numeric_limits<T>::min()) continue;
    const auto done = trip<T>({values, shape}, bound);
    if (done) expect_within(values, done->back, bound);
  }
}

TYPED_TEST(DenseWavelet, NeitherHolesNorSpikesSpoilTheRest) {
  using T = TypeParam;
  const Shape shape{24, 25, 26};
  auto values = ripples<T>(shape, 0.01, false);
  values[700] = static_cast<T>(3e3);
  values[9000] = static_cast<T>(-4e3);
  const std::vector<bounded::Hole> holes = {{10, 5}, {2000, 300}, {15000, 600}};
  const auto done = trip<T>({values, shape, holes}, 1e-3);
  ASSERT_TRUE(done);
  auto expected = values;
  for (const auto& hole : holes) {
    for (std::size_t i = hole.start; i < hole.start + hole.length; ++i) expected[i] = done->back[i];
  }
  expect_within(expected, done->back, 1e-3);
}

TYPED_TEST(DenseWavelet, WritesTheSameBytesOnEveryInstructionSet) {
  using T = TypeParam;
  for (const Shape& shape : {Shape{40, 33, 37}, Shape{70, 64}, Shape{5, 20, 20, 3}}) {
    const auto values = ripples<T>(shape, 0.02, true);
    for (const double bound : {0.3, 1e-3}) {
      const bounded::Field<T> field{values, shape, {}, true};
      const auto expected = trip<T>(field, bound, {}, Isa::scalar);
      ASSERT_TRUE(expected);
      for (const Isa isa : usable_isas()) {
        const auto found = trip<T>(field, bound, {}, isa);
        ASSERT_TRUE(found);
        EXPECT_EQ(expected->bytes, found->bytes);
        EXPECT_EQ(expected->back, found->back);
      }
    }
  }
}

TYPED_TEST(DenseWavelet, HostileBytesAreAnErrorOrNumbers) {
  using T = TypeParam;
  const Shape shape{20, 21, 22};
  const auto values = ripples<T>(shape, 0.02, true);
  const auto good = trip<T>({values, shape, {}, true}, 1e-2);
  ASSERT_TRUE(good);
  ChunkWorkspace workspace(detected_isa());
  std::vector<T> back(values.size());
  std::mt19937 random(5);
  for (int turn = 0; turn < 400; ++turn) {
    auto bytes = good->bytes;
    if (turn % 4 == 0) bytes.resize(random() % bytes.size());
    for (unsigned i = 0; i < 1 + random() % 3 && !bytes.empty(); ++i) {
      const std::size_t end =
          turn % 2 == 0 ? std::min<std::size_t>(bytes.size(), 120) : bytes.size();
      bytes[random() % end] = static_cast<std::byte>(random());
    }
    (void)decode_wavelet<T>(bytes, shape, 1e-2, back, workspace);
  }
  EXPECT_FALSE(
      decode_wavelet<T>(good->bytes, Shape{3, 4, 5}, 1e-2, std::span(back).first(60), workspace)
          .ok());
}

// A line of 70000 values has 16 lanes, one of 270001 has 64; neither fills its last lane. What is
// beyond the line is nobody's.
const std::vector<Shape> kLines = {{70000}, {270001}, {1, 65536, 1}};

TYPED_TEST(DenseWavelet, LinesKeepBoundsZerosHolesAndSpikes) {
  using T = TypeParam;
  for (const Shape& shape : kLines) {
    ASSERT_EQ(WaveletForm::lanes, wavelet_form_of(shape));
    for (const bool zeros : {false, true}) {
      std::vector<T> values = ripples<T>(shape, 0.01, false);
      for (std::size_t i = 0; zeros && i < values.size(); ++i) {
        if (i < 9000 || i % 20000 > 17000) values[i] = 0;
      }
      values[700] = static_cast<T>(3e7);
      values[values.size() - 1] = static_cast<T>(-4e4);
      const std::vector<bounded::Hole> holes = {{10, 5}, {20000, 9000}, {65000, 300}};
      for (const double bound : {0.3, 1e-3}) {
        const auto done = trip<T>({values, shape, holes, zeros}, bound);
        ASSERT_TRUE(done) << shape.to_string();
        std::vector<T> expected = values;
        for (const auto& hole : holes) {
          for (std::size_t i = hole.start; i < hole.start + hole.length; ++i) {
            expected[i] = done->back[i];
          }
        }
        expect_within(expected, done->back, bound);
      }
    }
  }
}

TYPED_TEST(DenseWavelet, LinesKeepTheBoundFromTinyToHugeNumbersOrAreRefused) {
  using T = TypeParam;
  const Shape shape{65536};
  const int most = sizeof(T) == 4 ? 126 : 1022;
  std::size_t coded = 0;
  for (int exponent = -most - 10; exponent <= most; exponent += most / 3) {
    const auto values = ripples<T>(shape, 0.001, false, std::ldexp(1.0, exponent));
    const double bound = std::ldexp(1.0, exponent - 9);
    if (static_cast<T>(bound) < std::numeric_limits<T>::min()) continue;
    const auto done = trip<T>({values, shape}, bound);
    if (!done) continue;
    ++coded;
    expect_within(values, done->back, bound);
  }
  EXPECT_GT(coded, 2u);
}

TYPED_TEST(DenseWavelet, LinesAreTheSameBytesOnEveryInstructionSet) {
  using T = TypeParam;
  const Shape shape{70001};
  const auto values = ripples<T>(shape, 0.02, true);
  const bounded::Field<T> field{values, shape, {}, true};
  const auto expected = trip<T>(field, 1e-2, {}, Isa::scalar);
  ASSERT_TRUE(expected);
  for (const Isa isa : usable_isas()) {
    const auto found = trip<T>(field, 1e-2, {}, isa);
    ASSERT_TRUE(found);
    EXPECT_EQ(expected->bytes, found->bytes);
    EXPECT_EQ(expected->back, found->back);
  }
}

TYPED_TEST(DenseWavelet, HostileLinesAreAnErrorOrNumbers) {
  using T = TypeParam;
  const Shape shape{66000};
  const auto values = ripples<T>(shape, 0.02, true);
  const auto good = trip<T>({values, shape, {}, true}, 1e-1);
  ASSERT_TRUE(good);
  ChunkWorkspace workspace(detected_isa());
  std::vector<T> back(values.size());
  std::mt19937 random(6);
  for (int turn = 0; turn < 60; ++turn) {
    auto bytes = good->bytes;
    if (turn % 4 == 0) bytes.resize(random() % bytes.size());
    for (unsigned i = 0; i < 3 && !bytes.empty(); ++i) {
      bytes[random() % std::min<std::size_t>(bytes.size(), 200)] = static_cast<std::byte>(random());
    }
    (void)decode_wavelet<T>(bytes, shape, 1e-1, back, workspace, WaveletForm::lanes);
  }
  for (const Shape& other : {Shape{65535}, Shape{2, 33000}, Shape{66000, 3}}) {
    std::vector<T> room(other.element_count());
    EXPECT_FALSE(
        decode_wavelet<T>(good->bytes, other, 1e-1, std::span(room), workspace, WaveletForm::lanes)
            .ok());
  }
}

// A tone that rises slowly: interpolation takes twice as much, for it sees neighbours alone.
TEST(DenseWaveletChunks, LinesOfWavesTakeHalfOfWhatTheyTakeWithoutTransform) {
  std::vector<float> values(1 << 18);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double at = static_cast<double>(i);
    values[i] = static_cast<float>(std::sin(0.06 * at + 1e-7 * at * at));
  }
  const Shape shape{values.size()};
  const auto bytes_of = [&](const Codec& codec) {
    return compress(*view_of(values, shape), codec, Bound::relative(1e-4)).value().size();
  };
  const std::size_t whole = bytes_of(*Codec::make("dense"));
  ChunkWorkspace workspace(detected_isa());
  const bounded::Field<float> field{values, shape};
  std::vector<std::byte> output(values.size() * sizeof(float));
  const auto estimate = estimate_interpolation(field, 2e-4, {}, workspace);
  const auto interpolated =
      encode_interpolation(field, 2e-4, estimate.mode, {}, std::span(output), workspace);
  ASSERT_TRUE(interpolated);
  EXPECT_LT(19 * whole, 10 * *interpolated);
}

// A fit follows the few largest magnitudes, which say little about all others where they are rare.
// Here a few spots stand out of hills.
TEST(DenseWaveletWeights, ShippedOnesStayWhereTheyForetellMore) {
  const Shape shape{300, 320};
  std::vector<float> values(shape.element_count());
  std::mt19937 random(5);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double y = static_cast<double>(i / 320), x = static_cast<double>(i % 320);
    double height = 0;
    for (double size = 64; size > 2; size /= 2) {
      height += size * std::fabs(std::sin(x / size + y / 90) * std::cos(y / size - x / 70));
    }
    values[i] = static_cast<float>(height) + (random() % 3000 == 0 ? 90.0f : 0.0f);
  }
  for (const double bound : {2.0, 0.5}) {
    const auto fitted = trip<float>({values, shape}, bound);
    const auto shipped = trip<float>({values, shape}, bound, {.fit_weights = false});
    ASSERT_TRUE(fitted && shipped);
    EXPECT_LT(100 * fitted->bytes.size(), 101 * shipped->bytes.size());
  }
}

// A fit follows what shipped weights do not know: here magnitudes like those of the parent's ring.
TEST(DenseWaveletWeights, FitsThatForetellMoreAreTaken) {
  WeightFit fit(detected_isa());
  std::mt19937 random(4);
  for (int i = 0; i < 6000; ++i) {
    const auto ring = static_cast<std::uint16_t>(random() % 60);
    const auto above = static_cast<std::uint16_t>(random() % 40);
    fit.add(1, {1, above, 0, 0, 0, 0, 0, ring, 0, 0}, static_cast<std::uint16_t>(ring / 6));
  }
  EXPECT_GT(fit.fitted()[1].parent_ring, 5 * standard_context_weights()[1].parent_ring);
  EXPECT_LT(fit.fitted()[1].above, 5);
}

// Many bits a value need not be noise: at a bound of a millionth, interpolation takes 9 bits of
// rings that a transform still sees.
TEST(DenseWaveletChunks, AreTriedAtTightBoundsWhereWavesSpanManyValues) {
  const Shape shape{260, 264};
  const double bound = 1e-5;
  auto rings = ripples<double>(shape, 1e-7, false);
  const auto transformed = trip<double>({rings, shape}, bound);
  ASSERT_TRUE(transformed);
  ChunkWorkspace workspace(detected_isa());
  std::vector<std::byte> output(rings.size() * sizeof(double));
  const auto dense = make_dense(Effort::normal);
  const auto chosen = dense->encode({rings, shape}, bound, output, workspace);
  ASSERT_TRUE(chosen);
  EXPECT_LT(100 * *chosen, 105 * transformed->bytes.size());
  EXPECT_TRUE(is_resolved(bounded::Field<double>{rings, shape}));
  const auto noise = ripples<double>(shape, 0.05, false);
  EXPECT_FALSE(is_resolved(bounded::Field<double>{noise, shape}));
}

TEST(DenseWaveletChunks, AreCubesOrSquaresWhereATensorHasLongAxes) {
  EXPECT_EQ((Shape{129, 129, 97}), wavelet_chunk_shape(Shape{256, 256, 192}));
  EXPECT_EQ((Shape{1, 128, 128, 128}), wavelet_chunk_shape(Shape{9, 128, 128, 128}));
  EXPECT_FALSE(wavelet_chunk_shape(Shape{17, 1000, 1000}));
  EXPECT_EQ((Shape{1025, 2048}), wavelet_chunk_shape(Shape{2048, 2048}));
  EXPECT_EQ((Shape{1200, 1900}), wavelet_chunk_shape(Shape{1200, 1900}));
  EXPECT_FALSE(wavelet_chunk_shape(Shape{100, 100000}));
  EXPECT_FALSE(wavelet_chunk_shape(Shape{100, 100, 100}));
}

// A smooth field of the size that simulations write: wavelets take less than half of what the other
// predictors do.
TEST(DenseWaveletChunks, SmoothFieldsTakeHalfOfWhatInterpolationTakes) {
  const Shape shape{65, 65, 65};
  const auto values = ripples<float>(shape, 0, false);
  const auto bytes_with = [&](const char* effort) {
    const Parameter parameters[] = {{"effort", effort}};
    const auto codec = Codec::make("dense", parameters);
    return compress(*view_of(values, shape), *codec, Bound::relative(1e-4)).value().size();
  };
  EXPECT_LT(2 * bytes_with("best"), bytes_with("fast"));
}

}  // namespace
}  // namespace tensorpress::dense
