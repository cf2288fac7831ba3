#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "tensorpress/tensor_view.h"

namespace tensorpress {
namespace {

std::vector<float> counting(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

// The elements of any view in C order, which is what copying into a contiguous tensor must give.
std::vector<float> elements_of(const TensorView& view) {
  std::vector<float> values(view.element_count(), -1.0F);
  copy_elements(view, *view_of(values, view.shape));
  return values;
}

TensorView fortran_view(const std::vector<float>& values, const Shape& shape) {
  TensorView view = *view_of(std::span<const float>(values), shape);
  std::int64_t step = sizeof(float);
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    view.strides[axis] = step;
    step *= static_cast<std::int64_t>(shape[axis]);
  }
  return view;
}

TEST(TensorView, ContiguousStridesAreBytesWithTheLastAxisFastest) {
  const Strides strides = contiguous_strides({2, 3, 4}, 8);
  EXPECT_EQ(strides[0], 96);
  EXPECT_EQ(strides[1], 32);
  EXPECT_EQ(strides[2], 8);
}

TEST(TensorView, OfAVectorOrArrayOrSpanIsMutableIfTheValuesAre) {
  std::vector<float> values = {1, 2, 3};
  const std::vector<float> constant = values;
  std::array<float, 3> array = {};
  static_assert(std::is_same_v<decltype(view_of(values, {3})), Result<MutableTensorView>>);
  static_assert(std::is_same_v<decltype(view_of(array, {3})), Result<MutableTensorView>>);
  static_assert(std::is_same_v<decltype(view_of(constant, {3})), Result<TensorView>>);
  static_assert(
      std::is_same_v<decltype(view_of(std::span<const float>(values), {3})), Result<TensorView>>);
  copy_elements(*view_of(values, {3}), *view_of(array, {3}));  // what may be written may be read
  EXPECT_EQ(array, (std::array<float, 3>{1, 2, 3}));
}

TEST(TensorView, OfAShapeThatDoesNotFitTheValuesIsAnErrorThatNamesBoth) {
  const std::vector<float> field(20 * 18 * 36);
  const auto wrong = view_of(field, {2000, 18, 36});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, ErrorCode::bad_argument);
  EXPECT_EQ(wrong.error().message,
            "the shape 2000x18x36 has 1296000 elements, and the range that it was given for has "
            "12960");
  EXPECT_TRUE(view_of(field, {20, 18, 36}).ok());
  EXPECT_FALSE(view_of(field, {}).ok());
  EXPECT_FALSE(view_of(field, {0}).ok());
}

template <class Values>
concept Viewable = requires(Values values) { view_of(static_cast<Values>(values), Shape{}); };

TEST(TensorView, TakesEverySupportedTypeFromEveryContiguousRange) {
  std::vector<double> doubles(6);
  const std::array<std::uint8_t, 6> bytes = {};
  std::int16_t shorts[6] = {};
  EXPECT_EQ(view_of(doubles, {2, 3})->dtype, DType::f64);
  EXPECT_EQ(view_of(doubles, {2, 3})->data, reinterpret_cast<std::byte*>(doubles.data()));
  EXPECT_EQ(view_of(bytes, {6})->dtype, DType::u8);
  EXPECT_EQ(view_of(shorts, {6})->dtype, DType::i16);
  EXPECT_EQ(view_of(std::span(shorts).first(4), {4})->byte_count(), 8u);
  static_assert(Viewable<std::vector<float>&>);
  static_assert(!Viewable<std::vector<float>>);  // the view would outlive the vector
  static_assert(!Viewable<std::vector<std::int64_t>&>);
}

TEST(TensorView, KnowsWhetherItIsContiguous) {
  const auto values = counting(24);
  const TensorView view = *view_of(values, {2, 3, 4});
  EXPECT_TRUE(view.is_contiguous());
  EXPECT_TRUE(view.part({{1, 0, 0}, {1, 3, 4}}).is_contiguous());
  EXPECT_FALSE(view.part({{0, 1, 0}, {2, 1, 4}}).is_contiguous());
  EXPECT_FALSE(view.part({{0, 0, 1}, {1, 3, 2}}).is_contiguous());
  EXPECT_FALSE(fortran_view(values, {2, 3, 4}).is_contiguous());
}

TEST(TensorView, StridesOfAxesWithOneElementDoNotMatter) {
  const auto values = counting(6);
  TensorView view = *view_of(values, {1, 6, 1});
  view.strides[0] = -12345;
  view.strides[2] = 999;
  EXPECT_TRUE(view.is_contiguous());
  EXPECT_EQ(elements_of(view), values);
}

TEST(TensorView, WithoutElementsIsContiguousWhateverItsStrides) {
  TensorView view = TensorView::contiguous(nullptr, DType::f32, {4, 0, 3});
  view.strides = {7, 7, 7};
  EXPECT_TRUE(view.is_contiguous());
  EXPECT_EQ(view.byte_count(), 0U);
  EXPECT_TRUE(elements_of(view).empty());
}

TEST(TensorView, OfZeroDimensionsHasOneElement) {
  const std::vector<float> values = {42.0F};
  const TensorView view = *view_of(values, {});
  EXPECT_EQ(view.byte_count(), 4U);
  EXPECT_TRUE(view.is_contiguous());
  EXPECT_EQ(elements_of(view), values);
}

TEST(TensorView, PartIsTheBoxAtItsOrigin) {
  const auto values = counting(24);
  const TensorView part = view_of(values, {2, 3, 4})->part({{1, 1, 2}, {1, 2, 2}});
  EXPECT_EQ(elements_of(part), (std::vector<float>{18, 19, 22, 23}));
  EXPECT_EQ(elements_of(part.part({{0, 1, 1}, {1, 1, 1}})), (std::vector<float>{23}));
}

TEST(TensorView, PartOfTheWholeIsTheWhole) {
  const auto values = counting(24);
  const TensorView view = *view_of(values, {2, 3, 4});
  EXPECT_EQ(elements_of(view.part(Region::whole(view.shape))), values);
}

TEST(CopyElements, ReadsFortranOrder) {
  const std::vector<float> values = {0, 3, 1, 4, 2, 5};  // [[0, 1, 2], [3, 4, 5]], column by column
  EXPECT_EQ(elements_of(fortran_view(values, {2, 3})), counting(6));
}

TEST(CopyElements, ReadsNegativeStrides) {
  const auto values = counting(6);
  TensorView view = *view_of(values, {2, 3});
  view.data += 5 * sizeof(float);  // numpy: values[::-1, ::-1]
  view.strides = {-12, -4};
  EXPECT_EQ(elements_of(view), (std::vector<float>{5, 4, 3, 2, 1, 0}));
  EXPECT_FALSE(view.is_contiguous());
  EXPECT_EQ(elements_of(view.part({{1, 0}, {1, 2}})), (std::vector<float>{2, 1}));
}

TEST(CopyElements, RepeatsElementsWithAStrideOfZero) {
  const auto values = counting(3);
  TensorView view = *view_of(values, {1, 3});
  view.shape = {2, 3};
  view.strides = {0, 4};  // numpy: broadcast_to(values, (2, 3))
  EXPECT_EQ(elements_of(view), (std::vector<float>{0, 1, 2, 0, 1, 2}));
}

TEST(CopyElements, WritesIntoStridedOutputAndNothingElse) {
  const auto values = counting(4);
  std::vector<float> target(12, -1.0F);
  const MutableTensorView whole = *view_of(std::span<float>(target), {3, 4});
  copy_elements(*view_of(values, {2, 2}), whole.part({{1, 1}, {2, 2}}));
  EXPECT_EQ(target, (std::vector<float>{-1, -1, -1, -1, -1, 0, 1, -1, -1, 2, 3, -1}));
}

TEST(CopyElements, CopiesFortranOrderIntoReversedOutput) {
  const std::vector<float> values = {0, 3, 1, 4, 2, 5};
  std::vector<float> target(6, -1.0F);
  MutableTensorView reversed = *view_of(std::span<float>(target), {2, 3});
  reversed.data += 5 * sizeof(float);
  reversed.strides = {-12, -4};
  copy_elements(fortran_view(values, {2, 3}), reversed);
  EXPECT_EQ(target, (std::vector<float>{5, 4, 3, 2, 1, 0}));
}

TEST(CopyElements, WorksInEightDimensionsForEveryElementSize) {
  const Shape shape = {2, 1, 3, 2, 1, 2, 2, 3};
  for (const DType dtype : {DType::u8, DType::i16, DType::f32, DType::f64}) {
    const std::size_t size = size_of(dtype);
    std::vector<std::byte> source(shape.element_count() * size);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 37);
    std::vector<std::byte> target(source.size());
    const TensorView from = TensorView::contiguous(source.data(), dtype, shape);
    MutableTensorView to = MutableTensorView::contiguous(target.data(), dtype, shape);
    // Mirror the first axis on both sides: the copy must not notice.
    TensorView mirrored = from;
    mirrored.data += mirrored.strides[0];
    mirrored.strides[0] = -mirrored.strides[0];
    to.data += to.strides[0];
    to.strides[0] = -to.strides[0];
    copy_elements(mirrored, to);
    EXPECT_EQ(source, target) << name_of(dtype);
  }
}

}  // namespace
}  // namespace tensorpress
