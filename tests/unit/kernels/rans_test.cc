// The rANS coder: round trips, the same bytes on every instruction set, and hostile bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/rans/rans.h"

namespace tensorpress::kernels {
namespace {

// Geometric tables of growing width; the last ones with raw low bits, one with short escapes only
// beside the longest.
std::vector<RansTable> sample_tables() {
  std::vector<RansTable> tables;
  for (const int low_bits : {0, 0, 0, 0, 1, 4, 5, 20}) {
    RansTable table;
    table.low_bits = low_bits;
    const double ratio = 0.05 + 0.11 * static_cast<double>(tables.size());
    int total = 0;
    for (int symbol = -40; symbol <= 40; ++symbol) {
      const auto share = static_cast<int>(2000 * (1 - ratio) * std::pow(ratio, std::abs(symbol)));
      table.frequencies[static_cast<std::size_t>(symbol + 128)] = static_cast<std::uint16_t>(share);
      total += share;
    }
    table.frequencies[3] = 1;
    if (tables.size() % 2 == 0) table.frequencies[0] = table.frequencies[1] = 2;
    total += table.frequencies[0] + table.frequencies[1] + 1;
    table.frequencies[128] =
        static_cast<std::uint16_t>(table.frequencies[128] + static_cast<int>(kRansTotal) - total);
    tables.push_back(table);
  }
  return tables;
}

struct Sequence {
  std::vector<std::int32_t> values;
  std::vector<std::uint8_t> group_ids;
  std::vector<std::uint8_t> value_ids;  // the same tables, named per value
};

Sequence random_sequence(std::size_t groups, std::size_t tables, unsigned seed) {
  std::mt19937 random(seed);
  Sequence sequence;
  for (std::size_t group = 0; group < groups; ++group) {
    const auto id = static_cast<std::uint8_t>(random() % tables);
    sequence.group_ids.push_back(id);
    for (int i = 0; i < 16; ++i) {
      const int width = static_cast<int>(random() % 34) - 2;  // all magnitudes up to 2^31
      auto value = static_cast<std::uint32_t>(width <= 0 ? 0 : random() >> (32 - width));
      if (random() % 4 != 0) value %= 8;
      if (random() % 2 != 0) value = 0u - value;
      sequence.value_ids.push_back(id);
      sequence.values.push_back(id == 0 ? 0 : static_cast<std::int32_t>(value));
    }
  }
  return sequence;
}

std::vector<std::byte> encode(const RansKernels& kernels, const RansTables& tables,
                              const Sequence& sequence, std::size_t vectors, bool per_value) {
  const std::size_t groups = sequence.group_ids.size();
  std::vector<std::byte> buffer(groups * 128 + 1024);
  RansEncoder encoder;
  encoder.start(buffer, vectors, groups);
  // In two calls, the later part first.
  const std::size_t half = groups / 3;
  const auto part = [&](std::size_t from, std::size_t count) {
    if (per_value) {
      kernels.encode_values(encoder, tables, sequence.value_ids.data() + 16 * from, count,
                            sequence.values.data() + 16 * from);
    } else {
      kernels.encode_groups(encoder, tables, sequence.group_ids.data() + from, count,
                            sequence.values.data() + 16 * from);
    }
  };
  part(half, groups - half);
  part(0, half);
  const auto bytes = encoder.finish();
  EXPECT_TRUE(bytes.has_value());
  return {bytes->begin(), bytes->end()};
}

bool decode(const RansKernels& kernels, const RansTables& tables, const Sequence& sequence,
            std::size_t vectors, bool per_value, std::span<const std::byte> bytes,
            std::vector<std::int32_t>& values) {
  const std::size_t groups = sequence.group_ids.size();
  values.assign(groups * 16, -1);
  RansDecoder decoder;
  if (!decoder.start(bytes, vectors)) return false;
  for (std::size_t from = 0; from < groups; from += 7) {
    const std::size_t count = std::min<std::size_t>(7, groups - from);
    const bool fine =
        per_value ? kernels.decode_values(decoder, tables, sequence.value_ids.data() + 16 * from,
                                          count, values.data() + 16 * from)
                  : kernels.decode_groups(decoder, tables, sequence.group_ids.data() + from, count,
                                          values.data() + 16 * from);
    if (!fine) return false;
  }
  return decoder.finished();
}

TEST(Rans, EveryInstructionSetWritesTheReferencesBytesAndReadsThem) {
  const RansTables tables(sample_tables());
  for (const std::size_t groups : {0u, 1u, 2u, 3u, 50u, 701u}) {
    const Sequence sequence = random_sequence(groups, tables.count(), unsigned(groups));
    for (const std::size_t vectors : {1u, 2u, 4u}) {
      const auto expected = encode(rans_reference(), tables, sequence, vectors, false);
      for (const Isa isa : usable_isas()) {
        for (const bool per_value : {false, true}) {
          const auto kernels = rans_kernels(isa);
          const auto bytes = encode(kernels, tables, sequence, vectors, per_value);
          ASSERT_EQ(bytes, expected) << name_of(isa) << " " << groups << " " << vectors;
          std::vector<std::int32_t> values;
          ASSERT_TRUE(decode(kernels, tables, sequence, vectors, per_value, bytes, values));
          ASSERT_EQ(values, sequence.values);
        }
      }
    }
  }
}

TEST(Rans, TablesMayDifferFromValueToValue) {
  const RansTables tables(sample_tables());
  Sequence sequence = random_sequence(300, tables.count(), 3);
  std::mt19937 random(4);
  for (std::size_t i = 0; i < sequence.value_ids.size(); ++i) {
    sequence.value_ids[i] = static_cast<std::uint8_t>(random() % tables.count());
    if (sequence.value_ids[i] == 0) sequence.values[i] = 0;
  }
  const auto expected = encode(rans_reference(), tables, sequence, 2, true);
  for (const Isa isa : usable_isas()) {
    EXPECT_EQ(encode(rans_kernels(isa), tables, sequence, 2, true), expected) << name_of(isa);
    std::vector<std::int32_t> values;
    ASSERT_TRUE(decode(rans_kernels(isa), tables, sequence, 2, true, expected, values));
    EXPECT_EQ(values, sequence.values);
  }
}

TEST(Rans, DivisionIsExactForEveryFrequencyAtTheEdgesOfItsRange) {
  for (std::uint32_t frequency = 1; frequency < kRansTotal; ++frequency) {
    RansTable table;
    table.frequencies[128] = static_cast<std::uint16_t>(frequency);
    table.frequencies[129] = static_cast<std::uint16_t>(kRansTotal - frequency);
    const RansTables tables(std::span(&table, 1));
    const std::uint32_t packed = tables.encode_packed()[kRansSymbols + 128];
    const std::uint64_t reciprocal = tables.encode_reciprocals()[kRansSymbols + 128];
    const std::uint64_t end = std::uint64_t{frequency} << 20;
    for (std::uint64_t quotient : {1ull, 2ull, 3ull, 1023ull, 524287ull, 1048575ull}) {
      for (const std::uint64_t x :
           {quotient * frequency - 1, quotient * frequency, quotient * frequency + frequency - 1}) {
        if (x >= end) continue;
        const std::uint64_t divided =
            (x + (packed >> 28 & 1)) * reciprocal >> (32 + (packed >> 24 & 15));
        ASSERT_EQ(divided, x / frequency) << x << " / " << frequency;
      }
    }
  }
}

TEST(Rans, TheNullTableCostsNothing) {
  const RansTables tables(sample_tables());
  Sequence sequence;
  sequence.group_ids.assign(1000, 0);
  sequence.value_ids.assign(16000, 0);
  sequence.values.assign(16000, 0);
  for (const bool per_value : {false, true}) {
    EXPECT_EQ(encode(rans_reference(), tables, sequence, 1, per_value).size(), 64u);
  }
}

TEST(Rans, BitsAreThoseOfTheStream) {
  const RansTables tables(sample_tables());
  const Sequence sequence = random_sequence(2000, tables.count(), 9);
  double bits = 0;
  for (std::size_t i = 0; i < sequence.values.size(); ++i) {
    bits += tables.bits(sequence.value_ids[i], sequence.values[i]);
  }
  const auto bytes = encode(rans_reference(), tables, sequence, 1, false);
  EXPECT_NEAR(static_cast<double>(bytes.size()) * 8, bits + 16 * 16, 0.001 * bits + 16 * 16);
}

TEST(Rans, TruncationsAreNoticed) {
  const RansTables tables(sample_tables());
  const Sequence sequence = random_sequence(60, tables.count(), 5);
  const auto bytes = encode(rans_reference(), tables, sequence, 1, false);
  std::vector<std::int32_t> values;
  for (const Isa isa : usable_isas()) {
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      // A copy of exactly that size, so that sanitizers see every byte too many.
      const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + std::ptrdiff_t(size));
      EXPECT_FALSE(decode(rans_kernels(isa), tables, sequence, 1, false, cut, values)) << size;
    }
  }
}

TEST(Rans, FlippedBitsNeverCrashAndDecodeAlikeEverywhere) {
  const RansTables tables(sample_tables());
  const Sequence sequence = random_sequence(40, tables.count(), 6);
  const auto bytes = encode(rans_reference(), tables, sequence, 2, false);
  std::mt19937 random(7);
  for (int trial = 0; trial < 500; ++trial) {
    auto damaged = bytes;
    for (int flips = 0; flips < 3; ++flips) {
      damaged[random() % damaged.size()] ^= static_cast<std::byte>(1u << random() % 8);
    }
    std::vector<std::int32_t> expected;
    const bool fine = decode(rans_reference(), tables, sequence, 2, false, damaged, expected);
    for (const Isa isa : usable_isas()) {
      std::vector<std::int32_t> values;
      EXPECT_EQ(decode(rans_kernels(isa), tables, sequence, 2, false, damaged, values), fine);
      EXPECT_EQ(values, expected);
    }
  }
}

TEST(Rans, AFullBufferIsReported) {
  const RansTables tables(sample_tables());
  const Sequence sequence = random_sequence(100, tables.count(), 8);
  const auto bytes = encode(rans_reference(), tables, sequence, 1, false);
  for (const Isa isa : usable_isas()) {
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{63}, bytes.size() / 2, bytes.size() - 2}) {
      std::vector<std::byte> buffer(size);
      RansEncoder encoder;
      encoder.start(buffer, 1, 100);
      rans_kernels(isa).encode_groups(encoder, tables, sequence.group_ids.data(), 100,
                                      sequence.values.data());
      EXPECT_FALSE(encoder.finish().has_value()) << size;
    }
  }
}

}  // namespace
}  // namespace tensorpress::kernels
