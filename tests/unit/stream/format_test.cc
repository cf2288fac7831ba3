#include <gtest/gtest.h>

#include <cmath>

#include "base/bytes.h"
#include "base/utf8.h"
#include "stream/container/format.h"
#include "unit/stream/samples.h"

namespace tensorpress::stream {
namespace {

using samples::Bytes;

Bytes header_payload(const Header& header) {
  const auto opening = encode_opening(header, {}).value();
  return samples::take_apart(Bytes(opening.begin(), opening.end())).at(0).payload;
}

TEST(StreamFormat, SumsUpTheFrameAsTheSpecificationSays) {
  // XXH3_64 of no bytes is 2d06800538d394c2 (xxhash's own test vector); it seeds the second one.
  const Frame frame{.type = kHead, .flags = 1, .number = 2, .payload_bytes = 3};
  Bytes fields(24);
  std::memcpy(fields.data(), "HEAD\1\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 24);
  EXPECT_EQ(checksum_of({}), 0x2d06800538d394c2u);
  EXPECT_EQ(frame_checksum(frame, checksum_of({})), checksum_of(fields, 0x2d06800538d394c2u));
}

TEST(StreamFormat, ReadsBackTheHeaderItWrote) {
  const Header header{samples::chop(5), DType::bf16, {3, 0, 70000}, {1, 1, 256}};
  const auto parsed = parse_header(header_payload(header));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->codec, header.codec);
  EXPECT_EQ(parsed->dtype, header.dtype);
  EXPECT_EQ(parsed->shape, header.shape);
  EXPECT_EQ(parsed->chunk_shape, header.chunk_shape);
}

TEST(StreamFormat, RefusesAHeaderOfAnyOtherLength) {
  Bytes payload = header_payload({samples::chop(5), DType::f32, {4, 8}, {4, 8}});
  for (std::size_t length = 0; length < payload.size(); ++length) {
    const auto parsed = parse_header(std::span(payload).first(length));
    ASSERT_FALSE(parsed.ok()) << length;
    EXPECT_NE(parsed.error().code, ErrorCode::truncated) << parsed.error().message;
  }
  payload.push_back(std::byte{0});
  EXPECT_FALSE(parse_header(payload).ok());
}

TEST(StreamFormat, RefusesHeadersThatMakeNoSense) {
  const Bytes good = header_payload({samples::chop(5), DType::f32, {4, 8}, {4, 8}});
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

TEST(StreamFormat, ReadsBackTheFooterItWrote) {
  const Footer footer{{{48, 100}, {184, 7}}, {{"l2_error", 0.1}, {"raw_chunks", 1}}};
  const auto closing = encode_closing(footer, 4096).value();
  EXPECT_EQ(parse_trailer(std::span(closing).last<kTrailerBytes>()).value(), 4096u);
  const auto frame = parse_frame(std::span(closing).first<kFrameBytes>()).value();
  EXPECT_EQ(frame.type, kFoot);
  const auto payload =
      std::span<const std::byte>(closing).subspan(kFrameBytes, frame.payload_bytes);
  const auto parsed = parse_footer(payload, 2);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->index, footer.index);
  EXPECT_EQ(parsed->statistics, footer.statistics);
}

TEST(StreamFormat, ChecksTheFooterSizeWithoutOverflow) {
  EXPECT_TRUE(check_footer_size(10 + 16 * 3, 3).ok());
  EXPECT_FALSE(check_footer_size(9 + 16 * 3, 3).ok());
  EXPECT_FALSE(check_footer_size(26, std::uint64_t{1} << 60).ok());  // 16 * 2^60 is 0 in 64 bits
  EXPECT_FALSE(check_footer_size(~std::uint64_t{0}, 3).ok());
}

TEST(StreamFormat, RefusesTextsThatAreTooLongOrNotUtf8) {
  const Header header{samples::chop(5), DType::f32, {}, {}};
  const auto opening_with = [&](std::string value) {
    const std::vector<Attribute> attributes{{"name", std::move(value)}};
    return encode_opening(header, attributes).ok();
  };
  EXPECT_TRUE(opening_with(std::string(65535, 'x')));
  EXPECT_FALSE(opening_with(std::string(65536, 'x')));
  EXPECT_FALSE(opening_with("\xC3"));
}

TEST(StreamFormat, TellsUtf8FromOtherBytes) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("plain"));
  EXPECT_TRUE(
      is_utf8("\xC2\x80 \xE0\xA0\x80 \xED\x9F\xBF \xEF\xBF\xBF \xF0\x90\x80\x80 \xF4\x8F\xBF\xBF"));
  for (const char* bad : {"\x80", "\xC1\xBF", "\xC2", "\xC2g", "\xE0\x9F\xBF", "\xED\xA0\x80",
                          "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82"}) {
    EXPECT_FALSE(is_utf8(bad)) << bad;
  }
}

}  // namespace
}  // namespace tensorpress::stream
