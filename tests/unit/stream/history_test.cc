// Compressing what was compressed before: the bound holds against the first values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "metrics/metrics.h"
#include "metrics/verdict.h"
#include "stream/container/history.h"
#include "tensorpress/stream.h"

namespace tensorpress::stream {
namespace {

std::vector<float> wave(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto x = static_cast<double>(i);
    values[i] = static_cast<float>(20 + 9 * std::sin(0.01 * x) + std::sin(1.7 * x));
  }
  return values;
}

std::vector<float> values_of(const Tensor& tensor) {
  std::vector<float> values(tensor.shape.element_count());
  copy_elements(tensor.view(), *view_of(values, tensor.shape));
  return values;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return largest;
}

TEST(History, IsTextWithAStepForEachCodec) {
  const History history = {{.codec = "dense", .error = Bound::absolute(0.05)},
                           {.codec = "dct-chop"},
                           {.codec = "ceresz", .error = Bound::pointwise_relative(0.001)}};
  EXPECT_EQ(to_text(history), "dense abs 0.05; dct-chop; ceresz pw-rel 0.001");
  EXPECT_EQ(parse_history(to_text(history)).value(), history);
  EXPECT_TRUE(parse_history("").value().empty());
  for (const char* const wrong : {"dense abs", "dense rel 0.1", "; dense abs 1", "dense abs -1"}) {
    EXPECT_FALSE(parse_history(wrong).ok()) << wrong;
  }
}

TEST(History, AddsUpErrorsOfOneKind) {
  EXPECT_EQ(error_of({}), std::nullopt);
  EXPECT_EQ(error_of({{"dense", Bound::absolute(0.05)}}), Bound::absolute(0.05));
  const auto sum = error_of({{"dense", Bound::absolute(0.05)}, {"dense", Bound::absolute(0.02)}});
  ASSERT_TRUE(sum.has_value());
  EXPECT_NEAR(sum->value(), 0.07, 1e-15);
  EXPECT_GE(static_cast<long double>(sum->value()), 0.05L + static_cast<long double>(0.02));
  const auto shares = error_of(
      {{"dense", Bound::pointwise_relative(0.1)}, {"dense", Bound::pointwise_relative(0.1)}});
  ASSERT_TRUE(shares.has_value());
  EXPECT_NEAR(shares->value(), 0.21, 1e-12);  // 1.1 * 1.1
  EXPECT_EQ(error_of({{"dense", Bound::absolute(1)}, {"cast"}}), std::nullopt);
  EXPECT_EQ(error_of({{"dense", Bound::absolute(1)}, {"dense", Bound::pointwise_relative(1e-3)}}),
            std::nullopt);
}

TEST(EarlierError, LeavesASecondBoundAgainstTheFirstValues) {
  const auto original = wave(20000);
  const Shape shape{original.size()};
  const Codec dense = Codec::make("dense").value();
  const auto first = compress(*view_of(original, shape), dense, Bound::absolute(0.05)).value();
  const auto once = values_of(decompress(first).value());
  const History history = history_with(read_info(first).value()).value();
  EXPECT_EQ(to_text(history), "dense abs 0.05");

  for (const Bound& bound : {Bound::absolute(0.07), Bound::relative(0.004)}) {
    const auto second =
        compress(*view_of(once, shape), dense, bound,
                 {.earlier_error = error_of(history),
                  .attributes = {{std::string(kHistoryAttribute), to_text(history)}}})
            .value();
    const auto twice = values_of(decompress(second).value());
    const double allowed =
        bound.kind() == Bound::Kind::absolute
            ? 0.07
            : 0.004 * (*std::ranges::max_element(original) - *std::ranges::min_element(original));
    EXPECT_LE(largest_difference(original, twice), allowed) << bound.to_string();
    const auto info = read_info(second).value();
    EXPECT_LE(error_of(history_with(info).value())->value(), allowed * (1 + 1e-12));
    const auto measured = metrics::compare(*view_of(original, shape), *view_of(twice, shape));
    EXPECT_EQ(metrics::what_is_wrong(measured.value(), info), "");
  }
}

TEST(EarlierError, OfSharesLeavesAShare) {
  const auto original = wave(20000);
  const Shape shape{original.size()};
  const Codec dense = Codec::make("dense").value();
  const auto first =
      compress(*view_of(original, shape), dense, Bound::pointwise_relative(0.01)).value();
  const auto once = values_of(decompress(first).value());
  const auto second = compress(*view_of(once, shape), dense, Bound::pointwise_relative(0.02),
                               {.earlier_error = Bound::pointwise_relative(0.01)})
                          .value();
  const auto twice = values_of(decompress(second).value());
  for (std::size_t i = 0; i < original.size(); ++i) {
    const double x = original[i];
    ASSERT_LE(std::abs(static_cast<double>(twice[i]) - x), 0.02 * std::abs(x));
  }
}

TEST(EarlierError, ThatIsTooLargeIsRefused) {
  const auto values = wave(1000);
  const auto view = *view_of(values, {values.size()});
  const Codec dense = Codec::make("dense").value();
  const auto refused = [&](const Bound& bound, const Bound& earlier) {
    const auto packed = compress(view, dense, bound, {.earlier_error = earlier});
    return !packed.ok() && packed.error().code == ErrorCode::bad_argument;
  };
  EXPECT_TRUE(refused(Bound::absolute(0.03), Bound::absolute(0.05)));
  EXPECT_TRUE(refused(Bound::relative(1e-6), Bound::absolute(0.05)));
  EXPECT_TRUE(refused(Bound::pointwise_relative(0.1), Bound::absolute(0.05)));
  EXPECT_TRUE(refused(Bound::absolute(0.1), Bound::pointwise_relative(0.05)));
  EXPECT_TRUE(refused(Bound::psnr(60), Bound::absolute(0.05)));
  EXPECT_TRUE(refused(Bound::absolute(0.1), Bound::relative(0.05)));
  EXPECT_TRUE(compress(view, dense, Bound::absolute(0.05), {.earlier_error = Bound::absolute(0.05)})
                  .ok());  // nothing is left, so nothing more is lost
}

TEST(RelativeBounds, OfTheWholeRangeAreRefused) {
  const auto values = wave(1000);
  const auto view = *view_of(values, {values.size()});
  for (const double share : {1.0, 2.0, 1e9}) {
    const auto packed = compress(view, *Codec::make("dense"), Bound::relative(share));
    ASSERT_FALSE(packed.ok());
    EXPECT_NE(packed.error().message.find("below 1"), std::string::npos);
  }
}

}  // namespace
}  // namespace tensorpress::stream
