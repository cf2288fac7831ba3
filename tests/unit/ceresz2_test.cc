#include "codecs/ceresz2/ceresz2.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "codecs/ceresz2/block.h"
#include "codecs/ceresz2/block_offsets.h"
#include "field_coder_checks.h"

namespace tensorpress {
namespace {

using bounded::check_hostile_bytes;
using bounded::check_round_trip;
using bounded::Field;
using bounded::NamedField;
using bounded::telling_bounds;
using bounded::telling_fields;
using ceresz2::Codebook;
using ceresz2::DeltaCounts;

std::unique_ptr<bounded::FieldCoder> coder_with(std::string_view codebook) {
  auto coder = make_ceresz2(codebook);
  EXPECT_TRUE(coder.ok()) << coder.error().message;
  return std::move(*coder);
}

/// Codes from 1 to 24 bits, so that every look-up table is missed by some.
std::string skewed_codebook() {
  std::vector<std::uint64_t> counts(200, 1);
  for (std::size_t i = 0; i < 30; ++i) counts[100 - 15 + i] = std::uint64_t{1} << (2 * i % 41);
  return Codebook::from_counts(counts)->to_text();
}

template <class T>
class Ceresz2Of : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Ceresz2Of, Types);

TYPED_TEST(Ceresz2Of, KeepsTheBoundAndItsBytesOnEveryIsa) {
  for (const std::string& codebook : {std::string("default"), skewed_codebook()}) {
    const auto coder = coder_with(codebook);
    for (const std::size_t count : {1, 31, 32, 33, 64, 997, 4099}) {
      for (const auto& field : telling_fields<TypeParam>(count)) {
        for (const double bound : telling_bounds<TypeParam>()) {
          check_round_trip(*coder, field, bound, count * sizeof(TypeParam) * 4 + 400);
        }
      }
    }
  }
}

TYPED_TEST(Ceresz2Of, FitsAnyRoomOrSaysSo) {
  const auto coder = coder_with("default");
  for (const auto& field : telling_fields<TypeParam>(140)) {
    const std::size_t size = check_round_trip(*coder, field, 1e-2, 9000);
    ASSERT_GT(size, 0u);
    EXPECT_EQ(size, check_round_trip(*coder, field, 1e-2, size));
    for (std::size_t room = 1; room < size; ++room) {
      ASSERT_FALSE(bounded::encode_checked(*coder, field.values, 1e-2, detected_isa(), room));
    }
  }
}

TYPED_TEST(Ceresz2Of, SurvivesHostileBytes) {
  for (const std::string& codebook : {std::string("default"), skewed_codebook()}) {
    const auto coder = coder_with(codebook);
    for (const auto& field : telling_fields<TypeParam>(173)) {
      if (field.name != "spikes" && field.name != "wave") continue;
      const auto coded = bounded::encode_checked(*coder, field.values, 1e-2, Isa::scalar, 9000);
      ASSERT_TRUE(coded);
      check_hostile_bytes<TypeParam>(*coder, *coded, field.values.size(), 1e-2);
    }
  }
}

TYPED_TEST(Ceresz2Of, TakesTheBitsOfThePaperForEveryBlock) {
  // The paper's format by hand: a word per block, and in words all flags and codes of a block that
  // is not zero.
  using T = TypeParam;
  const Codebook book = Codebook::standard();
  for (const auto& field : telling_fields<T>(3200)) {
    if (field.name != "wave" && field.name != "sparse") continue;
    const double bound = 5e-2;  // no quantum beyond 4096, so that the slack is 0
    const auto quantizer = ceresz::make_quantizer<T>(bound, 0);
    std::size_t words = 0;
    for (std::size_t start = 0; start < 3200; start += 32) {
      std::uint64_t bits = 0;
      long long before = 0;
      bool zero = true;
      for (std::size_t i = start; i < start + 32; ++i) {
        const long long quantum = std::llrint(field.values[i] / quantizer.step);
        const long long symbol = quantum - before - book.first_symbol();
        const bool coded = symbol >= 0 && symbol < book.symbols();
        bits += coded ? 1 + book.lengths()[static_cast<std::size_t>(symbol)] : 1 + 8 * sizeof(T);
        zero = zero && quantum == 0;
        before = quantum;
      }
      words += zero ? 1 : 1 + (bits + 31) / 32;
    }
    EXPECT_EQ(8 + 4 * words, check_round_trip(*coder_with("default"), field, bound)) << field.name;
  }
}

TYPED_TEST(Ceresz2Of, CountsWhatItLooksUp) {
  using T = TypeParam;
  for (const auto& field : telling_fields<T>(3200)) {
    if (field.name != "wave" && field.name != "sparse" && field.name != "spikes") continue;
    DeltaCounts counts;
    count_deltas(Field<T>{field.values, Shape{3200}}, 1e-2, counts);
    EXPECT_EQ(100u, counts.blocks);
    std::uint64_t values = counts.escapes;
    for (const std::uint64_t count : counts.counts) values += count;
    EXPECT_EQ(32 * (counts.blocks - counts.zero_blocks), values);
    const auto best = Codebook::from_counts(counts.counts);
    ASSERT_TRUE(best.ok());
    const std::size_t dynamic = check_round_trip(*coder_with(best->to_text()), field, 1e-2, 99999);
    EXPECT_LE(dynamic, check_round_trip(*coder_with("default"), field, 1e-2, 99999));
    if (field.name == "spikes") {
      EXPECT_GT(counts.outliers, 80u);
    }
  }
}

TEST(Ceresz2Block, IsWhatTheCodecStores) {
  std::array<float, 32> values;
  for (std::size_t i = 0; i < 32; ++i) values[i] = static_cast<float>(i * i * i);
  const Codebook book = Codebook::standard();
  const auto quantizer = ceresz2::make_quantizer<float>(0.5, 0);
  const auto block = ceresz2::encode_block<float>(values, quantizer, book);
  std::vector<std::byte> output(256);
  ChunkWorkspace workspace(detected_isa());
  const auto bytes =
      coder_with("default")->encode(Field<float>{values, Shape{32}}, 0.5, output, workspace);
  // Quanta above 2^12 take a larger slack: the chunk is coded with another step.
  const auto slack = static_cast<unsigned>(output[0]);
  const auto own = ceresz2::make_quantizer<float>(0.5, slack);
  const auto again = ceresz2::encode_block<float>(values, own, book);
  ASSERT_EQ(8u + 4u * again.words, bytes);
  EXPECT_EQ(0, std::memcmp(output.data() + 8, again.bytes.data(), 4u * again.words));
  std::array<float, 32> back;
  ASSERT_TRUE(ceresz2::decode_block<float>(block, quantizer, book, back));
  for (std::size_t i = 0; i < 32; ++i) EXPECT_NEAR(values[i], back[i], 0.5f);
}

TEST(BlockOffsets, FollowThePapersFigure10) {
  // Column {1, 10, 9, 2} reduces to 22; 52 = 22 + 18 + 12 is where the fourth column starts.
  const std::vector<std::uint32_t> lengths = {1, 10, 9, 2, 5, 3, 4, 6, 2, 2, 3, 5, 7, 1, 1, 1};
  std::vector<std::uint64_t> sums(4), offsets(16);
  const ceresz2::Mesh mesh{.width = 4, .height = 4};
  EXPECT_TRUE(mesh.column_major());
  EXPECT_EQ(62u, ceresz2::block_offsets(lengths, mesh, sums, offsets));
  EXPECT_EQ(22u, offsets[4]);
  EXPECT_EQ(52u, offsets[12]);
  EXPECT_EQ(59u, offsets[13]);
}

TEST(BlockOffsets, AreTheExclusiveSumsForAnyMesh) {
  std::mt19937 generator(3);
  for (const std::size_t blocks : {0u, 1u, 7u, 64u, 65u, 200u}) {
    std::vector<std::uint32_t> lengths(blocks);
    for (auto& length : lengths) length = static_cast<std::uint32_t>(generator() % 40);
    for (const ceresz2::Mesh mesh : {ceresz2::Mesh{8, 8}, {20, 3}, {3, 70}, {1, 1}}) {
      std::vector<std::uint64_t> sums(blocks + 1), offsets(blocks);
      std::uint64_t expected = 0;
      const auto total = ceresz2::block_offsets(lengths, mesh, sums, offsets);
      for (std::size_t i = 0; i < blocks; ++i) {
        ASSERT_EQ(expected, offsets[i]);
        expected += lengths[i];
      }
      EXPECT_EQ(expected, total);
    }
  }
}

}  // namespace
}  // namespace tensorpress
