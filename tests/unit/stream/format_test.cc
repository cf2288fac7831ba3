// The parts of a stream of version 2, one by one, and how many bytes they have.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/bytes.h"
#include "base/utf8.h"
#include "stream/container/compact/contents.h"
#include "stream/container/compact/defaults.h"
#include "stream/container/compact/index.h"
#include "stream/container/compact/words.h"
#include "unit/stream/compact_samples.h"

namespace tensorpress::stream::compact {
namespace {

using samples::Bytes;

Bytes head_of(const Header& header) {
  const auto opening = encode_opening(header, {}).value();
  return Bytes(opening.begin() + 14, opening.end() - 5);  // 12 + H + size; checksum, C
}

TEST(StreamFormat, SumsUpRecordsAndSectionsAsTheSpecificationSays) {
  // XXH3_64 of no bytes is 2d06800538d394c2 (xxhash's own test vector); it seeds the second one.
  EXPECT_EQ(checksum_of({}), 0x2d06800538d394c2u);
  Bytes fields(16);
  std::memcpy(fields.data(), "\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 16);
  EXPECT_EQ(Record::coded(0).seal(2).found(checksum_of({})),
            checksum_of(fields, 0x2d06800538d394c2u) & 0xFFFFFFFF);
  Bytes section(9);
  std::memcpy(section.data(), "H\0\0\0\0\0\0\0\0", 9);
  EXPECT_EQ(section_checksum('H', 0, checksum_of({})), checksum_of(section, 0x2d06800538d394c2u));
}

TEST(StreamFormat, ReadsBackTheHeaderItWrote) {
  const Header header{samples::chop(5), DType::bf16, {3, 0, 70000}, {1, 1, 256}};
  const auto parsed = parse_header(head_of(header));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->codec, header.codec);
  EXPECT_EQ(parsed->dtype, header.dtype);
  EXPECT_EQ(parsed->shape, header.shape);
  EXPECT_EQ(parsed->chunk_shape, header.chunk_shape);
}

TEST(StreamFormat, RefusesAHeaderOfAnyOtherLength) {
  Bytes payload = head_of({samples::chop(5), DType::f32, {4, 8}, {4, 8}});
  for (std::size_t length = 0; length < payload.size(); ++length) {
    const auto parsed = parse_header(std::span(payload).first(length));
    ASSERT_FALSE(parsed.ok()) << length;
    EXPECT_NE(parsed.error().code, ErrorCode::truncated) << parsed.error().message;
  }
  payload.push_back(std::byte{0});
  EXPECT_FALSE(parse_header(payload).ok());
}

TEST(StreamFormat, RefusesHeadersThatMakeNoSense) {
  // f32 and rank 2; 4 x 8; 4 x 8; dct-chop; one parameter: cf = "5".
  const Bytes good = head_of({samples::chop(5), DType::f32, {4, 8}, {4, 8}});
  ASSERT_EQ(good.size(), 10u);
  const auto code_with = [&](std::size_t offset, std::uint64_t value) {
    Bytes bad = good;
    samples::store(bad, offset, 1, value);
    const auto parsed = parse_header(bad);
    return parsed.ok() ? ErrorCode{} : parsed.error().code;
  };
  EXPECT_EQ(code_with(0, 0x2F), ErrorCode::unsupported);      // dtype
  EXPECT_EQ(code_with(0, 0x91), ErrorCode::unsupported);      // rank
  EXPECT_EQ(code_with(5, 128 + 99), ErrorCode::unsupported);  // a word of the future
  EXPECT_EQ(code_with(5, 128 + 43), ErrorCode::unsupported);  // no codec
  EXPECT_EQ(code_with(9, 0xFF), ErrorCode::corrupt);          // not UTF-8
  Bytes huge = good;
  huge.erase(huge.begin() + 1);
  const Bytes extent(9, std::byte{0xFF});
  huge.insert(huge.begin() + 1, extent.begin(), extent.end());
  huge.insert(huge.begin() + 10, std::byte{1});
  EXPECT_EQ(parse_header(huge).error().code, ErrorCode::too_large);
}

TEST(StreamFormat, AHeaderNamesOnlyWhatIsNotTheDefault) {
  const auto bytes = [](const Codec& codec) {
    return head_of({codec, DType::f32, {100, 100}, {100, 100}}).size();
  };
  EXPECT_EQ(bytes(samples::chop(4)), 7u);
  EXPECT_EQ(bytes(samples::chop(8)), 9u);  // "8" is a word
  EXPECT_EQ(bytes(samples::chop(4, "triangle")), 9u);
}

// Streams leave them out, whatever a codec does for users who say nothing.
TEST(StreamFormat, DefaultsNeverChangeAndComeBackWhateverACodecPrefers) {
  std::string all;
  for (const Default& each : kDefaults) {
    all += std::string(each.codec) + " " + std::string(each.parameter) + "=" +
           std::string(each.value) + ", ";
  }
  EXPECT_EQ(all,
            "dense effort=normal, ceresz2 codebook=default, dct-chop cf=4, dct-chop layout=square, "
            "dct-chop transform=dct, dct-chop coefficients=f32, dct-chop form=block, "
            "dct-chop serialize=1, quantize bits=4, quantize group=256, quantize rounding=nearest, "
            "quantize seed=0, cast to=bf16, ");
  for (const std::string effort : {"fast", "normal", "best"}) {
    const Codec codec = Codec::make("dense", std::vector<Parameter>{{"effort", effort}}).value();
    const auto read = parse_header(head_of({codec, DType::f32, {4}, {4}}));
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->codec.parameter("effort"), effort);
  }
}

TEST(StreamFormat, WordsComeBackAndNeverMove) {
  EXPECT_EQ(words().front(), "dense");
  EXPECT_EQ(words().back(), "long_name");
  EXPECT_EQ(words().size(), 50u);
  const std::string long_text(65535, 'x');
  for (const std::string& value :
       {std::string(), std::string("dense"), std::string("a"), std::string(127, 'b'),
        std::string(128, 'c'), long_text, std::string("0.00012345678901234"), std::string("1e-300"),
        std::string("1.50000000000000"), std::string("-1e+34 1e+20")}) {
    ByteWriter writer;
    ASSERT_TRUE(write_word(writer, value).ok());
    ByteReader reader(writer.bytes());
    const auto read = read_word(reader);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(*read, value);
    EXPECT_EQ(reader.remaining(), 0u);
  }
  ByteWriter number;
  ASSERT_TRUE(write_word(number, "0.00012345678901234").ok());
  EXPECT_EQ(number.size(), 9u);
}

std::vector<std::byte> index_of(std::span<const ChunkOutline> chunks) {
  IndexWriter writer;
  Repeats repeats;
  for (const ChunkOutline& each : chunks) {
    const auto payload = each.short_payload();
    if (each.chunk.raw) {
      writer.add_raw();
    } else if (repeats.is_repeat(payload)) {
      writer.add_repeat();
    } else {
      writer.add_coded(each.chunk.bytes, payload);
    }
  }
  return std::move(writer).finish();
}

ChunkOutline coded(const Bytes& payload) {
  return ChunkOutline::of({.bytes = payload.size()}, payload);
}

TEST(StreamFormat, AnIndexHasAFewBytesForRunsOfAnyLength) {
  const Bytes constant(5, std::byte{7});
  const std::vector<ChunkOutline> empty(1000000, coded(constant));
  EXPECT_EQ(index_of(empty).size(), 1u + 4 + 5);  // one size, one run, and what is repeated
  std::vector<ChunkOutline> mixed(64, coded(constant));
  for (std::size_t i = 1; i < mixed.size(); i += 2) mixed[i] = coded(Bytes(100 + i % 8));
  EXPECT_LE(index_of(mixed).size(), 32 * 3u + 8);
}

ChunkDecoder decoder_of(const Shape& shape, const Shape& chunk) {
  const Codec codec = Codec::make("dense").value();
  return ChunkDecoder::make({codec, DType::f32, shape, chunk}).value();
}

TEST(StreamFormat, AnIndexTellsWhereEveryChunkIs) {
  const ChunkDecoder decoder = decoder_of({70}, {8});  // the last chunk has 6 elements
  const Bytes zeros(5), ones(5, std::byte{1}), some(20, std::byte{2});
  const std::vector<ChunkOutline> chunks = {
      coded(zeros), coded(zeros), {.chunk = {.bytes = 32, .raw = true}, .payload = {}},
      coded(some),  coded(ones),  coded(ones),
      coded(zeros), coded(zeros), {.chunk = {.bytes = 24, .raw = true}, .payload = {}}};
  const auto tokens = index_of(chunks);
  ByteReader reader(tokens);
  const auto index = Index::parse(reader, decoder, 1000, 1200);
  ASSERT_TRUE(index.ok()) << index.error().message;
  EXPECT_EQ(reader.remaining(), 0u);
  const std::vector<std::uint64_t> offsets = {1000, 1010, 1011, 1048, 1073, 1083, 1084, 1094, 1095};
  for (std::size_t i = 0; i < chunks.size(); ++i)
    EXPECT_EQ(index->place(i).offset, offsets[i]) << i;
  EXPECT_EQ(index->end(), 1095u + 1 + 24 + 4);
  EXPECT_EQ(index->raw_chunks(), 2u);
  ASSERT_NE(index->place(5).repeated, nullptr);
  EXPECT_EQ(Bytes(index->place(5).repeated->span().begin(), index->place(5).repeated->span().end()),
            ones);
  EXPECT_EQ(index->place(3).record.payload_bytes, 20u);
}

TEST(StreamFormat, RefusesIndexesThatMakeNoSense) {
  const ChunkDecoder decoder = decoder_of({64}, {8});
  const auto refused = [&](const Bytes& tokens, std::uint64_t end) {
    ByteReader reader(tokens);
    return !Index::parse(reader, decoder, 100, end).ok();
  };
  const auto bytes = [](std::initializer_list<int> values) {
    Bytes made;
    for (const int value : values) made.push_back(static_cast<std::byte>(value));
    return made;
  };
  const Bytes good = bytes({8 * 4 + 1});  // eight raw chunks of 37 bytes each
  EXPECT_FALSE(refused(good, 100 + 8 * 37));
  EXPECT_TRUE(refused(good, 100 + 8 * 37 - 1));
  EXPECT_TRUE(refused(good, 99));
  EXPECT_TRUE(refused(bytes({9 * 4 + 1}), 10000));                // one too many
  EXPECT_TRUE(refused(bytes({7 * 4 + 1}), 10000));                // one too few
  EXPECT_TRUE(refused(bytes({1, 8 * 4 + 1}), 10000));             // a run of none
  EXPECT_TRUE(refused(bytes({8 * 4}), 10000));                    // repeats of nothing
  EXPECT_TRUE(refused(bytes({3 * 4 * 2 + 3, 7 * 4, 1}), 10000));  // what is repeated is cut off
  EXPECT_TRUE(refused(bytes({1 * 4 + 3, 7 * 4 + 1}), 10000));     // -1 bytes
  EXPECT_TRUE(refused(bytes({66 * 2 * 4 % 128 + 128 + 3, 66 * 2 * 4 / 128}), 10000));  // above raw
}

TEST(StreamFormat, AShortStreamCannotClaimManyChunks) {
  const ChunkDecoder decoder = decoder_of({std::uint64_t{1} << 58}, {1});
  ByteWriter tokens;
  tokens.write_varint(1 << 2 | 3);
  ByteReader reader(tokens.bytes());
  const auto index = Index::parse(reader, decoder, 100, 1 << 20);
  ASSERT_FALSE(index.ok());
  EXPECT_NE(index.error().message.find("no room"), std::string::npos) << index.error().message;
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

TEST(StreamFormat, AStreamOfOneChunkHasLessThan96BytesBesideItsPayload) {
  for (const Shape& shape : {Shape{16}, Shape{100, 100}, Shape{64, 64, 64}}) {
    std::vector<float> waves(shape.element_count());  // with a range of many digits
    for (std::size_t i = 0; i < waves.size(); ++i)
      waves[i] = std::sin(0.1F * static_cast<float>(i));
    Tensor tensor{.dtype = DType::f32, .shape = shape};
    tensor.bytes.resize(4 * waves.size());
    std::memcpy(tensor.bytes.data(), waves.data(), tensor.bytes.size());
    for (const Bound& bound : {Bound::absolute(0.001), Bound::relative(1e-4)}) {
      const Bytes bytes = samples::packed(tensor, Codec::make("dense").value(),
                                          {.bound = bound, .chunk_shape = shape});
      EXPECT_LE(bytes.size() - read_info(bytes)->payload_bytes, 96u) << shape.to_string();
    }
  }
}

TEST(StreamFormat, AConstantChunkHasTwoBytesAtMost) {
  Tensor tensor{.dtype = DType::f32, .shape = {512, 64}};
  tensor.bytes.resize(512 * 64 * 4);
  const auto bytes_with = [&](std::uint64_t rows) {
    return samples::packed(tensor, Codec::make("dense").value(),
                           {.bound = Bound::absolute(0.1), .chunk_shape = Shape{rows, 64}})
        .size();
  };
  EXPECT_LE(bytes_with(1) - bytes_with(512), 2 * 511u);
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
}  // namespace tensorpress::stream::compact
