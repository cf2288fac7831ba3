// Damaged and hostile streams: every reader must say no, and say why.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "stream/memory_io.h"
#include "unit/stream_samples.h"

namespace tensorpress {
namespace {

using samples::Bytes;
using samples::chop;
using samples::packed;
using samples::put_together;
using samples::ramp;
using samples::Section;
using samples::take_apart;

// Three chunks, attributes, and payloads that need padding.
Bytes small_stream() {
  return packed(ramp(DType::u8, {3, 5}), chop(1),
                {.chunk_shape = Shape{1, 5}, .attributes = {{"units", "m"}}});
}

std::vector<Result<Tensor>> read_all_ways(std::span<const std::byte> stream) {
  std::vector<Result<Tensor>> results;
  results.push_back(samples::read_in_memory(stream));
  results.push_back(samples::read_as_file(stream));
  results.push_back(samples::read_as_pipe(stream));
  return results;
}

void expect_refused(std::span<const std::byte> stream, ErrorCode code,
                    std::string_view words = "") {
  for (const auto& result : read_all_ways(stream)) {
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, code) << result.error().message;
    EXPECT_NE(result.error().message.find(words), std::string::npos) << result.error().message;
  }
}

Section& section_of(std::vector<Section>& sections, std::string_view type,
                    std::uint64_t number = 0) {
  return *std::ranges::find_if(sections, [&](const Section& section) {
    return section.type == type && section.number == number;
  });
}

TEST(DamagedStream, EveryFlippedBitIsNoticed) {
  const Bytes good = small_stream();
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    for (const auto& result : read_all_ways(bad)) {
      ASSERT_FALSE(result.ok()) << "bit " << bit % 8 << " of byte " << bit / 8;
    }
  }
}

// Every codec of the registry on three chunks.
std::vector<Bytes> streams_of_all_codecs() {
  std::vector<Bytes> streams;
  for (const CodecInfo& info : codecs()) {
    CompressOptions options{.chunk_shape = Shape{1, 40}};
    if (info.error_bounded) options.bound = Bound::absolute(0.25);
    streams.push_back(packed(ramp(DType::f32, {3, 40}), Codec::make(info.name).value(), options));
  }
  return streams;
}

TEST(DamagedStream, EveryFlippedByteOfEveryCodecIsNoticedAndTheOtherChunksAreStillRead) {
  for (const Bytes& good : streams_of_all_codecs()) {
    const Tensor whole = samples::read_in_memory(good).value();
    const std::size_t chunk_bytes = whole.bytes.size() / 3;
    const auto sections = take_apart(good);
    const std::uint64_t chunks = samples::load(sections.back().payload, 8, 8);
    const std::uint64_t foot = samples::load(good, good.size() - 16, 8);
    for (std::size_t at = 0; at < good.size(); ++at) {
      Bytes bad = good;
      bad[at] ^= std::byte{0x41};
      ASSERT_FALSE(samples::read_in_memory(bad).ok()) << "byte " << at;
      ASSERT_FALSE(samples::read_as_pipe(bad).ok()) << "byte " << at;
      std::vector<std::uint64_t> skipped;
      stream::ReadOptions options;
      options.skip_corrupt = [&](std::uint64_t number, const Error&) { skipped.push_back(number); };
      const auto rest = samples::read_as_file(bad, options);
      ASSERT_EQ(rest.ok(), at >= chunks && at < foot) << "byte " << at;
      if (!rest.ok()) continue;
      ASSERT_EQ(skipped.size(), 1u) << "byte " << at;
      Bytes expected = whole.bytes;
      std::fill_n(&expected[skipped[0] * chunk_bytes], chunk_bytes, std::byte{0});
      ASSERT_EQ(rest->bytes, expected) << "byte " << at;
    }
  }
}

TEST(DamagedStream, EveryCutOfEveryCodecIsNoticed) {
  for (const Bytes& good : streams_of_all_codecs()) {
    for (std::size_t length = 0; length < good.size(); ++length) {
      for (const auto& result : read_all_ways(std::span(good).first(length))) {
        ASSERT_FALSE(result.ok()) << length << " of " << good.size() << " bytes";
      }
    }
  }
}

TEST(DamagedStream, EveryCutIsNoticed) {
  const Bytes good = small_stream();
  for (std::size_t length = 0; length < good.size(); ++length) {
    for (const auto& result : read_all_ways(std::span(good).first(length))) {
      ASSERT_FALSE(result.ok()) << length;
    }
  }
}

TEST(DamagedStream, BytesAfterTheEndAreNoticed) {
  Bytes bytes = small_stream();
  bytes.resize(bytes.size() + 8);
  for (const auto& result : read_all_ways(bytes)) EXPECT_FALSE(result.ok());
}

TEST(DamagedStream, ChunksAreFoundWithoutTheFooter) {
  for (const Bytes& good : streams_of_all_codecs()) {
    const Tensor whole = samples::read_in_memory(good).value();
    const std::size_t chunk_bytes = whole.bytes.size() / 3;
    const auto sections = take_apart(good);
    const auto end_of = [&](std::size_t number) {
      return number == 2 ? samples::load(good, good.size() - 16, 8)
                         : samples::load(sections.back().payload, 8 + 16 * (number + 1), 8);
    };
    for (std::size_t length = 0; length <= good.size() + 8; ++length) {
      Bytes bytes(good.begin(),
                  good.begin() + static_cast<std::ptrdiff_t>(std::min(length, good.size())));
      bytes.resize(length, std::byte{'C'});  // something behind the end
      const samples::FileLike file(bytes);
      const auto reader = stream::StreamReader::open_without_footer(file);
      if (!reader.ok()) {
        ASSERT_LT(length, samples::load(sections.back().payload, 8, 8));
        continue;
      }
      EXPECT_EQ(reader->info().shape, whole.shape);
      std::vector<bool> found(3, true);
      stream::ReadOptions options;
      options.skip_corrupt = [&](std::uint64_t number, const Error&) { found[number] = false; };
      Tensor read = whole;
      std::ranges::fill(read.bytes, std::byte{0});
      stream::ViewSink sink(read.mutable_view());
      ASSERT_TRUE(reader->read_all(sink, options).ok());
      for (std::size_t number = 0; number < 3; ++number) {
        ASSERT_EQ(found[number], length >= end_of(number)) << length << ' ' << number;
        const auto part = [&](const Tensor& tensor) {
          return std::span(tensor.bytes).subspan(number * chunk_bytes, chunk_bytes);
        };
        ASSERT_TRUE(!found[number] || std::ranges::equal(part(read), part(whole)));
      }
    }
  }
}

TEST(DamagedStream, ChunksBehindADamagedFrameAreFoundWithoutTheFooter) {
  const Tensor tensor = ramp(DType::f32, {6, 16, 16});
  Bytes bytes = packed(tensor, chop(8), {.chunk_shape = Shape{1, 16, 16}});
  const Tensor good = samples::read_in_memory(bytes).value();
  const auto sections = take_apart(bytes);
  bytes[samples::load(sections.back().payload, 8 + 16 * 2, 8)] ^= std::byte{1};  // of chunk 2
  bytes.resize(bytes.size() - 20);
  const samples::FileLike file(bytes);
  const auto reader = stream::StreamReader::open_without_footer(file);
  ASSERT_TRUE(reader.ok());
  std::vector<std::uint64_t> skipped;
  stream::ReadOptions options;
  options.skip_corrupt = [&](std::uint64_t number, const Error&) { skipped.push_back(number); };
  Tensor read = good;
  stream::ViewSink sink(read.mutable_view());
  ASSERT_TRUE(reader->read_all(sink, options).ok());
  EXPECT_EQ(skipped, std::vector<std::uint64_t>{2});
}

/// Counts what is read.
class CountedFile : public samples::FileLike {
 public:
  using FileLike::FileLike;
  Result<void> read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    bytes_read += into.size();
    return FileLike::read_at(offset, into);
  }
  mutable std::uint64_t bytes_read = 0;
};

TEST(DamagedStream, LookingForChunksReadsEveryByteAFewTimesOnly) {
  const Tensor tensor = ramp(DType::f32, {3000, 16});
  Bytes cut = packed(tensor, chop(8), {.chunk_shape = Shape{1, 16}});
  cut.resize(cut.size() - 16);
  Bytes letters(std::size_t{1} << 18);  // behind the header: frames that are none
  const Bytes opening = packed(ramp(DType::f32, {16}), chop(8));
  for (std::size_t i = 0; i + 8 <= letters.size(); i += 8) std::memcpy(&letters[i], "CHNK", 4);
  std::ranges::copy(
      std::span(opening).first(samples::load(take_apart(opening).back().payload, 8, 8)),
      letters.begin());
  for (const Bytes& bytes : {cut, letters}) {
    const CountedFile file(bytes);
    ASSERT_TRUE(stream::StreamReader::open_without_footer(file).ok());
    EXPECT_LE(file.bytes_read, 8 * bytes.size());
  }
}

TEST(DamagedStream, OtherFilesAndVersionsAreNamed) {
  const Bytes text(64, std::byte{'x'});
  expect_refused(text, ErrorCode::corrupt, "not a .tpz stream");
  Bytes newer = small_stream();
  newer[8] = std::byte{2};
  expect_refused(newer, ErrorCode::unsupported, "version 2");
}

TEST(DamagedStream, SaysWhichChunkIsCorrupt) {
  Bytes bytes = packed(ramp(DType::f32, {20, 16, 16}), chop(4), {.chunk_shape = Shape{1, 16, 16}});
  const auto sections = take_apart(bytes);
  const std::uint64_t place = samples::load(sections.back().payload, 8 + 16 * 17, 8);
  bytes[place + 32 + 5] ^= std::byte{4};
  expect_refused(bytes, ErrorCode::corrupt, "chunk 17 is corrupt: checksum ");
}

TEST(DamagedStream, OtherChunksAreReadableWhenCorruptOnesAreSkipped) {
  const Tensor tensor = ramp(DType::f32, {6, 16, 16});
  Bytes bytes = packed(tensor, chop(8), {.chunk_shape = Shape{1, 16, 16}});
  const Tensor good = samples::read_in_memory(bytes).value();
  const auto sections = take_apart(bytes);
  for (const std::size_t number : {0u, 4u}) {
    const std::uint64_t place = samples::load(sections.back().payload, 8 + 16 * number, 8);
    bytes[place + 32 + 100] ^= std::byte{1};
  }
  Bytes expected = good.bytes;
  for (const std::size_t number : {0u, 4u})
    std::fill_n(&expected[number * 1024], 1024, std::byte{0});

  for (const std::size_t threads : {1u, 3u}) {
    std::vector<std::uint64_t> skipped;
    stream::ReadOptions options;
    options.threads = threads;
    options.skip_corrupt = [&](std::uint64_t number, const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::corrupt);
      skipped.push_back(number);
    };
    const auto as_file = samples::read_as_file(bytes, options);
    const auto as_pipe = samples::read_as_pipe(bytes, options);
    ASSERT_TRUE(as_file.ok()) << as_file.error().message;
    ASSERT_TRUE(as_pipe.ok()) << as_pipe.error().message;
    EXPECT_EQ(as_file->bytes, expected);
    EXPECT_EQ(as_pipe->bytes, expected);
    EXPECT_EQ(skipped, (std::vector<std::uint64_t>{0, 4, 0, 4}));
  }
}

TEST(DamagedStream, ADamagedFrameIsSkippedInAFileButEndsAPipe) {
  Bytes bytes = packed(ramp(DType::f32, {3, 16, 16}), chop(8), {.chunk_shape = Shape{1, 16, 16}});
  const auto sections = take_apart(bytes);
  bytes[samples::load(sections.back().payload, 8, 8)] ^= std::byte{1};  // CHNK -> BHNK
  stream::ReadOptions options;
  std::size_t skipped = 0;
  options.skip_corrupt = [&](std::uint64_t, const Error&) { ++skipped; };
  EXPECT_TRUE(samples::read_as_file(bytes, options).ok());
  EXPECT_EQ(skipped, 1u);
  EXPECT_FALSE(samples::read_as_pipe(bytes, options).ok());
}

TEST(HostileStream, UnknownAncillarySectionsAreSkipped) {
  const Bytes good = small_stream();
  const Tensor expected = samples::read_in_memory(good).value();
  auto sections = take_apart(good);
  sections.insert(sections.begin() + 1, {"note", 7, 9, Bytes(5000, std::byte{'n'})});
  sections.insert(sections.end() - 1, {"zzZZ", 0, 0, {}});
  for (const auto& result : read_all_ways(put_together(sections))) {
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result->bytes, expected.bytes);
  }
}

TEST(HostileStream, UnknownCriticalSectionsAreRefused) {
  for (const int place : {1, 5}) {
    auto sections = take_apart(small_stream());
    sections.insert(sections.begin() + place, {"NEWS", 0, 0, Bytes(8)});
    expect_refused(put_together(sections), ErrorCode::unsupported, "NEWS");
  }
}

TEST(HostileStream, SectionsOutOfPlaceAreRefused) {
  const auto good = take_apart(small_stream());  // HEAD attr CHNK CHNK CHNK FOOT
  ASSERT_EQ(good.size(), 6u);
  const auto refused = [](const std::vector<Section>& sections) {
    for (const auto& result : read_all_ways(put_together(sections))) {
      if (result.ok()) return false;
    }
    return true;
  };
  auto two_heads = good;
  two_heads.insert(two_heads.begin() + 1, good[0]);
  EXPECT_TRUE(refused(two_heads));
  auto two_attributes = good;
  two_attributes.insert(two_attributes.begin() + 1, good[1]);
  EXPECT_TRUE(refused(two_attributes));
  auto late_attributes = good;
  std::swap(late_attributes[1], late_attributes[4]);
  EXPECT_TRUE(refused(late_attributes));
  auto note_between_chunks = good;
  note_between_chunks.insert(note_between_chunks.begin() + 3, {"note", 0, 0, Bytes(8)});
  EXPECT_TRUE(refused(note_between_chunks));
}

TEST(HostileStream, ChunksInsideOfAnotherSectionAreRefused) {
  // The payload of `note` is a chunk as it stands in the stream, and the index points into it.
  const Bytes good = packed(ramp(DType::u8, {5}), chop(1));
  const auto sections = take_apart(good);
  const std::uint64_t chunk = samples::load(sections.back().payload, 8, 8);
  const std::uint64_t footer = samples::load(good, good.size() - 16, 8);
  const Bytes note(good.begin() + static_cast<std::ptrdiff_t>(chunk),
                   good.begin() + static_cast<std::ptrdiff_t>(footer));
  auto hiding = sections;
  ASSERT_EQ(hiding.size(), 3u);  // HEAD CHNK FOOT
  hiding[1] = {"note", 0, 0, note};
  constexpr std::uint64_t kFrame = 32;
  samples::store(hiding.back().payload, 8, 8, chunk + kFrame);
  expect_refused(put_together(hiding, false), ErrorCode::corrupt);
}

TEST(HostileStream, RegionsOfChunksAboveTheLimitAreRefusedBeforeAnythingIsAllocated) {
  const std::vector<float> same(std::size_t{1} << 20, 3.5f);
  const Shape shape{std::uint64_t{1} << 20};
  const auto stream = compress(view_of(same, shape), Codec::make("ceresz").value(),
                               Bound::absolute(1e-3), {.chunk_shape = shape});
  ASSERT_TRUE(stream.ok());
  std::vector<float> one(1);
  const Region first{{0}, Shape{1}};
  const auto read = [&](std::uint64_t max_bytes) {
    return Decompressor({.max_bytes = max_bytes}).decompress(*stream, first, view_of(one, {1}));
  };
  const auto refused = read(1024);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::too_large);
  EXPECT_NE(refused.error().message.find("4 MiB"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(read(std::uint64_t{4} << 20).ok());
  EXPECT_EQ(one.front(), 3.5f);
}

TEST(HostileStream, SwappedMissingAndRepeatedChunksAreRefused) {
  const auto good = take_apart(small_stream());
  auto swapped = good;
  std::swap(swapped[2], swapped[3]);
  expect_refused(put_together(swapped), ErrorCode::corrupt, "chunk 1 stands in its place");
  auto repeated = good;
  repeated[3] = repeated[2];
  expect_refused(put_together(repeated), ErrorCode::corrupt, "chunk 0 stands in its place");
  auto missing = good;
  missing.erase(missing.begin() + 4);
  expect_refused(put_together(missing, false), ErrorCode::corrupt);
  auto too_many = good;
  too_many.insert(too_many.begin() + 5, good[4]);
  expect_refused(put_together(too_many, false), ErrorCode::corrupt);
}

TEST(HostileStream, UnknownChunkFlagsAreRefused) {
  auto sections = take_apart(small_stream());
  section_of(sections, "CHNK", 1).flags |= 2;
  expect_refused(put_together(sections), ErrorCode::corrupt, "chunk 1");
}

TEST(HostileStream, FooterLiesAreRefused) {
  const auto good = take_apart(small_stream());
  const auto refuse = [&](std::size_t offset, std::uint64_t value) {
    auto sections = good;
    samples::store(section_of(sections, "FOOT").payload, offset, 8, value);
    expect_refused(put_together(sections, false), ErrorCode::corrupt);
  };
  const Bytes& foot = good.back().payload;
  for (const std::uint64_t count : {0ull, 2ull, 4ull, 1ull << 60, ~0ull}) refuse(0, count);
  for (std::size_t field = 8; field < 8 + 16 * 3; field += 8) {
    const std::uint64_t truth = samples::load(foot, field, 8);
    for (const std::uint64_t lie : {truth + 8, truth - 8, truth + 1, std::uint64_t{0}, 1ul << 63,
                                    ~std::uint64_t{0}, ~std::uint64_t{7}}) {
      refuse(field, lie);
    }
  }
  auto longer = good;
  longer.back().payload.resize(foot.size() + 8);
  expect_refused(put_together(longer), ErrorCode::corrupt);
}

TEST(HostileStream, EndMarksThatPointElsewhereAreRefused) {
  const Bytes good = small_stream();
  const std::uint64_t truth = samples::load(good, good.size() - 16, 8);
  for (const std::uint64_t lie : {truth - 8, truth + 8, std::uint64_t{0}, std::uint64_t{16},
                                  std::uint64_t{good.size()}, ~std::uint64_t{0}, 1ul << 63}) {
    Bytes bad = good;
    samples::store(bad, bad.size() - 16, 8, lie);
    expect_refused(bad, ErrorCode::corrupt);
  }
}

// None of these may allocate what they claim: the machine has no such memory.
TEST(HostileStream, AbsurdShapesAreRefusedBeforeAnythingIsAllocated) {
  const auto good = take_apart(packed(ramp(DType::f64, {16, 16}), chop(1)));
  const auto with_shape = [&](std::uint64_t rows, std::uint64_t columns) {
    auto sections = good;
    Bytes& head = sections.front().payload;
    for (const std::size_t field : {8u, 24u}) {  // shape, chunk_shape
      samples::store(head, field, 8, rows);
      samples::store(head, field + 8, 8, columns);
    }
    return put_together(sections);
  };
  expect_refused(with_shape(1ull << 63, 1ull << 63), ErrorCode::too_large, "shape");
  expect_refused(with_shape(1ull << 60, 1), ErrorCode::too_large, "shape");
  expect_refused(with_shape(~0ull, 0), ErrorCode::too_large, "shape");
  for (const std::uint64_t rows : {1ull << 20, 1ull << 36, 1ull << 45, 1ull << 55}) {
    for (const auto& result : read_all_ways(with_shape(rows, 16)))
      EXPECT_FALSE(result.ok()) << rows;
  }
}

TEST(HostileStream, ManyTinyChunksAreRefusedWithoutAnIndexOfThem) {
  auto sections = take_apart(packed(ramp(DType::u8, {64, 64}), chop(1)));
  Bytes& head = sections.front().payload;
  samples::store(head, 8, 8, 1ull << 24);
  samples::store(head, 16, 8, 1ull << 24);
  samples::store(head, 24, 8, 1);
  samples::store(head, 32, 8, 1);
  for (const auto& result : read_all_ways(put_together(sections))) EXPECT_FALSE(result.ok());
}

TEST(HostileStream, SectionsThatClaimEverythingAreRefused) {
  const Bytes good = small_stream();
  std::size_t at = 16;
  for (const auto& section : take_apart(good)) {
    for (const std::uint64_t claim : {1ull << 21, 1ull << 40, 1ull << 63, ~0ull, ~7ull}) {
      Bytes bad = good;
      samples::store(bad, at + 16, 8, claim);
      for (const auto& result : read_all_ways(bad)) EXPECT_FALSE(result.ok()) << section.type;
    }
    at += 32 + (section.payload.size() + 7) / 8 * 8;
  }
}

TEST(HostileStream, CodecsOfTheFutureAreNamed) {
  auto sections = take_apart(small_stream());
  Bytes& head = section_of(sections, "HEAD").payload;
  samples::store(head, 42, 1, 'X');
  expect_refused(put_together(sections), ErrorCode::unsupported, "Xct-chop");
}

}  // namespace
}  // namespace tensorpress
