#include "codecs/pack/parts.h"

#include <gtest/gtest.h>

#include <limits>

#include "unit/codecs/pack_samples.h"

namespace tensorpress {
namespace {

using samples::elements;
using samples::packed;

// Enough for four threads, and divisible by nothing.
constexpr std::size_t kCount = (std::size_t{5} << 18) + 77;

template <class Options>
std::vector<std::byte> packed_in_parts(const std::vector<std::byte>& values, const Options& options,
                                       std::size_t threads) {
  const std::size_t count = values.size() / sizeof(float);
  std::vector<std::byte> bytes(packed_size(count, options).value());
  EXPECT_EQ(pack_in_parts(DType::f32, values, options, bytes, threads).value(),
            PackOutcome::packed);
  return bytes;
}

template <class Options>
void expect_same(const std::vector<std::byte>& values, const Options& options) {
  const std::vector<std::byte> whole = packed(DType::f32, values, options);
  EXPECT_EQ(packed_in_parts(values, options, 4), whole);
  std::vector<std::byte> once(values.size());
  std::vector<std::byte> in_parts(values.size());
  ASSERT_TRUE(unpack(DType::f32, whole, options, once).ok());
  ASSERT_TRUE(unpack_in_parts(DType::f32, whole, options, {}, in_parts, 4).ok());
  EXPECT_EQ(in_parts, once);
}

TEST(PackInParts, BytesAndValuesAreThoseOfTheWhole) {
  const auto values = elements(DType::f32, samples::normal_values(kCount));
  for (const int bits : {1, 2, 3, 4, 5, 6, 8}) {
    expect_same(values, QuantizeOptions{.bits = bits, .rounding = Rounding::stochastic, .seed = 7});
  }
  expect_same(values, CastOptions{CastType::bf16});
  expect_same(values, SignOptions{});
  expect_same(elements(DType::f32, std::vector<float>(kCount, 2.0f)), MaskOptions{});
  expect_same({}, MaskOptions{});
  expect_same({}, QuantizeOptions{});
}

TEST(PackInParts, SignsAreRestoredOnTheWay) {
  const auto values = elements(DType::f32, samples::normal_values(kCount));
  const auto signs = packed(DType::f32, values, SignOptions{});
  const QuantizeOptions two_bits{.bits = 2};
  const auto bytes = packed(DType::f32, values, two_bits);
  std::vector<std::byte> after(values.size());
  ASSERT_TRUE(unpack(DType::f32, bytes, two_bits, after).ok());
  ASSERT_TRUE(restore_signs_in_parts(DType::f32, signs, after, 4).ok());
  std::vector<std::byte> on_the_way(values.size());
  ASSERT_TRUE(unpack_in_parts(DType::f32, bytes, two_bits, signs, on_the_way, 4).ok());
  EXPECT_EQ(on_the_way, after);
  EXPECT_EQ(packed(DType::f32, on_the_way, SignOptions{}), signs);
}

TEST(PackInParts, OnePartThatCannotBeRepresentedIsSaidOfAll) {
  auto floats = samples::normal_values(kCount);
  floats.back() = std::numeric_limits<float>::quiet_NaN();
  const auto values = elements(DType::f32, floats);
  std::vector<std::byte> bytes(packed_size(kCount, QuantizeOptions{}).value());
  EXPECT_EQ(pack_in_parts(DType::f32, values, QuantizeOptions{}, bytes, 4).value(),
            PackOutcome::not_representable);
}

}  // namespace
}  // namespace tensorpress
