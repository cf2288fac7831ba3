// Bits with contexts that learn, in codec `dense`: what goes in comes out, bytes that lie are
// errors, and nothing takes next to nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "codecs/dense/adaptive/quanta.h"
#include "codecs/dense/adaptive/zero_flags.h"

namespace tensorpress::dense {
namespace {

struct Bit {
  bool bit;
  std::uint32_t probability;
};
std::vector<Bit> random_bits(std::mt19937& random, std::size_t count) {
  std::vector<Bit> bits;
  for (std::size_t i = 0; i < count; ++i) {
    const auto extreme = static_cast<std::uint32_t>(random() % 3 == 0 ? 1 : random() % 65535 + 1);
    const std::uint32_t probability = random() % 2 == 0 ? extreme : 65536 - extreme;
    bits.push_back({random() % 65536 < probability, probability});
  }
  return bits;
}

TEST(DenseAdaptiveBits, BitsOfAnyProbabilityComeBack) {
  std::mt19937 random(7);
  for (int turn = 0; turn < 300; ++turn) {
    const auto bits = random_bits(random, random() % 200);
    BitEncoder encoder;
    for (const Bit& bit : bits) encoder.code(bit.bit, bit.probability);
    const std::vector<std::byte> bytes = encoder.finish();
    BitDecoder decoder(bytes);
    for (const Bit& bit : bits) ASSERT_EQ(bit.bit, decoder.code(false, bit.probability));
    EXPECT_TRUE(decoder.finished());
    EXPECT_FALSE(decoder.ran_out());
  }
}

TEST(DenseAdaptiveBits, OtherEndsAreNoEnds) {
  std::mt19937 random(8);
  for (int turn = 0; turn < 300; ++turn) {
    const auto bits = random_bits(random, 20 + random() % 200);
    BitEncoder encoder;
    for (const Bit& bit : bits) encoder.code(bit.bit, bit.probability);
    // Not of these bits.
    const auto ends = [&](const std::vector<std::byte>& bytes) {
      BitDecoder decoder(bytes);
      bool same = true;
      for (const Bit& bit : bits) same = decoder.code(false, bit.probability) == bit.bit && same;
      return same && decoder.finished();
    };
    std::vector<std::byte> bytes = encoder.finish();
    EXPECT_TRUE(ends(bytes));
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(ends(bytes));
    bytes.back() = std::byte{1};
    EXPECT_FALSE(ends(bytes));
    bytes.pop_back();
    if (bytes.empty()) continue;
    bytes.pop_back();
    EXPECT_FALSE(ends(bytes));
  }
}

TEST(DenseAdaptiveBits, OddsAndProbabilitiesAreInverse) {
  std::int32_t before = std::numeric_limits<std::int32_t>::min();
  for (std::uint32_t p = kLeastProbability; p <= 65536 - kLeastProbability; ++p) {
    const std::int32_t odds = log_odds(p);
    EXPECT_NEAR(256 * std::log2(p / (65536.0 - p)), odds, 2.5) << p;
    EXPECT_NEAR(static_cast<double>(p), probability_of(odds), 2 + 0.008 * std::min(p, 65536 - p));
    EXPECT_GE(odds, before);
    before = odds;
  }
}

// Its quotients come from a table.
TEST(DenseAdaptiveBits, AContextLearnsExactShares) {
  for (int seen = 0; seen <= 100; ++seen) {
    for (std::uint32_t p = kLeastOfContext; p <= 65536 - kLeastOfContext; ++p) {
      for (const bool bit : {false, true}) {
        SeenBits context{static_cast<std::uint16_t>(p), static_cast<std::uint16_t>(seen)};
        context.learn(bit);
        const int aim = static_cast<int>(bit ? 65536 - kLeastOfContext : kLeastOfContext);
        const int expected = static_cast<int>(p) + 2 * (aim - static_cast<int>(p)) / (2 * seen + 3);
        if (context.probability != expected) ADD_FAILURE() << p << " after " << seen;
      }
    }
  }
}

struct Row {
  std::size_t group;
  std::vector<std::uint8_t> classes;
  std::vector<std::int32_t> values;
};
std::vector<Row> random_rows(std::mt19937& random, std::uint32_t rare) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < 30; ++i) {
    Row row{random() % 6, {}, {}};
    const std::size_t count = 1 + random() % 50;
    for (std::size_t x = 0; x < count; ++x) {
      row.classes.push_back(static_cast<std::uint8_t>(random() % 32));
      const auto any = static_cast<std::int32_t>(static_cast<std::uint32_t>(random()));
      const std::int32_t sizes[] = {any % 2,
                                    any % 3,
                                    any % 40,
                                    any % 5000,
                                    any,
                                    std::numeric_limits<std::int32_t>::min(),
                                    std::numeric_limits<std::int32_t>::max()};
      row.values.push_back(random() % rare == 0 ? sizes[random() % 7] : 0);
    }
    for (int repeat = 0; repeat < 3; ++repeat) rows.push_back(row);
  }
  return rows;
}

TEST(DenseAdaptiveRows, RowsComeBack) {
  std::mt19937 random(9);
  for (const std::uint32_t rare : {1u, 3u, 20u, 400u}) {
    auto rows = random_rows(random, rare);
    BitEncoder encoder;
    AdaptiveRows<BitEncoder> forth;
    const std::uint64_t numbers[] = {0, 1, 127, 128, 1u << 21, ~std::uint64_t{0}};
    for (const std::uint64_t number : numbers) forth.number(encoder, number);
    for (Row& row : rows) forth.row(encoder, row.group, row.classes, row.values.data());
    const auto bytes = encoder.finish();
    BitDecoder decoder(bytes);
    AdaptiveRows<BitDecoder> back;
    for (const std::uint64_t number : numbers) EXPECT_EQ(number, back.number(decoder, 0));
    for (const Row& row : rows) {
      std::vector<std::int32_t> values(row.values.size(), 5);
      back.row(decoder, row.group, row.classes, values.data());
      ASSERT_EQ(row.values, values);
    }
    EXPECT_TRUE(decoder.finished());
  }
}

TEST(DenseAdaptiveRows, EmptyRowsTakeNearlyNothing) {
  BitEncoder encoder;
  AdaptiveRows<BitEncoder> rows;
  const std::vector<std::uint8_t> classes(256, 0);
  std::vector<std::int32_t> values(256, 0);
  for (int i = 0; i < 10000; ++i) rows.row(encoder, 2, classes, values.data());
  EXPECT_LT(encoder.finish().size(), 8u);
}

TEST(DenseZeroFlags, ZerosComeBackAndNothingBeyondTheBound) {
  std::mt19937 random(10);
  constexpr double kBound = 0.1;  // which no float is
  for (int turn = 0; turn < 200; ++turn) {
    const Extents extents = {1 + random() % 4, 1 + random() % 5, 1 + random() % 70};
    std::vector<float> originals(extents[0] * extents[1] * extents[2]), values(originals.size());
    const auto zeros = random() % 10, small = random() % 10;
    for (std::size_t i = 0; i < originals.size(); ++i) {
      const auto kind = random() % 20;
      originals[i] = kind < zeros           ? 0.0f
                     : kind < zeros + small ? static_cast<float>(random() % 100) * 0.001f
                                            : 0.15f;
      const double off = (static_cast<double>(random() % 201) - 100) / 1001;
      values[i] = static_cast<float>(originals[i] + off);
      if (random() % 50 == 0) originals[i] = std::nanf("");
    }
    auto decoded = values;
    const auto flags = flag_zeros<float>(values, originals, extents, kBound);
    ASSERT_TRUE(set_flagged_zeros<float>(flags, decoded, extents, kBound).ok());
    ASSERT_EQ(values, decoded);
    for (std::size_t i = 0; i < originals.size(); ++i) {
      if (originals[i] == 0) {
        ASSERT_EQ(0, decoded[i]) << i;
      }
      if (!std::isnan(originals[i])) {
        ASSERT_LE(std::fabs(static_cast<double>(originals[i]) - decoded[i]), kBound) << i;
      }
    }
  }
}

TEST(DenseZeroFlags, FlagsThatLieAreErrors) {
  std::mt19937 random(11);
  const Extents extents = {3, 7, 40};
  std::vector<double> values(3 * 7 * 40, 0.3), originals(values.size(), 0.7);
  for (double& original : originals) original = random() % 3 == 0 ? 0 : original;
  auto copy = values;
  auto flags = flag_zeros<double>(copy, originals, extents, 0.5);
  ASSERT_GT(flags.size(), 10u);
  const auto fails = [&] {
    auto decoded = values;
    return !set_flagged_zeros<double>(flags, decoded, extents, 0.5).ok();
  };
  EXPECT_FALSE(fails());
  flags.push_back(std::byte{0});
  EXPECT_TRUE(fails());
  flags.resize(flags.size() / 2);
  EXPECT_TRUE(fails());
  int refused = 0;
  for (int turn = 0; turn < 200; ++turn) {
    for (std::byte& byte : flags) byte = static_cast<std::byte>(random());
    refused += fails() ? 1 : 0;
  }
  EXPECT_GT(refused, 190);
}

}  // namespace
}  // namespace tensorpress::dense
