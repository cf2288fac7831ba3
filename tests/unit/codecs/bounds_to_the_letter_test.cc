// Promises judged to the letter: by exact arithmetic, by the bits of zeros, and where special
// values, outliers or learned codebooks stand between a search and what it found.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "metrics/metrics.h"
#include "tensorpress/stream.h"

namespace tensorpress {
namespace {

template <class T>
TensorView view_of_all(const std::vector<T>& values) {
  constexpr DType kType = sizeof(T) == sizeof(float) ? DType::f32 : DType::f64;
  return TensorView::contiguous(std::as_bytes(std::span(values)).data(), kType,
                                Shape{values.size()});
}

std::vector<std::byte> stream_of(const TensorView& view, const Codec& codec,
                                 const CompressOptions& options) {
  auto stream = compress(view, codec, options);
  EXPECT_TRUE(stream.ok()) << (stream.ok() ? "" : stream.error().message);
  return stream.ok() ? std::move(*stream) : std::vector<std::byte>();
}

metrics::ErrorStatistics errors_of(const TensorView& view, std::span<const std::byte> stream) {
  const auto copy = decompress(stream);
  EXPECT_TRUE(copy.ok());
  return copy.ok() ? metrics::compare(view, copy->view()).value() : metrics::ErrorStatistics();
}

double limit_in(std::span<const std::byte> stream) {
  return std::stod(std::string(read_info(stream)->codec.parameter("limit")));
}

TEST(Bounds, OfPsnrAreKeptWithACodebookThatIsLearnedForThem) {
  std::vector<float> values(65536);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(std::sin(static_cast<double>(i) * 0.9));
  }
  const std::vector<Parameter> dynamic = {{"codebook", "dynamic"}};
  const auto codec = Codec::make("ceresz2", dynamic).value();
  const auto view = view_of_all(values);
  for (const double decibels : {60.0, 100.0}) {
    const auto stream = stream_of(view, codec, {.bound = Bound::psnr(decibels)});
    EXPECT_GE(errors_of(view, stream).psnr_db(), decibels);
  }
  const auto stream = stream_of(view, codec, {.bound = Bound::ratio(4)});
  const double ratio = static_cast<double>(view.byte_count()) / static_cast<double>(stream.size());
  EXPECT_NEAR(ratio, 4, 0.2);
}

// Chunks of NaN that differ in their bits are stored raw: exact, but no reason for larger errors
// elsewhere.
TEST(Bounds, OfPsnrDoNotCountSpecialValuesOfRawChunks) {
  constexpr std::size_t kChunk = 256, kChunks = 31;
  std::vector<float> values(kChunk * kChunks);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto number = static_cast<std::uint32_t>(i);
    values[i] = i < kChunk ? static_cast<float>(std::sin(static_cast<double>(i) / 9))
                           : std::bit_cast<float>(0x7FC00000u + number);
  }
  const auto view = view_of_all(values);
  for (const char* const name : {"dense", "ceresz", "ceresz2"}) {
    const auto stream = stream_of(view, Codec::make(name).value(),
                                  {.bound = Bound::psnr(60), .chunk_shape = Shape{kChunk}});
    EXPECT_GE(errors_of(view, stream).psnr_db(), 60) << name;
  }
}

TEST(Bounds, OfARatioFollowTheValuesAndNotAFewOutliers) {
  std::mt19937 random(1);
  std::vector<float> values(65536);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double noise = static_cast<double>(random()) * 0x1p-32;
    values[i] = static_cast<float>(std::sin(static_cast<double>(i) / 500) + 0.01 * noise);
  }
  for (std::size_t i = 0; i < 100; ++i) values[i] = -1e34f;
  const auto view = view_of_all(values);
  const auto stream = stream_of(view, Codec::make("dense").value(), {.bound = Bound::ratio(2)});
  EXPECT_LT(limit_in(stream), 1e-4);
  EXPECT_NEAR(static_cast<double>(view.byte_count()) / static_cast<double>(stream.size()), 2, 0.1);
}

TEST(Bounds, TellNoErrorOfNothingButSpecialValues) {
  const std::vector<double> values(64, std::numeric_limits<double>::quiet_NaN());
  const auto stream = stream_of(view_of_all(values), Codec::make("dense").value(),
                                {.bound = Bound::absolute(1e200)});
  EXPECT_EQ(read_info(stream)->statistic("l2_error"), 0);
}

TEST(Bounds, OfNothingAndOfEachValueKeepTheSignsOfZeros) {
  std::vector<double> mixed(128), negative(128, -0.0), special(128, -0.0);
  for (std::size_t i = 0; i < mixed.size(); ++i) mixed[i] = i % 3 == 0 ? -0.0 : 0.0;
  special[5] = std::numeric_limits<double>::infinity();
  for (const char* const name : {"dense", "ceresz", "ceresz2"}) {
    for (const Bound bound :
         {Bound::absolute(0), Bound::relative(0), Bound::pointwise_relative(1e-3)}) {
      for (const auto& values : {mixed, negative, special}) {
        const auto stream =
            stream_of(view_of_all(values), Codec::make(name).value(), {.bound = bound});
        const auto copy = decompress(stream);
        ASSERT_TRUE(copy.ok());
        EXPECT_EQ(std::memcmp(copy->bytes.data(), values.data(), copy->bytes.size()), 0)
            << name << ' ' << bound.to_string();
      }
    }
  }
}

// The double nearest to 1/3 is below it, and three times that is below 1: a limit of 1 is too much.
TEST(Bounds, OfTheRangeAreNeverRoundedUp) {
  const std::vector<double> thirds = {0, 1.5, 3};
  const auto third = stream_of(view_of_all(thirds), Codec::make("dense").value(),
                               {.bound = Bound::relative(1.0 / 3)});
  EXPECT_LT(limit_in(third), 1);
  const auto half =
      stream_of(view_of_all(thirds), Codec::make("dense").value(), {.bound = Bound::relative(0.5)});
  EXPECT_EQ(limit_in(half), 1.5);

  std::mt19937_64 random(2);
  for (int turn = 0; turn < 2000; ++turn) {
    const auto any = [&] { return static_cast<double>(random()) * 0x1p-64; };
    const std::vector<double> ends = {-any() * 1e-3, any()};
    const double share = any();
    const auto stream = stream_of(view_of_all(ends), Codec::make("ceresz").value(),
                                  {.bound = Bound::relative(share)});
    // limit <= share * (high - low), where both sides are exact: the errors of difference and
    // product are doubles.
    const double width = ends[1] - ends[0], low_part = ends[1] - width;
    const double lost = (ends[1] - (width + low_part)) + (low_part - ends[0]);
    const double product = share * width;
    const double rest = std::fma(share, width, -product) + share * lost;
    EXPECT_LE(limit_in(stream) - product, rest) << share << ' ' << ends[0] << ' ' << ends[1];
  }
}

TEST(FixedRates, TellNoSmallerErrorWhereSquaresAreTooSmall) {
  std::mt19937 random(3);
  std::vector<double> values(4096);
  for (double& value : values) value = static_cast<double>(random()) * 0x1p-32 * 1e-200;
  const auto view =
      TensorView::contiguous(std::as_bytes(std::span(values)).data(), DType::f64, {64, 64});
  const std::vector<Parameter> chopped = {{"cf", "2"}};
  const auto dct = Codec::make("dct-chop", chopped);
  const auto quantize = Codec::make("quantize");
  for (const auto* const codec : {&dct, &quantize}) {
    ASSERT_TRUE(codec->ok());
    const auto stream = stream_of(view, **codec, {});
    EXPECT_GE(read_info(stream)->statistic("l2_error").value(), errors_of(view, stream).l2_error())
        << (*codec)->name();
  }
}

}  // namespace
}  // namespace tensorpress
