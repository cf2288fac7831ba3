// Ratios and PSNRs are kept by the whole stream, header and index included, and are not overshot
// by much.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "metrics/metrics.h"
#include "tensorpress/stream.h"
#include "tensorpress/streaming.h"
#include "unit/stream/samples.h"

namespace tensorpress {
namespace {

/// Smooth on one side and noise on the other, so that samples do not speak for everything.
std::vector<float> uneven(const Shape& shape) {
  std::vector<float> values(shape.element_count());
  std::uint32_t state = 12345;
  for (std::size_t i = 0; i < values.size(); ++i) {
    state = state * 1664525u + 1013904223u;
    const double noise = static_cast<double>(state >> 8) / 16777216.0 - 0.5;
    const double place = static_cast<double>(i) / static_cast<double>(values.size());
    values[i] = static_cast<float>(50 * std::sin(9 * place) + 4 * place * place * place * noise);
  }
  return values;
}

double ratio_of(const std::vector<float>& values, const std::vector<std::byte>& stream) {
  return 4.0 * static_cast<double>(values.size()) / static_cast<double>(stream.size());
}

TEST(Ratio, IsReachedByTheWholeStreamAndHardlyOvershot) {
  for (const char* const codec : {"dense", "ceresz", "ceresz2"}) {
    for (const Shape& shape : {Shape{1500}, Shape{40, 60}, Shape{64, 64, 64}, Shape{300, 700}}) {
      const auto values = uneven(shape);
      for (const double wanted : {2.0, 5.0, 10.0}) {
        const auto packed =
            compress(*view_of(values, shape), Codec::make(codec).value(), Bound::ratio(wanted));
        if (!packed.ok()) {
          EXPECT_NE(packed.error().message.find("out of reach"), std::string::npos);
          continue;
        }
        EXPECT_GE(ratio_of(values, *packed), wanted) << codec << " " << shape.to_string();
        if (std::string_view(codec) == "dense") {
          EXPECT_LE(ratio_of(values, *packed), 1.1 * wanted) << shape.to_string();
        }
      }
    }
  }
}

TEST(Ratio, IsReachedWhereSamplesDoNotShowEverything) {
  // 96 MB in many chunks, of which 16 MB are sampled.
  const Shape shape{24, 1000, 1000};
  const auto values = uneven(shape);
  const auto packed = compress(*view_of(values, shape), Codec::make("ceresz").value(),
                               Bound::ratio(4), {.threads = 2});
  ASSERT_TRUE(packed.ok()) << packed.error().message;
  EXPECT_GE(ratio_of(values, *packed), 4.0);
  EXPECT_LE(ratio_of(values, *packed), 4.4);
}

TEST(Ratio, ThatNoBoundReachesIsRefused) {
  const auto values = uneven({100});
  const auto packed =
      compress(*view_of(values, {100}), Codec::make("dense").value(), Bound::ratio(50));
  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().code, ErrorCode::bad_argument);
  EXPECT_NE(packed.error().message.find("a ratio of 50 is out of reach"), std::string::npos);
}

TEST(Psnr, IsKeptWhereSamplesDoNotShowEverything) {
  const Shape shape{24, 1000, 1000};
  const auto values = uneven(shape);
  for (const double wanted : {40.0, 70.0}) {
    const auto packed = compress(*view_of(values, shape), Codec::make("dense").value(),
                                 Bound::psnr(wanted), {.threads = 2});
    ASSERT_TRUE(packed.ok());
    const auto copy = decompress(*packed, {.threads = 2});
    const auto measured = metrics::compare(*view_of(values, shape), copy->view());
    EXPECT_GE(measured->psnr_db(), wanted);
    // A better one is no waste if it takes about the bytes of errors that spread evenly.
    const double evenly = 101 * std::pow(10, -wanted / 20) * std::sqrt(3);
    const auto bounded = compress(*view_of(values, shape), Codec::make("dense").value(),
                                  Bound::absolute(evenly), {.threads = 2});
    if (5 * packed->size() > 6 * bounded->size()) {
      EXPECT_LE(measured->psnr_db(), wanted + 3);
    }
  }
}

// Of a value in two thousand: errors where something is may be far beyond their mean over all.
TEST(Psnr, IsNotOvershotWhereNextToNothingIsThere) {
  const Shape shape{64, 128, 128};
  std::vector<float> values(shape.element_count());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto z = static_cast<double>(i >> 14) - 30, y = static_cast<double>((i >> 7) & 127) - 70,
               x = static_cast<double>(i & 127) - 41;
    const double puff = std::exp((z * z + y * y + x * x) / -6);
    if (puff > 1e-3) values[i] = static_cast<float>(puff);
  }
  for (const double wanted : {60.0, 75.0, 90.0}) {
    const auto packed = compress(*view_of(values, shape), Codec::make("dense").value(),
                                 Bound::psnr(wanted), {.whole_range = true});
    ASSERT_TRUE(packed.ok());
    const auto copy = decompress(*packed);
    const auto measured = metrics::compare(*view_of(values, shape), copy->view());
    EXPECT_GE(measured->psnr_db(), wanted);
    EXPECT_LE(measured->psnr_db(), wanted + 3);
  }
}

TEST(Search, TakesTheSameLimitForSinksThatCannotRewind) {
  const Shape shape{64, 64, 64};
  const auto values = uneven(shape);
  const TensorView view = *view_of(values, shape);
  for (const Bound& bound : {Bound::psnr(60), Bound::ratio(7)}) {
    for (const char* const codec : {"dense", "ceresz2"}) {
      const auto in_memory = compress(view, Codec::make(codec).value(), bound).value();
      VectorSink sink;  // as a pipe
      ViewSource source(view);
      ASSERT_TRUE(write_stream(Codec::make(codec).value(), source, sink, {.bound = bound}).ok());
      EXPECT_EQ(sink.bytes, in_memory) << codec << " " << bound.to_string();
    }
  }
}

}  // namespace
}  // namespace tensorpress
