// The checksum against xxhash's own one-shot function, for every instruction set of this machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "kernels/checksum/checksum.h"

namespace tensorpress {
namespace {

std::vector<std::byte> random_bytes(std::size_t count) {
  std::mt19937 random(20240229);
  std::vector<std::byte> bytes(count);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// Where XXH3 changes its method: 16, 128, 240, the 256-byte buffer, the 1024-byte block; and
// beyond.
const std::vector<std::size_t> kSizes = {0,   1,    3,    4,    8,    9,    16,    17,    128,
                                         129, 240,  241,  255,  256,  257,  511,   512,   513,
                                         768, 1023, 1024, 1025, 2048, 4096, 32768, 65537, 1000003};

TEST(Checksum, OfAnEmptyTextIsTheOneOfTheXxhashSpecification) {
  EXPECT_EQ(checksum_of({}), 0x2D06800538D394C2U);
  EXPECT_EQ(Checksum().value(), 0x2D06800538D394C2U);
}

TEST(Checksum, EqualsXxhashForAllSizesAndSeeds) {
  const auto bytes = random_bytes(kSizes.back());
  for (const std::size_t size : kSizes) {
    const auto part = std::span(bytes).first(size);
    EXPECT_EQ(checksum_of(part), XXH3_64bits(part.data(), size)) << size;
    EXPECT_EQ(checksum_of(part, 77), XXH3_64bits_withSeed(part.data(), size, 77)) << size;
  }
}

TEST(Checksum, IsTheSameForEveryInstructionSet) {
  const auto bytes = random_bytes(kSizes.back());
  for (const Isa isa : usable_isas()) {
    for (const std::size_t size : kSizes) {
      Checksum checksum(isa);
      checksum.update(std::span(bytes).first(size));
      EXPECT_EQ(checksum.value(), XXH3_64bits(bytes.data(), size))
          << name_of(isa) << ", " << size << " bytes";
    }
  }
}

TEST(Checksum, DoesNotDependOnThePieces) {
  const auto bytes = random_bytes(70001);
  const std::uint64_t expected = XXH3_64bits(bytes.data(), bytes.size());
  for (const Isa isa : usable_isas()) {
    for (const std::size_t piece : {1, 7, 63, 64, 65, 255, 256, 257, 1000, 1024, 32768, 70000}) {
      Checksum checksum(isa);
      for (std::size_t at = 0; at < bytes.size(); at += piece) {
        checksum.update(std::span(bytes).subspan(at, std::min(piece, bytes.size() - at)));
      }
      EXPECT_EQ(checksum.value(), expected) << name_of(isa) << ", pieces of " << piece;
    }
  }
}

TEST(Checksum, MayBeAskedInBetweenAndStartsAnewAfterReset) {
  const auto bytes = random_bytes(5000);
  for (const Isa isa : usable_isas()) {
    Checksum checksum(isa);
    checksum.update(std::span(bytes).first(3000));
    EXPECT_EQ(checksum.value(), XXH3_64bits(bytes.data(), 3000));
    checksum.update(std::span(bytes).subspan(3000));
    EXPECT_EQ(checksum.value(), XXH3_64bits(bytes.data(), 5000));
    checksum.reset();
    checksum.update(std::span(bytes).first(10));
    EXPECT_EQ(checksum.value(), XXH3_64bits(bytes.data(), 10));
  }
}

TEST(Checksum, ReadsFromAnyAddress) {
  const auto bytes = random_bytes(2100);
  for (const Isa isa : usable_isas()) {
    for (std::size_t offset = 0; offset < 64; ++offset) {
      Checksum checksum(isa);
      checksum.update(std::span(bytes).subspan(offset, 2000));
      EXPECT_EQ(checksum.value(), XXH3_64bits(bytes.data() + offset, 2000))
          << name_of(isa) << ", offset " << offset;
    }
  }
}

}  // namespace
}  // namespace tensorpress
