// The sentence about a stream that breaks its promise: the same from `tensorpress verify` and
// tensorpress.verify.
#include "metrics/verdict.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace tensorpress::metrics {
namespace {

StreamInfo stream_of(const std::string& codec, const std::vector<Parameter>& parameters,
                     double stored_l2_error) {
  return {.codec = *Codec::make(codec, parameters), .statistics = {{"l2_error", stored_l2_error}}};
}

StreamInfo bounded_stream(const std::string& bound, const std::string& limit) {
  return stream_of("dense", {{"bound", bound}, {"limit", limit}}, 2.0);
}

/// One hundred values of 0 to 100 whose largest error is 0.5 and whose L2 error is 1.
ErrorStatistics small_errors() {
  return {.count = 100,
          .maximum = 100,
          .max_abs_error = 0.5,
          .max_pointwise_error = 0.01,
          .squared_error = {.sum = 1}};
}

TEST(Verdict, NothingIsWrongWithAStreamThatKeepsItsPromises) {
  EXPECT_EQ(what_is_wrong(small_errors(), bounded_stream("abs 0.5", "0.5")), "");
  EXPECT_EQ(what_is_wrong(small_errors(), bounded_stream("rel 0.005", "0.5")), "");
  EXPECT_EQ(what_is_wrong(small_errors(), bounded_stream("ratio 20", "0.5")), "");
  EXPECT_EQ(what_is_wrong(small_errors(), stream_of("dct-chop", {}, 1.0)), "");
}

TEST(Verdict, TheBoundIsNamedBeforeTheL2ErrorThatBreaksWithIt) {
  ErrorStatistics measured = small_errors();
  measured.squared_error.sum = 9;
  EXPECT_EQ(what_is_wrong(measured, bounded_stream("abs 0.25", "0.25")),
            "the error 0.5 exceeds the bound 0.25");
  EXPECT_EQ(what_is_wrong(measured, bounded_stream("abs 0.5", "0.5")),
            "the L2 error 3 exceeds the stored 2");
  EXPECT_EQ(what_is_wrong(measured, stream_of("dct-chop", {}, 2.0)),
            "the L2 error 3 exceeds the stored 2");
}

TEST(Verdict, AnAbsoluteBoundIsWhatWasAskedForWhateverLimitTheStreamNames) {
  EXPECT_EQ(what_is_wrong(small_errors(), bounded_stream("abs 0.25", "0.75")),
            "the error 0.5 exceeds the bound 0.25");
}

TEST(Verdict, PointwiseBoundsAreSharesOfTheValueWhateverTheLimitOfItsLogarithm) {
  EXPECT_EQ(what_is_wrong(small_errors(), bounded_stream("pw-rel 0.01", "0.014")), "");
  EXPECT_EQ(what_is_wrong(small_errors(), bounded_stream("pw-rel 0.001", "0.0014")),
            "an error of 0.01 of the value exceeds the bound 0.001");
}

// A root mean square error of 0.1 in a range of 100: 20 log10(1000) = 60 dB.
TEST(Verdict, ThePsnrThatWasAskedForIsMeasured) {
  EXPECT_EQ(what_is_wrong(small_errors(), bounded_stream("psnr 59", "0.5")), "");
  const std::string wrong = what_is_wrong(small_errors(), bounded_stream("psnr 61", "0.5"));
  EXPECT_TRUE(wrong.starts_with("the PSNR of ") && wrong.ends_with(" dB is below 61")) << wrong;
}

TEST(Verdict, ValuesThatComeBackBitForBitMayNotChange) {
  ErrorStatistics measured = small_errors();
  measured.mismatched_nonfinite = 3;
  EXPECT_EQ(what_is_wrong(measured, bounded_stream("abs 0.5", "0.5")),
            "3 NaN, infinite or fill values came back changed");
}

TEST(Verdict, AStreamWithoutAStoredErrorCannotBeChecked) {
  StreamInfo info = bounded_stream("abs 0.5", "0.5");
  info.statistics.clear();
  EXPECT_EQ(what_is_wrong(small_errors(), info), "the stream stores no l2_error to check against");
}

TEST(Verdict, AnErrorThatIsNoNumberBreaksEveryPromise) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  ErrorStatistics measured = small_errors();
  measured.max_abs_error = kNan;
  EXPECT_NE(what_is_wrong(measured, bounded_stream("psnr 20", "0.5")), "");
  measured = small_errors();
  measured.squared_error.sum = kNan;
  EXPECT_NE(what_is_wrong(measured, bounded_stream("psnr 20", "0.5")), "");
  measured = small_errors();
  measured.max_pointwise_error = kNan;
  EXPECT_NE(what_is_wrong(measured, bounded_stream("pw-rel 0.01", "0.014")), "");
}

}  // namespace
}  // namespace tensorpress::metrics
