// The parts of a stream of version 1.
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/checksum/checksum.h"
#include "stream/container/framed/contents.h"
#include "stream/container/framed/frame.h"
#include "unit/stream/compact_samples.h"

namespace tensorpress::stream::framed {
namespace {

using samples::Bytes;

Bytes header_payload() {
  const Bytes stream = samples::packed(samples::ramp(DType::f32, {4, 8}), samples::chop(5));
  return samples::take_apart(samples::in_version_1(stream)).at(0).payload;
}

TEST(FramedFormat, SumsUpTheFrameAsTheSpecificationSays) {
  // XXH3_64 of no bytes is 2d06800538d394c2 (xxhash's own test vector); it seeds the second one.
  const Frame frame{.type = kHead, .flags = 1, .number = 2, .payload_bytes = 3};
  Bytes fields(24);
  std::memcpy(fields.data(), "HEAD\1\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 24);
  EXPECT_EQ(frame_checksum(frame, checksum_of({})), checksum_of(fields, 0x2d06800538d394c2u));
}

TEST(FramedFormat, RefusesAHeaderOfAnyOtherLength) {
  Bytes payload = header_payload();
  ASSERT_TRUE(parse_header(payload).ok());
  EXPECT_EQ(parse_header(payload)->codec, samples::chop(5));
  for (std::size_t length = 0; length < payload.size(); ++length) {
    const auto parsed = parse_header(std::span(payload).first(length));
    ASSERT_FALSE(parsed.ok()) << length;
    EXPECT_NE(parsed.error().code, ErrorCode::truncated) << parsed.error().message;
  }
  payload.push_back(std::byte{0});
  EXPECT_FALSE(parse_header(payload).ok());
}

TEST(FramedFormat, RefusesHeadersThatMakeNoSense) {
  const Bytes good = header_payload();
  const auto code_with = [&](std::size_t offset, std::size_t size, std::uint64_t value) {
    Bytes bad = good;
    samples::store(bad, offset, size, value);
    const auto parsed = parse_header(bad);
    return parsed.ok() ? ErrorCode{} : parsed.error().code;
  };
  EXPECT_EQ(code_with(0, 1, 99), ErrorCode::unsupported);                    // dtype
  EXPECT_EQ(code_with(1, 1, 9), ErrorCode::unsupported);                     // rank
  EXPECT_EQ(code_with(2, 2, 1), ErrorCode::corrupt);                         // reserved
  EXPECT_EQ(code_with(4, 4, 1), ErrorCode::corrupt);                         // reserved
  EXPECT_EQ(code_with(8, 8, std::uint64_t{1} << 63), ErrorCode::too_large);  // shape
  EXPECT_EQ(code_with(24, 8, ~std::uint64_t{0}), ErrorCode::too_large);      // chunk_shape
  EXPECT_EQ(code_with(42, 1, 'X'), ErrorCode::unsupported);                  // codec name
  EXPECT_EQ(code_with(42, 1, 0xFF), ErrorCode::corrupt);                     // not UTF-8
}

TEST(FramedFormat, ChecksTheFooterSizeWithoutOverflow) {
  EXPECT_TRUE(check_footer_size(10 + 16 * 3, 3).ok());
  EXPECT_FALSE(check_footer_size(9 + 16 * 3, 3).ok());
  EXPECT_FALSE(check_footer_size(26, std::uint64_t{1} << 60).ok());  // 16 * 2^60 is 0 in 64 bits
  EXPECT_FALSE(check_footer_size(~std::uint64_t{0}, 3).ok());
}

}  // namespace
}  // namespace tensorpress::stream::framed
