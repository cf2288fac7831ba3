#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/errors.h"
#include "tensorpress/result.h"

namespace tensorpress {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return bad_argument(number, " is odd");
  return number / 2;
}

Result<int> quarter(int number) {
  TRY(const int halved, half(number));
  TRY(const int quartered, half(halved));
  return quartered;
}

Result<void> check_quarter(int number) {
  RETURN_IF_ERROR(quarter(number));
  return {};
}

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> good = half(6);
  ASSERT_TRUE(good.ok());
  EXPECT_TRUE(static_cast<bool>(good));
  EXPECT_EQ(good.value(), 3);
  EXPECT_EQ(*good, 3);
  const Result<int> bad = half(7);
  ASSERT_FALSE(bad.ok());
  EXPECT_FALSE(static_cast<bool>(bad));
  EXPECT_EQ(bad.error().code, ErrorCode::bad_argument);
  EXPECT_EQ(bad.error().message, "7 is odd");
}

TEST(Result, OfVoidIsFineUntilAnErrorIsGiven) {
  EXPECT_TRUE(Result<void>().ok());
  const Result<void> bad = corrupt("chunk ", 17);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code, ErrorCode::corrupt);
  EXPECT_EQ(bad.error().message, "chunk 17");
}

TEST(Result, MovesValuesThatCannotBeCopied) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  ASSERT_TRUE(result.ok());
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 5);
}

TEST(Result, AValueMayBeAnErrorsTextItself) {
  const Result<std::string> text = std::string("all is well");
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->size(), 11U);
}

// In every build: a release must not read what is not there.
TEST(ResultDeathTest, TakenWithoutAValueEndsTheProgramWithTheErrorsMessage) {
  const Result<int> bad = half(7);
  EXPECT_DEATH((void)*bad, "holds an error .bad_argument.: 7 is odd");
  EXPECT_DEATH((void)bad.value(), "7 is odd");
  EXPECT_DEATH((void)half(9).value(), "9 is odd");
  const Result<std::string> no_text = corrupt("chunk ", 17);
  EXPECT_DEATH((void)no_text->size(), "chunk 17");
  EXPECT_DEATH(Result<void>(corrupt("chunk ", 18)).value(), "chunk 18");
}

TEST(ResultDeathTest, TakenAsAnErrorWithoutOneEndsTheProgramWithAMessage) {
  const Result<int> good = half(6);
  EXPECT_DEATH((void)good.error(), "holds none");
  EXPECT_DEATH((void)Result<void>().error(), "holds none");
}

TEST(Try, GivesTheValueOrReturnsTheFirstError) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(5).error().message, "5 is odd");
  EXPECT_EQ(quarter(6).error().message, "3 is odd");
}

TEST(Try, ReturnIfErrorPassesErrorsOnAndDropsValues) {
  EXPECT_TRUE(check_quarter(8).ok());
  EXPECT_EQ(check_quarter(6).error().message, "3 is odd");
}

TEST(Errors, EveryMakerGivesItsOwnCode) {
  EXPECT_EQ(bad_argument("").code, ErrorCode::bad_argument);
  EXPECT_EQ(unsupported("").code, ErrorCode::unsupported);
  EXPECT_EQ(truncated("").code, ErrorCode::truncated);
  EXPECT_EQ(corrupt("").code, ErrorCode::corrupt);
  EXPECT_EQ(too_large("").code, ErrorCode::too_large);
  EXPECT_EQ(io_error("").code, ErrorCode::io);
  EXPECT_EQ(internal_error("").code, ErrorCode::internal);
  EXPECT_EQ(likely_fill("").code, ErrorCode::likely_fill);
}

TEST(Errors, NamesAreThoseOfTheCodes) {
  EXPECT_EQ(error_name(ErrorCode::bad_argument), "bad_argument");
  EXPECT_EQ(error_name(ErrorCode::unsupported), "unsupported");
  EXPECT_EQ(error_name(ErrorCode::truncated), "truncated");
  EXPECT_EQ(error_name(ErrorCode::corrupt), "corrupt");
  EXPECT_EQ(error_name(ErrorCode::too_large), "too_large");
  EXPECT_EQ(error_name(ErrorCode::io), "io");
  EXPECT_EQ(error_name(ErrorCode::internal), "internal");
  EXPECT_EQ(error_name(ErrorCode::likely_fill), "likely_fill");
}

}  // namespace
}  // namespace tensorpress
