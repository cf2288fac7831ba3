#include "codecs/ceresz/ceresz.h"

#include <gtest/gtest.h>

#include "codecs/ceresz/block.h"
#include "codecs/ceresz/chunk_shape.h"
#include "codecs/ceresz/cuszp_size.h"
#include "unit/codecs/field_coder_checks.h"

namespace tensorpress {
namespace {

using bounded::check_hostile_bytes;
using bounded::check_round_trip;
using bounded::NamedField;
using bounded::telling_bounds;
using bounded::telling_fields;

template <class T>
class CereszOf : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(CereszOf, Types);

TYPED_TEST(CereszOf, KeepsTheBoundAndItsBytesOnEveryIsa) {
  const auto coder = make_ceresz();
  for (const std::size_t count : {1, 31, 32, 33, 64, 997, 4099}) {
    for (const auto& field : telling_fields<TypeParam>(count)) {
      for (const double bound : telling_bounds<TypeParam>()) {
        check_round_trip(*coder, field, bound);
        // Room for anything shows what expands, too.
        check_round_trip(*coder, field, bound, count * sizeof(TypeParam) + count / 2 + 300);
      }
    }
  }
}

TYPED_TEST(CereszOf, FitsAnyRoomOrSaysSo) {
  const auto coder = make_ceresz();
  for (const auto& field : telling_fields<TypeParam>(140)) {
    const std::size_t size = check_round_trip(*coder, field, 1e-2, 5000);
    ASSERT_GT(size, 0u);
    EXPECT_EQ(size, check_round_trip(*coder, field, 1e-2, size));
    for (std::size_t room = 1; room < size; ++room) {
      ASSERT_FALSE(bounded::encode_checked(*coder, field.values, 1e-2, detected_isa(), room));
    }
  }
}

TYPED_TEST(CereszOf, SurvivesHostileBytes) {
  const auto coder = make_ceresz();
  for (const auto& field : telling_fields<TypeParam>(173)) {
    if (field.name != "spikes" && field.name != "wave") continue;
    const auto coded = bounded::encode_checked(*coder, field.values, 1e-3, Isa::scalar, 5000);
    ASSERT_TRUE(coded);
    check_hostile_bytes<TypeParam>(*coder, *coded, field.values.size(), 1e-3);
  }
}

TYPED_TEST(CereszOf, TakesTheSizeItsFormatSays) {
  using T = TypeParam;
  const auto coder = make_ceresz();
  NamedField<T> zeros{"zeros", std::vector<T>(3200, T(1e-5))};
  EXPECT_EQ(1u + 100u, check_round_trip(*coder, zeros, 1e-4));
  // Quanta 0 1 2 ... 31: differences of 1 have zigzag code 2, which needs two planes.
  const auto step = kernels::bitplane::make_quantizer<T>(0.5, 0).step;
  NamedField<T> ramp{"ramp", {}};
  for (int i = 0; i < 3200; ++i) ramp.values.push_back(static_cast<T>(i % 32) * step);
  EXPECT_EQ(1u + 100u + 100u * 2 * 4, check_round_trip(*coder, ramp, 0.5));
  // cuSZp: a length byte, signs and one plane.
  EXPECT_EQ(100u * (1 + 4 + 4), ceresz::cuszp_size<T>(ramp.values, 0.5));
  EXPECT_EQ(100u, ceresz::cuszp_size<T>(zeros.values, 1e-4));
}

TEST(Ceresz, KeepsSmallBoundsInDoublesWithoutRawBlocks) {
  NamedField<double> wave{"wave", {}};
  for (int i = 0; i < 4096; ++i) wave.values.push_back(std::sin(0.001 * i));
  const std::size_t size = check_round_trip(*make_ceresz(), wave, 2e-10);
  EXPECT_GT(size, 0u);
  EXPECT_LT(size, 4096u * 5);
}

TEST(Ceresz, OffsetsDoNotTurnBlocksRaw) {
  // 287 K with a range of 2 K at REL 1e-4: quanta around 7e5 leave little of a float's digits.
  NamedField<float> field{"offset", {}};
  for (int i = 0; i < 65536; ++i) {
    field.values.push_back(static_cast<float>(287 + std::sin(0.01 * i)));
  }
  const std::size_t size = check_round_trip(*make_ceresz(), field, 2e-4);
  EXPECT_LT(size, 65536u * 4 * 22 / 32);
}

TEST(CereszBlock, IsWhatTheCodecStores) {
  std::array<float, 32> values;
  for (std::size_t i = 0; i < 32; ++i) values[i] = static_cast<float>(i * i);
  const auto quantizer = ceresz::make_quantizer<float>(0.5, 0);
  const auto block = ceresz::encode_block<float>(values, quantizer);
  EXPECT_EQ(4u * block.width, block.bytes);
  std::vector<std::byte> output(256);
  ChunkWorkspace workspace(detected_isa());
  const bounded::Field<float> field{values, Shape{32}};
  const auto bytes = make_ceresz()->encode(field, 0.5, output, workspace);
  ASSERT_EQ(2 + block.bytes, bytes);
  EXPECT_EQ(static_cast<std::byte>(block.width), output[1]);
  EXPECT_EQ(0, std::memcmp(output.data() + 2, block.payload.data(), block.bytes));
  std::array<float, 32> back;
  ASSERT_TRUE(ceresz::decode_block<float>(block, quantizer, back));
  for (std::size_t i = 0; i < 32; ++i) EXPECT_NEAR(values[i], back[i], 0.5f);
}

TEST(CereszBlock, EveryBitOfAPlaneBelongsToOneValue) {
  std::uint32_t seen = 0;
  for (std::size_t bit = 0; bit < 32; ++bit) {
    seen |= 1U << kernels::bitplane::value_of_bit(bit);
  }
  EXPECT_EQ(0xFFFFFFFFU, seen);
}

TEST(ConsecutiveChunks, AreWholeBlocksOfConsecutiveElements) {
  using ceresz::consecutive_chunk_shape;
  EXPECT_EQ((Shape{10, 20}), consecutive_chunk_shape({10, 20}, 65536));
  EXPECT_EQ((Shape{65536}), consecutive_chunk_shape({10'000'000}, 65536));
  EXPECT_EQ((Shape{1, 65536}), consecutive_chunk_shape({7, 10'000'000}, 65536));
  EXPECT_EQ((Shape{64, 999}), consecutive_chunk_shape({999, 999}, 65536));
  EXPECT_EQ((Shape{1, 128, 512}), consecutive_chunk_shape({3, 512, 512}, 65536));
  EXPECT_EQ((Shape{1, 1, 40000}), consecutive_chunk_shape({3, 5, 40000}, 65536));
  EXPECT_EQ((Shape{1, 1, 3}), consecutive_chunk_shape({0, 0, 3}, 65536));
  EXPECT_EQ(Shape{}, consecutive_chunk_shape(Shape{}, 65536));
}

}  // namespace
}  // namespace tensorpress
