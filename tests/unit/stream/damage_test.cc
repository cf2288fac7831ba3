// Damaged streams: every reader must say no, and say why, and what is whole is still read.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tensorpress/streaming.h"
#include "unit/stream/refusals.h"

namespace tensorpress {
namespace {

using samples::Bytes;
using samples::chop;
using samples::expect_refused;
using samples::packed;
using samples::ramp;
using samples::read_all_ways;
using samples::small_stream;
using samples::small_streams;

void fill_with_nan(std::span<std::byte> elements) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t at = 0; at < elements.size(); at += sizeof nan) {
    std::memcpy(&elements[at], &nan, sizeof nan);
  }
}

/// Zeros, and in their middle a chunk that is not: repeats before and behind it.
Bytes nearly_empty_stream() {
  Tensor tensor{.dtype = DType::f32, .shape = {9, 40}};
  tensor.bytes.resize(std::size_t{4} * 9 * 40);
  for (std::size_t i = 0; i < 40; ++i) {  // nothing that would become short enough to be repeated
    const auto some = static_cast<float>(1000 * std::sin(static_cast<double>(i * i)));
    std::memcpy(&tensor.bytes[4 * 160 + 4 * i], &some, sizeof some);
  }
  return packed(tensor, Codec::make("dense").value(),
                {.bound = Bound::absolute(0.25), .chunk_shape = Shape{1, 40}});
}

TEST(DamagedStream, EveryFlippedBitIsNoticed) {
  auto streams = small_streams();
  streams.push_back(nearly_empty_stream());
  for (const Bytes& good : streams) {
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
      Bytes bad = good;
      bad[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
      for (const auto& result : read_all_ways(bad)) {
        ASSERT_FALSE(result.ok()) << "bit " << bit % 8 << " of byte " << bit / 8;
      }
    }
  }
}

TEST(DamagedStream, ADamagedConstantIsNoDamageToItsRepeatsInAFile) {
  Bytes bytes = nearly_empty_stream();
  const Tensor whole = samples::read_in_memory(bytes).value();
  ASSERT_EQ(samples::take_apart_compact(bytes).records[1].code, 2u);
  bytes[samples::places_of_chunks(bytes)[0].payload + 2] ^= std::byte{1};
  DecompressOptions options;
  std::vector<std::uint64_t> skipped;
  options.skip_corrupt = [&](const auto& chunk) { skipped.push_back(chunk.number); };
  Bytes expected = whole.bytes;
  fill_with_nan(std::span(expected).first(160));
  const auto as_file = samples::read_as_file(bytes, options);
  ASSERT_TRUE(as_file.ok()) << as_file.error().message;
  EXPECT_EQ(as_file->bytes, expected);
  EXPECT_EQ(skipped, std::vector<std::uint64_t>{0});

  // A pipe knows no other copy: what repeats it is lost too, and the rest is not.
  skipped.clear();
  const auto as_pipe = samples::read_as_pipe(bytes, options);
  ASSERT_TRUE(as_pipe.ok()) << as_pipe.error().message;
  EXPECT_EQ(skipped, (std::vector<std::uint64_t>{0, 1, 2, 3, 5, 6, 7, 8}));
}

TEST(DamagedStream, RepeatsAreFoundWithoutTheFooterWhereSomethingProvesTheirNumber) {
  const Bytes good = nearly_empty_stream();
  const Tensor whole = samples::read_in_memory(good).value();
  Bytes cut(good.begin(),
            good.begin() + static_cast<std::ptrdiff_t>(samples::place_of_footer(good)));
  cut.resize(cut.size() + 20);  // a disk may leave zeros
  const samples::FileLike file(cut);
  const auto reader = StreamReader::open_without_footer(file);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  std::vector<std::uint64_t> skipped;
  DecompressOptions options;
  options.skip_corrupt = [&](const auto& chunk) { skipped.push_back(chunk.number); };
  Tensor read = whole;
  ViewSink sink(read.mutable_view());
  ASSERT_TRUE(reader->read_all(sink, options).ok());
  EXPECT_EQ(skipped, (std::vector<std::uint64_t>{5, 6, 7, 8}));
  EXPECT_TRUE(std::equal(read.bytes.begin(), read.bytes.begin() + 800, whole.bytes.begin()));
}

// Every codec of the registry on three chunks, in both versions of the format.
std::vector<Bytes> streams_of_all_codecs() {
  std::vector<Bytes> streams;
  for (const CodecInfo& info : codecs()) {
    CompressOptions options{.chunk_shape = Shape{1, 40}};
    if (info.error_bounded) options.bound = Bound::absolute(0.25);
    streams.push_back(packed(ramp(DType::f32, {3, 40}), Codec::make(info.name).value(), options));
    streams.push_back(samples::in_version_1(streams.back()));
  }
  return streams;
}

TEST(DamagedStream, EveryFlippedByteOfEveryCodecIsNoticedAndTheOtherChunksAreStillRead) {
  for (const Bytes& good : streams_of_all_codecs()) {
    const Tensor whole = samples::read_in_memory(good).value();
    const std::size_t chunk_bytes = whole.bytes.size() / 3;
    const std::size_t chunks = samples::places_of_chunks(good).front().begin;
    const std::size_t foot = samples::place_of_footer(good);
    for (std::size_t at = 0; at < good.size(); ++at) {
      Bytes bad = good;
      bad[at] ^= std::byte{0x41};
      ASSERT_FALSE(samples::read_in_memory(bad).ok()) << "byte " << at;
      ASSERT_FALSE(samples::read_as_pipe(bad).ok()) << "byte " << at;
      std::vector<std::uint64_t> skipped;
      DecompressOptions options;
      options.skip_corrupt = [&](const auto& chunk) { skipped.push_back(chunk.number); };
      const auto rest = samples::read_as_file(bad, options);
      ASSERT_EQ(rest.ok(), at >= chunks && at < foot) << "byte " << at;
      if (!rest.ok()) continue;
      ASSERT_EQ(skipped.size(), 1u) << "byte " << at;
      Bytes expected = whole.bytes;
      fill_with_nan(std::span(expected).subspan(skipped[0] * chunk_bytes, chunk_bytes));
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
  auto streams = small_streams();
  streams.push_back(nearly_empty_stream());
  for (const Bytes& good : streams) {
    for (std::size_t length = 0; length < good.size(); ++length) {
      for (const auto& result : read_all_ways(std::span(good).first(length))) {
        ASSERT_FALSE(result.ok()) << length;
      }
    }
  }
}

TEST(DamagedStream, BytesAfterTheEndAreNoticed) {
  for (Bytes bytes : small_streams()) {
    bytes.resize(bytes.size() + 8);
    for (const auto& result : read_all_ways(bytes)) EXPECT_FALSE(result.ok());
  }
}

TEST(DamagedStream, ChunksAreFoundWithoutTheFooter) {
  for (const Bytes& good : streams_of_all_codecs()) {
    const Tensor whole = samples::read_in_memory(good).value();
    const std::size_t chunk_bytes = whole.bytes.size() / 3;
    const auto places = samples::places_of_chunks(good);
    for (std::size_t length = 0; length <= good.size() + 8; ++length) {
      Bytes bytes(good.begin(),
                  good.begin() + static_cast<std::ptrdiff_t>(std::min(length, good.size())));
      bytes.resize(length, std::byte{'C'});  // something behind the end
      const samples::FileLike file(bytes);
      const auto reader = StreamReader::open_without_footer(file);
      if (!reader.ok()) {
        ASSERT_LT(length, places.front().begin);
        continue;
      }
      EXPECT_EQ(reader->info().shape, whole.shape);
      std::vector<bool> found(3, true);
      DecompressOptions options;
      options.skip_corrupt = [&](const auto& chunk) { found[chunk.number] = false; };
      Tensor read = whole;
      std::ranges::fill(read.bytes, std::byte{0});
      ViewSink sink(read.mutable_view());
      ASSERT_TRUE(reader->read_all(sink, options).ok());
      for (std::size_t number = 0; number < 3; ++number) {
        ASSERT_EQ(found[number], length >= places[number].end) << length << ' ' << number;
        const auto part = [&](const Tensor& tensor) {
          return std::span(tensor.bytes).subspan(number * chunk_bytes, chunk_bytes);
        };
        ASSERT_TRUE(!found[number] || std::ranges::equal(part(read), part(whole)));
      }
    }
  }
}

/// What is not found of a stream whose chunk 2 has its first byte damaged, and whose end is gone.
std::vector<std::uint64_t> lost_behind_damage(Bytes bytes) {
  const Tensor good = samples::read_in_memory(bytes).value();
  bytes[samples::places_of_chunks(bytes)[2].begin] ^= std::byte{1};
  bytes.resize(bytes.size() - 20);
  const samples::FileLike file(bytes);
  const auto reader = StreamReader::open_without_footer(file).value();
  std::vector<std::uint64_t> skipped;
  DecompressOptions options;
  options.skip_corrupt = [&](const auto& chunk) { skipped.push_back(chunk.number); };
  Tensor read = good;
  ViewSink sink(read.mutable_view());
  EXPECT_TRUE(reader.read_all(sink, options).ok());
  return skipped;
}

TEST(DamagedStream, ChunksBehindADamagedOneAreFoundWithoutTheFooter) {
  const Bytes small =
      packed(ramp(DType::f32, {6, 16, 16}), chop(8), {.chunk_shape = Shape{1, 16, 16}});
  const Bytes large =
      packed(ramp(DType::f32, {6, 48, 48}), chop(8), {.chunk_shape = Shape{1, 48, 48}});
  for (const Bytes& bytes : {small, large, samples::in_version_1(small)}) {
    EXPECT_EQ(lost_behind_damage(bytes), std::vector<std::uint64_t>{2});
  }
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

/// `stream` up to its first chunk, and then nothing but the beginnings of chunks.
Bytes with_false_chunks(const Bytes& stream, std::string_view beginning) {
  Bytes bytes(std::size_t{1} << 18);
  for (std::size_t i = 0; i + beginning.size() <= bytes.size(); i += beginning.size()) {
    std::memcpy(&bytes[i], beginning.data(), beginning.size());
  }
  std::ranges::copy(std::span(stream).first(samples::places_of_chunks(stream).front().begin),
                    bytes.begin());
  return bytes;
}

TEST(DamagedStream, LookingForChunksReadsEveryByteAFewTimesOnly) {
  Bytes cut = packed(ramp(DType::f32, {3000, 16}), chop(8), {.chunk_shape = Shape{1, 16}});
  Bytes cut_1 = samples::in_version_1(cut);
  cut.resize(cut.size() - 16);
  cut_1.resize(cut_1.size() - 16);
  const Bytes small = samples::in_version_1(packed(ramp(DType::f32, {16}), chop(8)));
  const Bytes large = packed(ramp(DType::f32, {1 << 16}), Codec::make("dense").value(),
                             {.bound = Bound::absolute(0.25), .chunk_shape = Shape{1 << 14}});
  using namespace std::string_view_literals;
  for (const Bytes& bytes : {cut, cut_1, with_false_chunks(small, "CHNK\0\0\0\0"sv),
                             with_false_chunks(large,
                                               "\x83\xA0\x01"
                                               "CHNK"sv)}) {
    const CountedFile file(bytes);
    ASSERT_TRUE(StreamReader::open_without_footer(file).ok());
    EXPECT_LE(file.bytes_read, 8 * bytes.size());
  }
}

TEST(DamagedStream, OtherFilesAndVersionsAreNamed) {
  const Bytes text(64, std::byte{'x'});
  expect_refused(text, ErrorCode::corrupt, "not a .tpz stream");
  Bytes newer = small_stream();
  newer[8] = std::byte{3};
  expect_refused(newer, ErrorCode::unsupported, "version 3");
}

TEST(DamagedStream, SaysWhichChunkIsCorrupt) {
  const Bytes good =
      packed(ramp(DType::f32, {20, 16, 16}), chop(4), {.chunk_shape = Shape{1, 16, 16}});
  for (Bytes bytes : {good, samples::in_version_1(good)}) {
    bytes[samples::places_of_chunks(bytes)[17].payload + 5] ^= std::byte{4};
    expect_refused(bytes, ErrorCode::corrupt, "chunk 17 is corrupt: checksum ");
  }
}

TEST(DamagedStream, OtherChunksAreReadableWhenCorruptOnesAreSkipped) {
  const Tensor tensor = ramp(DType::f32, {6, 16, 16});
  Bytes bytes = packed(tensor, chop(8), {.chunk_shape = Shape{1, 16, 16}});
  const Tensor good = samples::read_in_memory(bytes).value();
  const auto places = samples::places_of_chunks(bytes);
  for (const std::size_t number : {0u, 4u}) bytes[places[number].payload + 100] ^= std::byte{1};
  Bytes expected = good.bytes;
  for (const std::size_t number : {0u, 4u})
    fill_with_nan(std::span(expected).subspan(number * 1024, 1024));

  for (const std::size_t threads : {1u, 3u}) {
    std::vector<std::uint64_t> skipped;
    DecompressOptions options;
    options.threads = threads;
    options.skip_corrupt = [&](const auto& chunk) {
      EXPECT_EQ(chunk.error.code, ErrorCode::corrupt);
      skipped.push_back(chunk.number);
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

TEST(DamagedStream, ADamagedBeginningOfAChunkIsSkippedInAFileButEndsAPipe) {
  const Bytes good =
      packed(ramp(DType::f32, {3, 16, 16}), chop(8), {.chunk_shape = Shape{1, 16, 16}});
  for (Bytes bytes : {good, samples::in_version_1(good)}) {
    bytes[samples::places_of_chunks(bytes)[0].begin] ^= std::byte{1};
    DecompressOptions options;
    std::size_t skipped = 0;
    options.skip_corrupt = [&](const auto&) { ++skipped; };
    EXPECT_TRUE(samples::read_as_file(bytes, options).ok());
    EXPECT_EQ(skipped, 1u);
    EXPECT_FALSE(samples::read_as_pipe(bytes, options).ok());
  }
}

template <class T>
struct Lost {
  T element{};  // what stands in the place of chunk 1 of two, and what is said about it:
  std::uint64_t number = 0;
  Region region = {};
  double value = 0;
};

template <class T>
Lost<T> lose_a_chunk(const Codec& codec, CompressOptions options) {
  options.chunk_shape = Shape{1, 16};
  Bytes bytes = packed(ramp(kDTypeOf<T>, {2, 16}), codec, options);
  bytes[samples::places_of_chunks(bytes)[1].payload] ^= std::byte{1};
  Lost<T> lost;
  DecompressOptions reading;
  reading.skip_corrupt = [&](const SkippedChunk& chunk) {
    lost = {.number = chunk.number, .region = chunk.region, .value = chunk.value};
  };
  const Tensor read = samples::read_as_file(bytes, reading).value();
  std::memcpy(&lost.element, &read.bytes[16 * sizeof(T)], sizeof(T));
  for (std::size_t i = 17; i < 32; ++i) {
    EXPECT_EQ(std::memcmp(&read.bytes[i * sizeof(T)], &lost.element, sizeof(T)), 0) << i;
  }
  return lost;
}

TEST(DamagedStream, LostElementsAreNanOrTheFillValueAndZeroOnlyAmongWholeNumbers) {
  const Codec dense = Codec::make("dense").value();
  const CompressOptions plain{.bound = Bound::absolute(0.25)};
  const auto lost = lose_a_chunk<float>(dense, plain);
  EXPECT_TRUE(std::isnan(lost.element) && std::isnan(lost.value));
  EXPECT_EQ(lost.number, 1u);
  EXPECT_EQ(lost.region.origin[0], 1u);
  EXPECT_EQ(lost.region.extent, (Shape{1, 16}));
  EXPECT_TRUE(std::isnan(lose_a_chunk<double>(dense, plain).element));
  const CompressOptions filled{.bound = Bound::absolute(0.25), .fill_values = {-1e34, 7}};
  EXPECT_EQ(lose_a_chunk<float>(dense, filled).element, -1e34F);
  EXPECT_EQ(lose_a_chunk<double>(dense, filled).value, -1e34);
  EXPECT_EQ(lose_a_chunk<std::uint8_t>(chop(8), {}).element, 0);
}

}  // namespace
}  // namespace tensorpress
