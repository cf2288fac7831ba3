// Codec dct-chop through the public interface, against the plain double-precision reference and the
// paper's formulas.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/tensor/half_types.h"
#include "metrics/metrics.h"
#include "tensorpress/stream.h"
#include "unit/codecs/dct_chop_reference.h"

namespace tensorpress {
namespace {

using testing::dct_chop_reference;

Codec codec_of(const DctChopOptions& options) {
  return Codec::dct_chop(options).value();
}

// A smooth field with a little noise, amplitude about 3.
std::vector<float> field(const Shape& shape) {
  std::mt19937 generator(42);
  std::uniform_real_distribution<float> noise(-0.1f, 0.1f);
  std::vector<float> values(static_cast<std::size_t>(shape.element_count()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(static_cast<float>(i) * 0.05f) +
                2.0f * std::cos(static_cast<float>(i) * 0.003f) + noise(generator);
  }
  return values;
}

std::vector<double> doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

struct RoundTrip {
  StreamInfo info;
  Tensor tensor;
  metrics::ErrorStatistics errors;
  double stored_l2() const { return info.statistic("l2_error").value(); }
  double raw_chunks() const { return info.statistic("raw_chunks").value(); }
  float at(std::size_t i) const {
    float value;
    std::memcpy(&value, tensor.bytes.data() + i * sizeof value, sizeof value);
    return value;
  }
};

RoundTrip round_trip(const TensorView& view, const DctChopOptions& options) {
  const auto stream = compress(view, codec_of(options));
  EXPECT_TRUE(stream.ok()) << stream.error().message;
  auto info = read_info(*stream);
  auto tensor = decompress(*stream);
  EXPECT_TRUE(tensor.ok()) << tensor.error().message;
  const auto errors = metrics::compare(view, tensor->view());
  return {*info, *tensor, *errors};
}

TEST(DctChop, PayloadRatiosEqualTheFormulasExactly) {
  const Shape shape = {5, 3, 64, 32};
  const auto values = field(shape);
  for (int cf = 1; cf <= 8; ++cf) {
    const auto square = round_trip(*view_of(values, shape), {.chop_factor = cf});
    const double ratio = static_cast<double>(square.info.bytes_in()) /
                         static_cast<double>(square.info.payload_bytes);
    EXPECT_EQ(64.0 / (cf * cf), ratio) << cf;  // Eq. 3
    const auto triangle =
        round_trip(*view_of(values, shape), {.chop_factor = cf, .layout = "triangle"});
    EXPECT_EQ(triangle.info.payload_bytes * 64,
              triangle.info.bytes_in() * static_cast<unsigned>(cf * (cf + 1) / 2));
    if (cf > 4) continue;
    const auto zfp = round_trip(*view_of(values, shape), {.chop_factor = cf, .transform = "zfp"});
    EXPECT_EQ(zfp.info.payload_bytes * 16, zfp.info.bytes_in() * static_cast<unsigned>(cf * cf));
    const auto half =
        round_trip(*view_of(values, shape), {.chop_factor = cf, .coefficients = "bf16"});
    EXPECT_EQ(half.info.payload_bytes * 128, half.info.bytes_in() * static_cast<unsigned>(cf * cf));
  }
}

// Every combination, on sizes that divide and that do not, 1-D to 4-D.
TEST(DctChop, RoundTripsMatchADoublePrecisionReference) {
  const Shape shapes[] = {{64, 64},       {37, 53}, {8, 200}, {3, 9, 17},
                          {2, 3, 24, 31}, {1000},   {1003},   {16}};
  for (const auto& shape : shapes) {
    const auto values = field(shape);
    for (const auto transform : {"dct", "zfp"}) {
      for (const auto layout : {"square", "triangle"}) {
        for (const auto coefficients : {"f32", "bf16", "f16"}) {
          for (int cf = 1; cf <= (transform[0] == 'd' ? 8 : 4); ++cf) {
            const DctChopOptions options = {.chop_factor = cf,
                                            .layout = layout,
                                            .transform = transform,
                                            .coefficients = coefficients};
            const auto expected = dct_chop_reference(doubles(values), shape, options);
            const auto actual = round_trip(*view_of(values, shape), options);
            if (actual.raw_chunks() > 0) continue;
            const std::uint64_t value_bytes =
                coefficients[0] == 'f' && coefficients[1] == '3' ? 4 : 2;
            ASSERT_EQ(expected.kept_values * value_bytes, actual.info.payload_bytes)
                << shape.to_string();
            // Coefficients reach 8 x amplitude (DC); a 16-bit one is off by 2^-9 (bf16) or 2^-12
            // (f16) of itself.
            const double unit = value_bytes == 4         ? 0x1p-23
                                : coefficients[0] == 'b' ? 0x1p-8
                                                         : 0x1p-11;
            for (std::size_t i = 0; i < values.size(); ++i) {
              ASSERT_NEAR(expected.values[i], static_cast<double>(actual.at(i)), 32 * unit)
                  << shape.to_string() << " " << transform << " " << layout << " " << coefficients
                  << " CF " << cf;
            }
          }
        }
      }
    }
  }
}

TEST(DctChop,
     StoredErrorEqualsTheDroppedEnergy) {  // Parseval: f32, orthonormal, sizes divisible by 8
  for (const Shape& shape : {Shape{2, 64, 128}, Shape{24, 8}, Shape{4096}}) {
    const auto values = field(shape);
    for (int cf = 1; cf <= 7; ++cf) {
      for (const auto layout : {"square", "triangle"}) {
        const DctChopOptions options = {.chop_factor = cf, .layout = layout};
        const double expected =
            std::sqrt(dct_chop_reference(doubles(values), shape, options).dropped_energy);
        const auto actual = round_trip(*view_of(values, shape), options);
        double energy = 0;
        for (const float x : values) energy += static_cast<double>(x) * static_cast<double>(x);
        const double rounding = 36 * 0x1p-24 * std::sqrt(energy);  // docs/format.md
        EXPECT_NEAR(expected + rounding, actual.stored_l2(), 1e-5 * expected)
            << shape.to_string() << " CF " << cf;
        EXPECT_NEAR(expected, actual.errors.l2_error(), 1e-4 * expected);
        EXPECT_LE(actual.errors.l2_error(), actual.stored_l2());
      }
    }
  }
}

TEST(DctChop, StoredErrorIsTheMeasuredOneWhereParsevalDoesNotHold) {
  const Shape shape = {3, 37, 53};
  const auto values = field(shape);
  for (const auto& options :
       {DctChopOptions{.chop_factor = 4}, DctChopOptions{.chop_factor = 2, .transform = "zfp"},
        DctChopOptions{.chop_factor = 4, .coefficients = "bf16"},
        DctChopOptions{.chop_factor = 4, .form = "matmul"}}) {
    const auto actual = round_trip(*view_of(values, shape), options);
    EXPECT_NEAR(actual.errors.l2_error(), actual.stored_l2(), 1e-8 * actual.stored_l2());
  }
}

TEST(DctChop, ChopFactorEightGivesBackTheFieldToRounding) {
  const Shape shape = {16, 64};
  const auto values = field(shape);
  const auto actual = round_trip(*view_of(values, shape), {.chop_factor = 8, .layout = "square"});
  EXPECT_EQ(0, actual.raw_chunks());
  EXPECT_LT(actual.errors.max_abs_error, 3e-6);
  EXPECT_LE(actual.errors.l2_error(), actual.stored_l2());
}

TEST(DctChop, NeverStoresMoreThanRaw) {
  const Shape shape = {2, 3, 3};  // padded to 8 x 8, CF 4 would need 16 values for 9
  const auto values = field(shape);
  const auto actual = round_trip(*view_of(values, shape), {.chop_factor = 4});
  EXPECT_EQ(actual.info.bytes_in(), actual.info.payload_bytes);
  EXPECT_EQ(0, actual.errors.max_abs_error);
  EXPECT_EQ(0, actual.stored_l2());
}

TEST(DctChop, BytesAndShortsComeBackRoundedAndClamped) {
  const Shape shape = {32, 40};
  std::vector<double> values(static_cast<std::size_t>(shape.element_count()));
  std::vector<std::uint8_t> bytes(values.size());
  std::vector<std::int16_t> shorts(values.size());
  for (std::size_t i = 0; i < values.size();
       ++i) {  // an edge between the extremes: the chop rings beyond both
    bytes[i] = i % 40 < 19 ? 0 : 255;
    shorts[i] = i % 40 < 19 ? -32768 : 32767;
  }
  const DctChopOptions options = {.chop_factor = 2, .coefficients = "f32"};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = bytes[i];
  const auto expected = dct_chop_reference(values, shape, options);
  const auto actual = round_trip(
      TensorView::contiguous(reinterpret_cast<const std::byte*>(bytes.data()), DType::u8, shape),
      options);
  ASSERT_EQ(DType::u8, actual.tensor.dtype);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double clamped = std::clamp(expected.values[i], 0.0, 255.0);
    ASSERT_NEAR(clamped, std::to_integer<int>(actual.tensor.bytes[i]), 0.5001) << i;
  }
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = shorts[i];
  const auto expected16 = dct_chop_reference(values, shape, options);
  const auto actual16 = round_trip(
      TensorView::contiguous(reinterpret_cast<const std::byte*>(shorts.data()), DType::i16, shape),
      options);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int16_t value;
    std::memcpy(&value, actual16.tensor.bytes.data() + 2 * i, 2);
    ASSERT_NEAR(std::clamp(expected16.values[i], -32768.0, 32767.0), value, 0.52) << i;
  }
}

TEST(DctChop, RefusesNonfiniteValuesAndSaysWhere) {
  const Shape shape = {3, 2, 40, 40};
  for (const float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    for (const auto coefficients : {"f32", "bf16"}) {
      auto values = field(shape);
      values[((2 * 2 + 1) * 40 + 17) * 40 + 5] = bad;
      values[((2 * 2 + 1) * 40 + 17) * 40 + 30] = bad;
      const auto stream =
          compress(*view_of(values, shape), codec_of({.coefficients = coefficients}));
      ASSERT_FALSE(stream.ok());
      EXPECT_EQ(ErrorCode::bad_argument, stream.error().code);
      EXPECT_NE(std::string::npos, stream.error().message.find("[2, 1, 17, 5]"))
          << stream.error().message;
      EXPECT_NE(std::string::npos,
                stream.error().message.find(std::isnan(bad) ? "NaN" : "infinity"));
    }
  }
}

TEST(DctChop, NonfiniteValuesAreRefusedEvenWhereRawWouldHoldThem) {
  std::vector<float> values = {1, std::nanf(""), 3};
  EXPECT_FALSE(compress(*view_of(values, {3}), codec_of({.chop_factor = 4})).ok());
}

TEST(DctChop, CoefficientsThatOverflowTheirTypeAreStoredRaw) {
  const Shape shape = {64, 64};
  std::vector<float> values(64 * 64, 60000.0f);  // DC is 480000: beyond f16
  const auto half = round_trip(*view_of(values, shape), {.chop_factor = 4, .coefficients = "f16"});
  EXPECT_EQ(1, half.raw_chunks());
  EXPECT_EQ(0, half.errors.max_abs_error);
  std::vector<float> huge(64 * 64);
  for (std::size_t i = 0; i < huge.size(); ++i) huge[i] = i % 2 == 0 ? 3e38f : -3e38f;
  const auto single = round_trip(*view_of(huge, shape), {.chop_factor = 4});
  EXPECT_EQ(1, single.raw_chunks());
  EXPECT_EQ(0, single.errors.max_abs_error);
}

TEST(DctChop, LargeAndSmallMagnitudesKeepTheStoredError) {
  const Shape shape = {64, 64};
  for (const float scale : {1e-42f, 1e-30f, 1e-21f, 1e-10f, 1e10f, 1e20f, 1e30f}) {
    auto values = field(shape);
    for (auto& value : values) value *= scale;
    const auto actual = round_trip(*view_of(values, shape), {.chop_factor = 3});
    EXPECT_LE(actual.errors.l2_error(), actual.stored_l2()) << scale;
    EXPECT_LT(actual.stored_l2(), 2 * actual.errors.l2_error() + 1e-44) << scale;
  }
}

TEST(DctChop, MatrixFormAgreesWithTheBlockKernelToRounding) {
  for (const Shape& shape : {Shape{2, 64, 64}, Shape{72, 40}, Shape{37, 53}}) {
    const auto values = field(shape);
    for (const auto transform : {"dct", "zfp"}) {
      for (const auto layout : {"square", "triangle"}) {
        for (const int serialize : {1, 2, 3}) {
          DctChopOptions options = {.chop_factor = 3, .layout = layout, .transform = transform};
          const auto block = round_trip(*view_of(values, shape), options);
          options.form = "matmul";
          options.serialize = serialize;
          const auto matmul = round_trip(*view_of(values, shape), options);
          ASSERT_EQ(block.info.payload_bytes, matmul.info.payload_bytes);
          for (std::size_t i = 0; i < values.size(); ++i)
            ASSERT_NEAR(block.at(i), matmul.at(i), 2e-5f);
        }
      }
    }
  }
}

double fact(const Codec& codec, const Shape& shape, std::string_view name) {
  for (const auto& candidate : facts(codec, shape, DType::f32)) {
    if (candidate.name == name) return candidate.value;
  }
  return -1;
}

TEST(DctChop, CostsFollowThePapersEquations) {
  for (const double n : {64.0, 256.0, 512.0}) {
    for (int cf = 1; cf <= 8; ++cf) {
      const auto size = static_cast<std::uint64_t>(n);
      const Codec codec = codec_of({.chop_factor = cf, .form = "matmul"});
      const double c = cf / 8.0;
      const double compress_flops = 2 * n * n * n * c * (c + 1) - n * n * (c + c * c);  // Eq. 5
      const double decompress_flops = 2 * n * n * n * c * (c + 1) - n * n * (c + 1);    // Eq. 7
      EXPECT_DOUBLE_EQ(compress_flops, fact(codec, {size, size}, "flops_compress"));
      EXPECT_DOUBLE_EQ(100 * 3 * decompress_flops,
                       fact(codec, {100, 3, size, size}, "flops_decompress"));
      EXPECT_DOUBLE_EQ(2 * c * n * n * 4, fact(codec, {size, size}, "matrix_bytes"));
      const Codec serialized = codec_of({.chop_factor = cf, .form = "matmul", .serialize = 2});
      EXPECT_DOUBLE_EQ(2 * c * n * n * 4 / 4, fact(serialized, {size, size}, "matrix_bytes"));
    }
  }
}

TEST(DctChop, ScalarsAndEmptyTensorsAreOrdinary) {
  const std::vector<float> one = {3.25f};
  EXPECT_EQ(3.25f, round_trip(*view_of(one, Shape{}), {}).at(0));
  const std::vector<float> nothing;
  for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{0, 8, 8}, Shape{4, 8, 0}}) {
    const auto actual = round_trip(*view_of(nothing, shape), {});
    EXPECT_EQ(shape, actual.tensor.shape);
    EXPECT_EQ(0u, actual.info.chunk_count);
  }
}

TEST(DctChop, StridedViewsGiveTheSameValuesAsTheirCopies) {
  const Shape shape = {40, 56};
  const auto values = field(shape);
  TensorView flipped = *view_of(values, {56, 40});  // transposed, rows backwards
  flipped.data += 39 * 56 * 4;
  flipped.strides = {4, -56 * 4};
  std::vector<float> copy(values.size());
  copy_elements(flipped, *view_of(copy, {56, 40}));
  const auto a = round_trip(flipped, {.chop_factor = 3});
  const auto b = round_trip(*view_of(copy, {56, 40}), {.chop_factor = 3});
  EXPECT_EQ(a.tensor.bytes, b.tensor.bytes);
}

// Elements that a large odd tensor gets past the cache, row after row and without padding, are
// those that views with gaps get one by one.
TEST(DctChop, LargeOddTensorsComeBackTheSameIntoAnyMemory) {
  for (const DType dtype : {DType::f32, DType::f16, DType::u8, DType::i16}) {
    const std::uint64_t planes = (std::uint64_t{17} << 20) / size_of(dtype) / (251 * 133);
    for (const Shape& shape : {Shape{planes, 251, 133}, Shape{planes * 251 * 133 + 5}}) {
      const auto values = field(shape);
      std::vector<std::byte> elements(values.size() * size_of(dtype));
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint16_t half = float_to_f16(values[i]);
        const void* const from = dtype == DType::f16 ? static_cast<const void*>(&half) : &values[i];
        std::memcpy(elements.data() + i * size_of(dtype), from, size_of(dtype));
      }
      const auto stream =
          compress(TensorView::contiguous(elements.data(), dtype, shape), codec_of({}));
      ASSERT_TRUE(stream.ok()) << stream.error().message;
      const auto whole = decompress(*stream);
      ASSERT_TRUE(whole.ok()) << whole.error().message;
      std::vector<std::byte> gaps(2 * elements.size());
      auto spread = MutableTensorView::contiguous(gaps.data(), dtype, shape);
      for (std::size_t axis = 0; axis < shape.rank(); ++axis) spread.strides[axis] *= 2;
      ASSERT_TRUE(Decompressor().decompress(*stream, spread).ok());
      copy_elements(spread, MutableTensorView::contiguous(elements.data(), dtype, shape));
      EXPECT_TRUE(whole->bytes == elements) << name_of(dtype) << " " << shape.to_string();
    }
  }
}

TEST(DctChop, BadParametersSayWhatIsAllowed) {
  const auto message = [](const DctChopOptions& options) {
    const auto codec = Codec::dct_chop(options);
    return codec.ok() ? std::string() : codec.error().message;
  };
  EXPECT_NE(std::string::npos, message({.chop_factor = 0}).find("from 1 to 8"));
  EXPECT_NE(std::string::npos, message({.chop_factor = 9}).find("from 1 to 8"));
  EXPECT_NE(std::string::npos, message({.chop_factor = 5, .transform = "zfp"}).find("from 1 to 4"));
  EXPECT_NE(std::string::npos, message({.layout = "round"}).find("square|triangle"));
  EXPECT_NE(std::string::npos, message({.coefficients = "f64"}).find("f32|bf16|f16"));
  EXPECT_NE(std::string::npos, message({.form = "block", .serialize = 2}).find("`form` matmul"));
  const Parameter unknown[] = {{"speed", "9"}};
  EXPECT_NE(std::string::npos,
            Codec::make("dct-chop", unknown).error().message.find("no parameter 'speed'"));
  EXPECT_NE(std::string::npos, Codec::make("zip").error().message.find("dct-chop"));
}

}  // namespace
}  // namespace tensorpress
