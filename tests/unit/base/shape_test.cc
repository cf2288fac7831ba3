#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tensorpress/dtype.h"
#include "tensorpress/tensor_view.h"

namespace tensorpress {
namespace {

Result<Shape> make(std::vector<std::uint64_t> extents) {
  return Shape::make(extents);
}

TEST(Shape, CountsItsElements) {
  EXPECT_EQ(Shape({20, 180, 360}).element_count(), 20U * 180 * 360);
  EXPECT_EQ(Shape().element_count(), 1U);
  EXPECT_EQ(Shape({3, 0, 5}).element_count(), 0U);
}

TEST(Shape, HasUpToEightDimensions) {
  EXPECT_EQ(make({1, 2, 3, 4, 5, 6, 7, 8}).value().element_count(), 40320U);
  const auto nine = make({1, 1, 1, 1, 1, 1, 1, 1, 1});
  ASSERT_FALSE(nine.ok());
  EXPECT_EQ(nine.error().code, ErrorCode::bad_argument);
  EXPECT_EQ(nine.error().message, "9 dimensions are too many; the limit is 8");
}

TEST(Shape, HasAtMost2To59Elements) {
  const std::uint64_t half = std::uint64_t{1} << 29;
  EXPECT_EQ(make({half, 2 * half}).value().element_count(), std::uint64_t{1} << 59);
  const auto beyond = make({half, 2 * half, 2});
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.error().code, ErrorCode::too_large);
}

TEST(Shape, RefusesProductsThatWrapAroundToSomethingSmall) {
  const std::uint64_t two_to_32 = std::uint64_t{1} << 32;
  EXPECT_FALSE(make({two_to_32, two_to_32}).ok());             // 2^64 wraps to 0
  EXPECT_FALSE(make({two_to_32 + 1, two_to_32 - 1, 3}).ok());  // wraps too
  EXPECT_FALSE(make({UINT64_MAX}).ok());
  EXPECT_FALSE(make({UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}).ok());
}

TEST(Shape, AnEmptyTensorMayNotHideAnAbsurdExtent) {
  EXPECT_TRUE(make({0, 1000}).ok());
  EXPECT_FALSE(make({0, UINT64_MAX}).ok());
  EXPECT_FALSE(make({UINT64_MAX, 0}).ok());
}

TEST(Shape, IsReadFromTextAndWrittenBack) {
  for (const std::string text : {"20x180x360", "0", "1x1", "8x7x6x5x4x3x2x1"}) {
    const auto shape = Shape::parse(text);
    ASSERT_TRUE(shape.ok()) << text;
    EXPECT_EQ(shape->to_string(), text);
  }
  EXPECT_EQ(Shape::parse("20,180,360").value(), Shape({20, 180, 360}));
  EXPECT_EQ(Shape::parse("").value().rank(), 0U);
  EXPECT_EQ(Shape().to_string(), "scalar");
}

TEST(Shape, RefusesTextsThatAreNoShapes) {
  for (const std::string text :
       {"x", "3x", "x3", "3xx4", "3x4 ", " 3", "-3", "3x-4", "3.5", "3*4", "1e3", "abc", "3x4y"}) {
    const auto shape = Shape::parse(text);
    ASSERT_FALSE(shape.ok()) << text;
    EXPECT_EQ(shape.error().code, ErrorCode::bad_argument) << text;
    EXPECT_NE(shape.error().message.find("'" + text + "'"), std::string::npos)
        << shape.error().message;
  }
}

TEST(Shape, RefusesTextsWithTooManyOrTooLargeNumbers) {
  EXPECT_EQ(Shape::parse("1x2x3x4x5x6x7x8x9").error().message,
            "9 dimensions are too many; the limit is 8");
  EXPECT_FALSE(Shape::parse("1x2x3x4x5x6x7x8x9x10").ok());
  EXPECT_FALSE(Shape::parse("18446744073709551616").ok());  // 2^64
  EXPECT_FALSE(Shape::parse("4294967296x4294967296").ok());
}

TEST(Shape, ComparesRankAndExtents) {
  EXPECT_EQ(Shape({2, 3}), Shape({2, 3}));
  EXPECT_NE(Shape({2, 3}), Shape({3, 2}));
  EXPECT_NE(Shape({2, 3}), Shape({2, 3, 0}));
}

TEST(DType, NamesAndNumPyNamesAreRead) {
  const std::array<std::pair<const char*, DType>, 6> numpy = {{{"float32", DType::f32},
                                                               {"float64", DType::f64},
                                                               {"float16", DType::f16},
                                                               {"bfloat16", DType::bf16},
                                                               {"uint8", DType::u8},
                                                               {"int16", DType::i16}}};
  for (const auto& [name, dtype] : numpy) {
    EXPECT_EQ(parse_dtype(name).value(), dtype);
    EXPECT_EQ(parse_dtype(name_of(dtype)).value(), dtype);
  }
  EXPECT_EQ(parse_dtype("f33").error().message,
            "'f33' is not a type; use f32, f64, f16, bf16, u8 or i16");
}

TEST(DType, NumbersInStreamsNeverChange) {
  EXPECT_EQ(dtype_from_number(1).value(), DType::f32);
  EXPECT_EQ(dtype_from_number(2).value(), DType::f64);
  EXPECT_EQ(dtype_from_number(3).value(), DType::f16);
  EXPECT_EQ(dtype_from_number(4).value(), DType::bf16);
  EXPECT_EQ(dtype_from_number(5).value(), DType::u8);
  EXPECT_EQ(dtype_from_number(6).value(), DType::i16);
  for (const int number : {0, 7, 255}) {
    EXPECT_EQ(dtype_from_number(static_cast<std::uint8_t>(number)).error().code,
              ErrorCode::unsupported);
  }
}

TEST(DType, SizesAreThoseOfTheElements) {
  EXPECT_EQ(size_of(DType::f64), 8U);
  EXPECT_EQ(size_of(DType::f32), 4U);
  EXPECT_EQ(size_of(DType::f16), 2U);
  EXPECT_EQ(size_of(DType::bf16), 2U);
  EXPECT_EQ(size_of(DType::i16), 2U);
  EXPECT_EQ(size_of(DType::u8), 1U);
}

}  // namespace
}  // namespace tensorpress
