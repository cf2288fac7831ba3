#include "codecs/ceresz2/ceresz2.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "codecs/ceresz2/block.h"
#include "codecs/ceresz2/block_offsets.h"
#include "unit/codecs/field_coder_checks.h"

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

/// Bits a number takes as two's complement.
unsigned width_of(long long number) {
  unsigned bits = 1;
  while (number < -(1LL << (bits - 1)) || number > (1LL << (bits - 1)) - 1) ++bits;
  return bits;
}

TYPED_TEST(Ceresz2Of, TakesTheBitsOfThePaperForEveryBlock) {
  // The paper's format by hand: a word per block, and in words all flags and codes of a block that
  // is not zero. For f64 an escape is as wide as the widest of the chunk.
  using T = TypeParam;
  const Codebook& book = Codebook::standard();
  for (const auto& field : telling_fields<T>(3200)) {
    if (field.name != "wave" && field.name != "sparse") continue;
    const double bound = 5e-2;  // no quantum beyond 4096, so that the slack is 0
    const auto quantizer = ceresz::make_quantizer<T>(bound, 0);
    std::size_t words = 0;
    unsigned escape_bits = 1;
    for (std::size_t i = 0; i < 3200; ++i) {
      const T before = i % 32 == 0 ? T{0} : field.values[i - 1];
      const auto quantum_of = [&](T value) { return std::llrint(value / quantizer.step); };
      escape_bits =
          std::max(escape_bits, width_of(quantum_of(field.values[i]) - quantum_of(before)));
    }
    if (sizeof(T) == 4) escape_bits = 32;
    for (std::size_t start = 0; start < 3200; start += 32) {
      std::uint64_t bits = 0;
      long long before = 0;
      bool zero = true;
      for (std::size_t i = start; i < start + 32; ++i) {
        const long long quantum = std::llrint(field.values[i] / quantizer.step);
        const long long symbol = quantum - before - book.first_symbol();
        const bool coded = symbol >= 0 && symbol < book.symbols();
        bits += coded ? 1u + book.lengths()[static_cast<std::size_t>(symbol)] : 1u + escape_bits;
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

TEST(Ceresz2Escapes, LetSmoothDoublesShrinkUnderATightBound) {
  NamedField<double> field{"smooth", {}};
  for (int i = 0; i < 20000; ++i) {
    field.values.push_back(100 * std::sin(0.01 * i) + 40 * std::cos(0.0007 * i));
  }
  const double bound = 280e-10;
  const std::size_t size = check_round_trip(*coder_with("default"), field, bound);
  ASSERT_GT(size, 0u);
  EXPECT_GT(static_cast<double>(field.values.size() * sizeof(double)),
            1.3 * static_cast<double>(size))
      << size;
  // Even the last digits of the largest values are worth it.
  EXPECT_GT(check_round_trip(*coder_with("default"), field, 280 * 0x1p-52), 0u);
}

TEST(Ceresz2Escapes, KeepDifferencesOfEveryWidthOnEveryIsa) {
  using kernels::huffman::kPackedRoom;
  constexpr std::size_t kBlocks = 5;
  std::mt19937_64 generator(11);
  const std::uint8_t lengths[] = {1, 1};
  const auto made = Codebook::from_lengths(lengths);
  const Codebook& book = *made;  // for -1 and 0
  for (unsigned width = 1; width <= 64; ++width) {
    std::vector<std::uint64_t> differences(kBlocks * 32);
    for (std::size_t i = 0; i < differences.size(); ++i) {
      // Any number of that width; in the first block always the lowest, with the highest after it.
      const std::uint64_t lowest = ~std::uint64_t{0} << (width - 1);
      const std::uint64_t any = kernels::huffman::sign_extended(generator(), width);
      differences[i] = i >= 32 ? any : i % 2 == 0 ? lowest : ~lowest;
      if (i >= 96 && generator() % 2 == 0) differences[i] = -(generator() % 2);
    }
    std::vector<std::byte> expected(kBlocks * kPackedRoom<double>);
    std::vector<std::uint32_t> words(kBlocks), expected_words(kBlocks);
    kernels::huffman::reference_coding<double>().pack(differences.data(), kBlocks,
                                                      book.pack_table(), width, expected.data(),
                                                      expected_words.data());
    for (const Isa isa : usable_isas()) {
      const auto kernel = kernels::huffman::block_coding<double>(isa);
      std::vector<std::byte> packed(kBlocks * kPackedRoom<double>);
      kernel.pack(differences.data(), kBlocks, book.pack_table(), width, packed.data(),
                  words.data());
      ASSERT_EQ(expected_words, words) << width << " " << name_of(isa);
      std::vector<kernels::huffman::PackedBlock> blocks;
      for (std::size_t block = 0; block < kBlocks; ++block) {
        const std::byte* const at = packed.data() + block * kPackedRoom<double>;
        ASSERT_EQ(0, std::memcmp(expected.data() + block * kPackedRoom<double>, at,
                                 4 * std::size_t{words[block]}))
            << width << " " << name_of(isa);
        blocks.push_back({8 * (block * kPackedRoom<double> + 4), load_le<std::uint32_t>(at),
                          static_cast<std::uint32_t>(block)});
      }
      for (const double bits_per_value : {1.0, 30.0}) {  // both tables
        std::vector<std::uint64_t> back(differences.size());
        ASSERT_EQ(kBlocks, kernel.unpack(packed.data(), blocks.data(), kBlocks,
                                         book.unpack_table(bits_per_value), width, back.data()));
        ASSERT_EQ(differences, back) << width << " " << name_of(isa);
      }
    }
  }
}

TYPED_TEST(Ceresz2Of, RefusesWidthsOfEscapesThatThereAreNot) {
  using T = TypeParam;
  const auto coder = coder_with("default");
  const auto fields = telling_fields<T>(997);
  const auto& noise = fields[4];
  const auto coded = bounded::encode_checked(*coder, noise.values, 1e-4, Isa::scalar, 9000);
  ASSERT_TRUE(coded);
  const auto right = std::to_integer<unsigned>((*coded)[1]);
  EXPECT_TRUE(sizeof(T) == 4 ? right == 32 : right == 15) << right;
  for (unsigned width = 0; width < 256; ++width) {
    auto damaged = *coded;
    damaged[1] = static_cast<std::byte>(width);
    for (const Isa isa : usable_isas()) {
      const auto decoded = bounded::decode_checked<T>(*coder, damaged, 997, 1e-4, isa, false);
      ASSERT_EQ(width == right, decoded.ok()) << width;
      if (decoded.ok()) continue;
      EXPECT_EQ(ErrorCode::corrupt, decoded.error().code);
      const bool possible = sizeof(T) == 8 && width >= 1 && width <= 64;
      EXPECT_EQ(!possible, decoded.error().message.find("without a code") != std::string::npos);
    }
  }
}

TEST(Ceresz2Block, KeepsDoublesWithNarrowEscapes) {
  std::array<double, 32> values, back;
  for (std::size_t i = 0; i < 32; ++i) values[i] = 1e6 * std::sin(static_cast<double>(i));
  const Codebook& book = Codebook::standard();
  const auto quantizer = ceresz2::make_quantizer<double>(0.5, 0);
  for (const unsigned escape_bits : {22u, 40u, 64u}) {
    const auto block = ceresz2::encode_block<double>(values, quantizer, book, escape_bits);
    EXPECT_GE(1 + escape_bits + 1, block.words);
    ASSERT_TRUE(ceresz2::decode_block<double>(block, quantizer, book, back));
    for (std::size_t i = 0; i < 32; ++i) EXPECT_NEAR(values[i], back[i], 0.5);
  }
}

TEST(Ceresz2Block, IsWhatTheCodecStores) {
  std::array<float, 32> values;
  for (std::size_t i = 0; i < 32; ++i) values[i] = static_cast<float>(i * i * i);
  const Codebook& book = Codebook::standard();
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
