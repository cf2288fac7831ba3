#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace tensorpress {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(ByteWriter, WritesLittleEndian) {
  ByteWriter writer;
  writer.write(std::uint8_t{0x01});
  writer.write(std::uint16_t{0x0203});
  writer.write(std::uint32_t{0x04050607});
  writer.write(std::uint64_t{0x08090A0B0C0D0E0F});
  EXPECT_EQ(std::move(writer).take(),
            bytes_of({1, 3, 2, 7, 6, 5, 4, 15, 14, 13, 12, 11, 10, 9, 8}));
}

TEST(ByteWriter, WritesDoublesAsTheirIeeeBits) {
  ByteWriter writer;
  writer.write_f64(1.0);  // 0x3FF0000000000000
  EXPECT_EQ(std::move(writer).take(), bytes_of({0, 0, 0, 0, 0, 0, 0xF0, 0x3F}));
}

TEST(ByteWriter, PutsTheLengthBeforeAText) {
  ByteWriter writer;
  ASSERT_TRUE(writer.write_string("cf").ok());
  EXPECT_EQ(std::move(writer).take(), bytes_of({2, 0, 'c', 'f'}));
}

TEST(ByteWriter, RefusesATextThatItsLengthCannotHold) {
  ByteWriter writer;
  EXPECT_TRUE(writer.write_string(std::string(65535, 'x')).ok());
  const auto result = writer.write_string(std::string(65536, 'x'));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::too_large);
  EXPECT_EQ(writer.bytes().size(), 65537U);  // the refused one left no trace
}

TEST(ByteReader, VarintsHaveUpTo64BitsAndNotOneMore) {
  ByteWriter writer;
  writer.write_varint(std::numeric_limits<std::uint64_t>::max());
  std::vector<std::byte> bytes = std::move(writer).take();
  ASSERT_EQ(bytes.size(), 10U);
  EXPECT_EQ(*ByteReader(bytes).read_varint(), std::numeric_limits<std::uint64_t>::max());
  for (const int last : {2, 0x7f, 0x81}) {
    bytes.back() = static_cast<std::byte>(last);
    const auto number = ByteReader(bytes).read_varint();
    ASSERT_FALSE(number.ok()) << last;
    EXPECT_EQ(number.error().code, ErrorCode::corrupt);
  }
}

TEST(ByteReader, ReadsBackWhatWasWritten) {
  ByteWriter writer;
  writer.write(std::uint16_t{65535});
  writer.write_f64(-0.0);
  ASSERT_TRUE(writer.write_string("").ok());
  ASSERT_TRUE(writer.write_string("größer").ok());
  writer.write(std::numeric_limits<std::uint64_t>::max());
  ByteReader reader(writer.bytes());
  EXPECT_EQ(reader.read<std::uint16_t>().value(), 65535);
  EXPECT_TRUE(std::signbit(reader.read_f64().value()));
  EXPECT_EQ(reader.read_string().value(), "");
  EXPECT_EQ(reader.read_string().value(), "größer");
  EXPECT_EQ(reader.read<std::uint64_t>().value(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(reader.remaining(), 0U);
}

TEST(ByteReader, RefusesToReadPastTheEndAndStaysWhereItWas) {
  const auto bytes = bytes_of({1, 2, 3});
  ByteReader reader(bytes);
  const auto number = reader.read<std::uint32_t>();
  ASSERT_FALSE(number.ok());
  EXPECT_EQ(number.error().code, ErrorCode::truncated);
  EXPECT_EQ(number.error().message, "4 bytes are needed at byte 0, 3 are left");
  EXPECT_EQ(reader.position(), 0U);
  EXPECT_EQ(reader.read<std::uint16_t>().value(), 0x0201);
}

TEST(ByteReader, RefusesAbsurdLengths) {
  const auto bytes = bytes_of({1, 2, 3});
  ByteReader reader(bytes);
  ASSERT_TRUE(reader.take(2).ok());
  // Added to the position, these would wrap around.
  for (const std::uint64_t count :
       {std::uint64_t{2}, std::uint64_t{1} << 32, std::uint64_t{1} << 63,
        std::numeric_limits<std::uint64_t>::max(), std::numeric_limits<std::uint64_t>::max() - 1}) {
    EXPECT_FALSE(reader.take(count).ok()) << count;
  }
  EXPECT_EQ(reader.position(), 2U);
  EXPECT_TRUE(reader.take(1).ok());
}

TEST(ByteReader, RefusesATextLongerThanTheInput) {
  const auto bytes = bytes_of({3, 0, 'c', 'f'});
  ByteReader reader(bytes);
  const auto result = reader.read_string();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::truncated);
}

TEST(ByteReader, OfNothingGivesNothing) {
  ByteReader reader({});
  EXPECT_TRUE(reader.take(0).ok());
  EXPECT_FALSE(reader.read<std::uint8_t>().ok());
}

TEST(SwapBytes, ReversesEveryWidth) {
  EXPECT_EQ(swap_bytes(std::uint8_t{0x12}), 0x12);
  EXPECT_EQ(swap_bytes(std::uint16_t{0x1234}), 0x3412);
  EXPECT_EQ(swap_bytes(std::uint32_t{0x12345678}), 0x78563412U);
  EXPECT_EQ(swap_bytes(std::uint64_t{0x123456789ABCDEF0}), 0xF0DEBC9A78563412U);
}

}  // namespace
}  // namespace tensorpress
