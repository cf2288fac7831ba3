#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/text.h"

namespace tensorpress {
namespace {

TEST(Text, JoinsTextsAndNumbers) {
  const std::string name = "levitus";
  const std::string_view kind = ".tpz";
  EXPECT_EQ(text("chunk ", 17, " of ", name, kind, ':', ' ', std::uint8_t{9}),
            "chunk 17 of levitus.tpz: 9");
  EXPECT_EQ(text(), "");
}

TEST(Text, WritesTheExtremesOf64Bits) {
  EXPECT_EQ(text(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(text(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
}

TEST(Text, WritesDoublesInTheirShortestExactForm) {
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(1e-3), "0.001");
  EXPECT_EQ(text(0.1F), "0.1");
  EXPECT_EQ(text(std::numeric_limits<double>::max()), "1.7976931348623157e+308");
  EXPECT_EQ(std::stod(text(1.0 / 3)), 1.0 / 3);
}

TEST(Text, RoundedKeepsSignificantDigits) {
  EXPECT_EQ(rounded(3.14159265), "3.142");
  EXPECT_EQ(rounded(1234567, 3), "1.23e+06");
  EXPECT_EQ(rounded(2), "2");
}

TEST(Text, HumanBytesChangesUnitsAtPowersOf1024) {
  EXPECT_EQ(human_bytes(0), "0 bytes");
  EXPECT_EQ(human_bytes(1023), "1023 bytes");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes(std::uint64_t{1} << 20), "1 MiB");
  EXPECT_EQ(human_bytes((std::uint64_t{1} << 20) - 1), "1 MiB");
  EXPECT_EQ(human_bytes(std::uint64_t{256} << 30), "256 GiB");
  EXPECT_EQ(human_bytes(std::numeric_limits<std::uint64_t>::max()), "16 EiB");
}

TEST(Text, HexHasSixteenDigits) {
  EXPECT_EQ(hex(0), "0000000000000000");
  EXPECT_EQ(hex(0x9F3C), "0000000000009f3c");
  EXPECT_EQ(hex(std::numeric_limits<std::uint64_t>::max()), "ffffffffffffffff");
}

}  // namespace
}  // namespace tensorpress
