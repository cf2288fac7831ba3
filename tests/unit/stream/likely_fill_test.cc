// A fill value that was not named must not decide about a bound of the value range.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "stream/bounds/resolve.h"
#include "tensorpress/stream.h"
#include "tensorpress/streaming.h"

namespace tensorpress {
namespace {

/// A smooth field between -2 and 30, as temperatures of the sea are.
std::vector<float> sea(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = 14.0f + 16.0f * std::sin(0.001f * static_cast<float>(i));
  }
  return values;
}

Result<std::vector<std::byte>> pack(const std::vector<float>& values, const Bound& bound,
                                    CompressOptions options = {}) {
  return compress(*view_of(values, {values.size()}), *Codec::make("dense"), bound,
                  std::move(options));
}

void expect_refused(const std::vector<float>& values, const std::string& named) {
  for (const Bound& bound : {Bound::relative(1e-4), Bound::psnr(60)}) {
    const auto packed = pack(values, bound);
    ASSERT_FALSE(packed.ok()) << bound.to_string();
    EXPECT_EQ(packed.error().code, ErrorCode::likely_fill);
    EXPECT_NE(packed.error().message.find(named + " is likely a fill value"), std::string::npos)
        << packed.error().message;
  }
}

void expect_taken(const std::vector<float>& values, CompressOptions options = {}) {
  for (const Bound& bound : {Bound::relative(1e-4), Bound::psnr(60)}) {
    const auto packed = pack(values, bound, options);
    EXPECT_TRUE(packed.ok()) << packed.error().message;
  }
}

TEST(LikelyFill, OfASixthOfTheValuesIsRefusedWithTheValueAndTheWaysOut) {
  auto values = sea(60000);
  for (std::size_t i = 0; i < values.size(); i += 6) values[i] = -1e34f;
  expect_refused(values, "-1e+34");
  const std::string said = pack(values, Bound::relative(1e-4)).error().message;
  EXPECT_EQ(said.find("10000 values are -1e+34, and all others lie between -2 and 30"), 0u) << said;
  EXPECT_NE(said.find("Name it as a fill value, give the value range, or say that the whole range"),
            std::string::npos);
  expect_taken(values, {.fill_values = {-1e34}});
  expect_taken(values, {.whole_range = true});
  EXPECT_TRUE(pack(values, Bound::relative(1e-4), {.value_range = ValueRange{-2, 30}}).ok());
}

TEST(LikelyFill, OfTwoValuesAmongAMillionIsFound) {
  auto values = sea(1000000);
  values[3] = values[999000] = -777;
  expect_refused(values, "-777");
}

TEST(LikelyFill, OfOneValueIsFoundWhereTheNumberIsCustomary) {
  for (const float fill : {-999.0f, 9999.0f, -999.9f, 1e20f, -1e34f, 9.96921e36f, 9.99e20f}) {
    auto values = sea(5000);
    values[77] = fill;
    const auto packed = pack(values, Bound::relative(1e-4));
    ASSERT_FALSE(packed.ok()) << fill;
    EXPECT_EQ(packed.error().code, ErrorCode::likely_fill);
  }
}

TEST(LikelyFill, AtBothEndsIsFound) {
  auto values = sea(5000);
  values[7] = values[70] = 1e30f;
  values[8] = values[80] = -1e30f;
  const auto packed = pack(values, Bound::relative(1e-4));
  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().code, ErrorCode::likely_fill);
}

TEST(LikelyFill, BesideOneThatWasNamedIsFound) {
  auto values = sea(5000);
  for (std::size_t i = 0; i < 50; ++i) values[i] = -1e34f;
  for (std::size_t i = 100; i < 150; ++i) values[i] = -999.0f;
  const auto packed = pack(values, Bound::relative(1e-4), {.fill_values = {-1e34}});
  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().code, ErrorCode::likely_fill);
  EXPECT_NE(packed.error().message.find("-999 is likely"), std::string::npos);
}

TEST(LikelyFill, DoesNotConcernAbsoluteAndPointwiseBoundsAndRatios) {
  auto values = sea(60000);
  for (std::size_t i = 0; i < values.size(); i += 6) values[i] = -1e34f;
  EXPECT_TRUE(pack(values, Bound::absolute(0.01)).ok());
  EXPECT_TRUE(pack(values, Bound::pointwise_relative(0.01)).ok());
  EXPECT_TRUE(pack(values, Bound::ratio(4)).ok());
}

TEST(LikelyFill, IsNotSeenInOrdinaryFields) {
  auto spike = sea(5000);
  spike[100] = 54321.5f;  // one outlier, and not a number that people write for nothing
  expect_taken(spike);

  std::vector<float> sparse(5000, 0.0f);  // rain: mostly none
  for (std::size_t i = 0; i < sparse.size(); i += 40)
    sparse[i] = 0.01f * static_cast<float>(i % 97);
  expect_taken(sparse);

  std::vector<float> mask(5000, 0.0f);  // land and sea
  for (std::size_t i = 0; i < 2500; ++i) mask[i] = 1.0f;
  expect_taken(mask);

  std::vector<float> saturated = sea(5000);  // clipped where the sensor ends
  for (float& value : saturated) value = std::min(value, 20.0f);
  expect_taken(saturated);

  std::vector<float> decades(5000);  // every order of magnitude has values
  for (std::size_t i = 0; i < decades.size(); ++i) {
    decades[i] = std::pow(10.0f, static_cast<float>(i % 30) - 10.0f) *
                 (1 + 0.1f * static_cast<float>(i % 7));
  }
  expect_taken(decades);
  expect_taken(std::vector<float>(100, 3.5f));
  expect_taken({});
}

/// A tensor of 100 chunks that counts how many of them are read.
class CountedReads : public TensorSource {
 public:
  explicit CountedReads(const std::vector<float>& values)
      : view_(*view_of(values, {values.size()})), source_(view_) {}

  DType dtype() const override { return source_.dtype(); }
  const Shape& shape() const override { return source_.shape(); }
  bool random_access() const override { return true; }
  Result<TensorView> read(const Region& region, AlignedBuffer& scratch) override {
    ++reads_;
    return source_.read(region, scratch);
  }

  /// For the limit of a relative bound.
  std::size_t reads_for_a_limit() {
    const auto resolved = stream::resolve_codec(
        *Codec::make("ceresz"), *this,
        {.bound = Bound::relative(1e-4), .chunk_shape = Shape({view_.shape[0] / 100})});
    EXPECT_EQ(resolved.ok(), !expect_refusal);
    return reads_;
  }
  bool expect_refusal = false;

 private:
  TensorView view_;
  ViewSource source_;
  std::size_t reads_ = 0;
};

TEST(LikelyFill, IsRuledOutByTheRangesOfChunks) {
  std::vector<float> hills(100000, 0.0f);  // so steep that samples see next to nothing of them
  for (std::size_t i = 0; i < hills.size(); i += 1000) hills[i + 1] = static_cast<float>(i);
  EXPECT_EQ(CountedReads(hills).reads_for_a_limit(), 100u);
}

TEST(LikelyFill, IsLookedForOnlyInChunksThatHaveIt) {
  auto values = sea(100000);
  values[3] = values[99000] = -777;
  CountedReads source(values);
  source.expect_refusal = true;
  EXPECT_EQ(source.reads_for_a_limit(), 100u + 2);
}

}  // namespace
}  // namespace tensorpress
