// Planes of numbers as pictures: colours, excerpts, and PNG that reads back.
#include "report/drawing/picture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <numeric>

#include "report/drawing/color_map.h"
#include "report/drawing/excerpt.h"

namespace tensorpress::report {
namespace {

std::vector<std::uint8_t> decoded_base64(std::string_view digits) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::uint8_t> bytes;
  unsigned bits = 0;
  int held = 0;
  for (const char digit : digits) {
    if (digit == '=') break;
    bits = bits << 6 | static_cast<unsigned>(kAlphabet.find(digit));
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes.push_back(static_cast<std::uint8_t>(bits >> held));
  }
  return bytes;
}

TEST(ColorMap, LightnessOfTheSequentialMapRises) {
  for (int i = 1; i <= 100; ++i) {
    EXPECT_GT(luminance(color_at(ColorMap::sequential, i / 100.0)),
              luminance(color_at(ColorMap::sequential, (i - 1) / 100.0)))
        << i;
  }
}

TEST(ColorMap, DivergingMapIsWhiteInTheMiddleAndDarkensBothWays) {
  EXPECT_EQ(color_at(ColorMap::diverging, 0.5), (Rgb{255, 255, 255}));
  const Rgb low = color_at(ColorMap::diverging, 0);
  const Rgb high = color_at(ColorMap::diverging, 1);
  EXPECT_GT(low.blue, low.red);
  EXPECT_GT(high.red, high.blue);
}

TEST(ColorMap, ClampsAndMarksNan) {
  EXPECT_EQ(color_at(ColorMap::grey, -1), (Rgb{0, 0, 0}));
  EXPECT_EQ(color_at(ColorMap::grey, 2), (Rgb{255, 255, 255}));
  const Rgb nan = color_at(ColorMap::grey, std::nan(""));
  EXPECT_NE(nan.red, nan.green);
}

TEST(ColorMap, WritesCssAndLuminance) {
  EXPECT_EQ(css({0, 114, 178}), "#0072b2");
  EXPECT_DOUBLE_EQ(luminance({0, 0, 0}), 0);
  EXPECT_NEAR(luminance({255, 255, 255}), 1, 1e-12);
  EXPECT_NEAR(luminance({255, 0, 0}), 0.2126, 1e-12);  // WCAG 2
}

TEST(Paint, GreyMapsTheScaleLinearly) {
  const Plane plane{.height = 1, .width = 5, .values = {-10, 0, 5, 10, 99}};
  const files::Image image = paint(plane, {.low = 0, .high = 10, .map = ColorMap::grey});
  EXPECT_EQ(image.channels, 1u);
  EXPECT_EQ(image.pixels, (std::vector<std::uint8_t>{0, 0, 128, 255, 255}));
}

TEST(Paint, ConstantPlaneHasAColor) {
  const Plane plane{.height = 1, .width = 1, .values = {7}};
  EXPECT_EQ(paint(plane, {.low = 7, .high = 7, .map = ColorMap::grey}).pixels[0], 128);
}

TEST(PngDataUri, HoldsAPngThatReadsBackPixelForPixel) {
  Plane plane{.height = 5, .width = 7, .values = std::vector<float>(35)};
  std::iota(plane.values.begin(), plane.values.end(), 0.0F);
  const files::Image painted = paint(plane, {.low = 0, .high = 34});
  const auto uri = png_data_uri(painted);
  ASSERT_TRUE(uri.ok()) << uri.error().message;
  const std::string_view prefix = "data:image/png;base64,";
  ASSERT_EQ(uri->substr(0, prefix.size()), prefix);
  const auto bytes = decoded_base64(std::string_view(*uri).substr(prefix.size()));
  const std::vector<std::uint8_t> signature = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  ASSERT_GE(bytes.size(), signature.size());
  EXPECT_TRUE(std::equal(signature.begin(), signature.end(), bytes.begin()));

  const std::string path = testing::TempDir() + "report_picture_test.png";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  const auto read = files::read_png(path);
  std::remove(path.c_str());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->width, 7u);
  EXPECT_EQ(read->height, 5u);
  EXPECT_EQ(read->channels, 3u);
  EXPECT_EQ(read->pixels, painted.pixels);
}

TEST(Excerpt, OfASmallTensorIsTheWholeFirstPlane) {
  std::vector<float> values(2 * 70 * 80);
  std::iota(values.begin(), values.end(), 0.0F);
  const TensorView tensor = *view_of(std::span<const float>(values), {2, 70, 80});
  const Excerpt excerpt = choose_excerpt(tensor, 100, 100);
  const Plane plane = take_excerpt(tensor, excerpt);
  EXPECT_EQ(plane.height, 70u);
  EXPECT_EQ(plane.width, 80u);
  EXPECT_TRUE(std::equal(plane.values.begin(), plane.values.end(), values.begin()));
  EXPECT_EQ(excerpt.description(tensor.shape), "the first of 2 planes");
}

TEST(Excerpt, OfALargePlaneIsWhereTheDetailIs) {
  // A steep, smooth slope at the left; one spike at the lower right.
  std::vector<float> values(200 * 300);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = 0.1F * static_cast<float>(std::max<int>(0, 150 - static_cast<int>(i % 300)));
  }
  values[150 * 300 + 280] = 100;
  const TensorView tensor = *view_of(std::span<const float>(values), {200, 300});
  const Excerpt excerpt = choose_excerpt(tensor, 100, 100);
  EXPECT_LE(excerpt.top, 150u);
  EXPECT_GT(excerpt.top + excerpt.height, 150u);
  EXPECT_LE(excerpt.left, 280u);
  EXPECT_GT(excerpt.left + excerpt.width, 280u);
}

TEST(Excerpt, OfManySmallPlanesIsASheet) {
  std::vector<std::uint8_t> values(10 * 2 * 3);
  std::iota(values.begin(), values.end(), std::uint8_t{0});
  const auto tensor = TensorView::contiguous(reinterpret_cast<const std::byte*>(values.data()),
                                             DType::u8, {10, 2, 3});
  const Excerpt excerpt = choose_excerpt(tensor, 100, 100);
  EXPECT_EQ(excerpt.planes, 10u);
  const Plane sheet = take_excerpt(tensor, excerpt);
  EXPECT_EQ(sheet.height, 4u);  // two rows of planes, eight planes in a row
  EXPECT_EQ(sheet.width, 24u);
  EXPECT_EQ(sheet.values[0], 0);
  EXPECT_EQ(sheet.values[3], 6);                      // first element of plane 1
  EXPECT_EQ(sheet.values[24], 3);                     // second row of plane 0
  EXPECT_EQ(sheet.values[2 * 24 + 4], 55);            // plane 9, first row, second element
  EXPECT_TRUE(std::isnan(sheet.values[2 * 24 + 6]));  // no plane there
}

TEST(Excerpt, FollowsStrides) {
  const std::vector<float> values = {0, 1, 2, 3, 4, 5};
  TensorView transposed = *view_of(std::span<const float>(values), {3, 2});
  transposed.strides[0] = 4;
  transposed.strides[1] = 12;
  EXPECT_EQ(take_excerpt(transposed, choose_excerpt(transposed, 9, 9)).values,
            (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST(Excerpt, OfVectorsScalarsAndEmptyTensorsIsARow) {
  const std::vector<float> values = {1, 2, 3};
  const std::span<const float> span(values);
  EXPECT_EQ(take_excerpt(*view_of(span, {3}), choose_excerpt(*view_of(span, {3}), 9, 9)).values,
            values);
  const TensorView scalar = *view_of(span.first(1), {});
  EXPECT_EQ(take_excerpt(scalar, choose_excerpt(scalar, 9, 9)).values, std::vector<float>{1});
  const TensorView empty = *view_of(span.first(0), {0, 5});
  EXPECT_TRUE(take_excerpt(empty, choose_excerpt(empty, 9, 9)).values.empty());
}

}  // namespace
}  // namespace tensorpress::report
