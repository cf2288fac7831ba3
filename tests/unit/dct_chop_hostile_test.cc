// Payloads of codec dct-chop that no writer makes: the same on every instruction set.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/bytes.h"
#include "codecs/registry.h"
#include "tensorpress/codec.h"

namespace tensorpress {
namespace {

constexpr std::size_t kSide = 24;

struct Decoded {
  bool ok = false;
  std::string message;
  std::vector<std::uint32_t> bits;
};

Decoded decoded(const ChunkCodec& codec, std::span<const float> coefficients, Isa isa) {
  std::vector<std::byte> payload(coefficients.size_bytes());
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    store_le(payload.data() + 4 * i, std::bit_cast<std::uint32_t>(coefficients[i]));
  }
  Decoded result;
  result.bits.resize(kSide * kSide);
  const auto target = MutableTensorView::contiguous(
      std::as_writable_bytes(std::span(result.bits)).data(), DType::f32, {kSide, kSide});
  ChunkWorkspace workspace(isa);
  const auto done = codec.decompress(payload, target, workspace);
  result.ok = done.ok();
  if (!done.ok()) result.message = done.error().message;
  return result;
}

// What NaN becomes in a sum depends on the instruction set (found by fuzzing).
TEST(DctChopPayload, ACoefficientThatIsNotFiniteIsCorrupt) {
  const auto codec = create_chunk_codec(Codec::dct_chop({.chop_factor = 4}).value()).value();
  for (const Isa isa : usable_isas()) {
    for (const float bad : {NAN, -NAN, HUGE_VALF, -HUGE_VALF}) {
      for (const std::size_t place : {0u, 77u, 143u}) {
        std::vector<float> coefficients(144, 1.0f);
        coefficients[place] = bad;
        const auto result = decoded(*codec, coefficients, isa);
        ASSERT_FALSE(result.ok);
        EXPECT_NE(result.message.find("coefficient"), std::string::npos) << result.message;
      }
    }
  }
}

TEST(DctChopPayload, SumsThatOverflowGiveTheSameBitsOnEveryInstructionSet) {
  const auto codec = create_chunk_codec(Codec::dct_chop({.chop_factor = 4}).value()).value();
  std::vector<float> coefficients(144);
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    coefficients[i] = (i % 3 == 0 ? -1.0f : 1.0f) * std::numeric_limits<float>::max();
  }
  const auto expected = decoded(*codec, coefficients, Isa::scalar);
  ASSERT_TRUE(expected.ok);
  bool some_nan = false;
  for (const std::uint32_t bits : expected.bits)
    some_nan = some_nan || std::isnan(std::bit_cast<float>(bits));
  EXPECT_TRUE(some_nan);
  for (const Isa isa : usable_isas()) {
    const auto actual = decoded(*codec, coefficients, isa);
    EXPECT_TRUE(actual.bits == expected.bits) << name_of(isa);
  }
}

}  // namespace
}  // namespace tensorpress
