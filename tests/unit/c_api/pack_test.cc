// Packed values through C: the same bytes as through C++, and bad arguments that end in an error.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tensorpress/pack.h"
#include "tensorpress/tensorpress.h"

namespace {

std::vector<float> waves() {
  std::vector<float> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(static_cast<float>(i) * 0.05F);
  }
  return values;
}

tensorpress_pack_options defaults() {
  tensorpress_pack_options options;
  tensorpress_pack_options_init(&options, sizeof options);
  return options;
}

std::vector<std::byte> packed(const std::vector<float>& values,
                              const tensorpress_pack_options& options) {
  tensorpress_error error;
  std::size_t bytes = 0;
  EXPECT_EQ(tensorpress_packed_size(values.size(), &options, &bytes, &error), TENSORPRESS_OK)
      << error.message;
  std::vector<std::byte> result(bytes);
  int representable = 0;
  EXPECT_EQ(tensorpress_pack(values.data(), TENSORPRESS_F32, values.size(), &options, result.data(),
                             result.size(), &representable, &error),
            TENSORPRESS_OK)
      << error.message;
  EXPECT_EQ(representable, 1);
  return result;
}

template <class Options>
std::vector<std::byte> packed_in_cpp(const std::vector<float>& values, const Options& options) {
  std::vector<std::byte> result(tensorpress::packed_size(values.size(), options).value());
  EXPECT_EQ(tensorpress::pack(std::span<const float>(values), options, result).value(),
            tensorpress::PackOutcome::packed);
  return result;
}

TEST(CApiPack, BytesAreThoseOfCpp) {
  const auto values = waves();
  auto options = defaults();
  EXPECT_EQ(packed(values, options), packed_in_cpp(values, tensorpress::QuantizeOptions{}));
  options.bits = 2;
  options.group = 128;
  options.stochastic = 1;
  options.seed = 7;
  EXPECT_EQ(
      packed(values, options),
      packed_in_cpp(
          values,
          tensorpress::QuantizeOptions{
              .bits = 2, .group = 128, .rounding = tensorpress::Rounding::stochastic, .seed = 7}));
  options = defaults();
  options.packing = TENSORPRESS_CAST;
  for (const auto& [c, cpp] : {std::pair{TENSORPRESS_CAST_F16, tensorpress::CastType::f16},
                               {TENSORPRESS_CAST_BF16, tensorpress::CastType::bf16},
                               {TENSORPRESS_CAST_E4M3, tensorpress::CastType::e4m3},
                               {TENSORPRESS_CAST_E5M2, tensorpress::CastType::e5m2}}) {
    options.cast_to = c;
    EXPECT_EQ(packed(values, options), packed_in_cpp(values, tensorpress::CastOptions{cpp})) << c;
  }
  options.packing = TENSORPRESS_SIGNS;
  EXPECT_EQ(packed(values, options), packed_in_cpp(values, tensorpress::SignOptions{}));
}

TEST(CApiPack, ValuesComeBackWithinHalfAStep) {
  const auto values = waves();
  const auto options = defaults();
  const auto bytes = packed(values, options);
  std::vector<float> back(values.size());
  tensorpress_error error;
  ASSERT_EQ(tensorpress_unpack(bytes.data(), bytes.size(), &options, back.data(), TENSORPRESS_F32,
                               back.size(), &error),
            TENSORPRESS_OK)
      << error.message;
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(back[i], values[i], 2.2 / 15 / 2);
}

TEST(CApiPack, NanIsToldAndNotAnError) {
  auto values = waves();
  values[17] = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::byte> room(2000);
  const auto options = defaults();
  std::size_t bytes = 0;
  ASSERT_EQ(tensorpress_packed_size(values.size(), &options, &bytes, nullptr), TENSORPRESS_OK);
  int representable = 1;
  EXPECT_EQ(tensorpress_pack(values.data(), TENSORPRESS_F32, values.size(), &options, room.data(),
                             bytes, &representable, nullptr),
            TENSORPRESS_OK);
  EXPECT_EQ(representable, 0);
}

TEST(CApiPack, BadArgumentsAreErrorsThatNameThem) {
  const auto values = waves();
  std::vector<std::byte> room(4000);
  tensorpress_error error;
  int representable = 0;
  const auto refused = [&](const tensorpress_pack_options& options) {
    return tensorpress_pack(values.data(), TENSORPRESS_F32, values.size(), &options, room.data(),
                            room.size(), &representable, &error) == TENSORPRESS_BAD_ARGUMENT;
  };
  auto options = defaults();
  options.packing = 9;
  EXPECT_TRUE(refused(options));
  EXPECT_NE(std::string(error.message).find("packing is 9"), std::string::npos) << error.message;
  options = defaults();
  options.bits = 3;
  EXPECT_TRUE(refused(options)) << error.message;
  options = defaults();
  options.stochastic = 2;
  EXPECT_TRUE(refused(options)) << error.message;
  options = defaults();
  options.packing = TENSORPRESS_CAST;
  options.cast_to = -1;
  EXPECT_TRUE(refused(options)) << error.message;
  options = defaults();  // the room has not the size that is needed
  EXPECT_TRUE(refused(options)) << error.message;
  EXPECT_EQ(tensorpress_pack(nullptr, TENSORPRESS_F32, 5, nullptr, room.data(), room.size(),
                             &representable, &error),
            TENSORPRESS_BAD_ARGUMENT);
  EXPECT_EQ(tensorpress_pack(values.data(), 99, 5, nullptr, room.data(), room.size(),
                             &representable, &error),
            TENSORPRESS_BAD_ARGUMENT);
  EXPECT_EQ(tensorpress_packed_size(5, nullptr, nullptr, &error), TENSORPRESS_BAD_ARGUMENT);
  EXPECT_EQ(tensorpress_unpack(nullptr, 8, nullptr, room.data(), TENSORPRESS_F32, 4, &error),
            TENSORPRESS_BAD_ARGUMENT);
}

}  // namespace
