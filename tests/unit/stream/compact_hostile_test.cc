// Forged streams of version 2, whose checksums are right: every reader must say no, and say why.
#include <gtest/gtest.h>

#include "tensorpress/streaming.h"
#include "unit/stream/refusals.h"

namespace tensorpress {
namespace {

using samples::Bytes;
using samples::CompactStream;
using samples::expect_refused;
using samples::put_together;
using samples::read_all_ways;

CompactStream small_parts() {
  return samples::take_apart_compact(samples::small_stream());  // H a | 3 raw records | F
}

/// Twelve constant chunks, eleven of which are repeats.
CompactStream constant_parts() {
  const Tensor zeros{.bytes = Bytes(4 * 60), .dtype = DType::f32, .shape = {12, 5}};
  return samples::take_apart_compact(
      samples::packed(zeros, Codec::make("dense").value(),
                      {.bound = Bound::absolute(0.1), .chunk_shape = Shape{1, 5}}));
}

TEST(HostileStream, PutTogetherAgainIsTheSame) {
  EXPECT_EQ(put_together(small_parts()), samples::small_stream());
  const auto parts = constant_parts();
  EXPECT_EQ(parts.records[0].code, 3u + 5);
  EXPECT_EQ(parts.records[11].code, 2u);
  EXPECT_EQ(put_together(parts), put_together(parts, false));
}

TEST(HostileStream, UnknownAncillarySectionsAreSkipped) {
  const Tensor expected = samples::read_in_memory(samples::small_stream()).value();
  auto parts = small_parts();
  parts.before.insert(parts.before.begin() + 1, {'n', Bytes(5000, std::byte{'n'})});
  parts.after.insert(parts.after.begin(), {'z', {}});
  for (const auto& result : read_all_ways(put_together(parts))) {
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result->bytes, expected.bytes);
  }
}

TEST(HostileStream, UnknownCriticalSectionsAreRefused) {
  auto before = small_parts();
  before.before.insert(before.before.begin() + 1, {'N', Bytes(8)});
  expect_refused(put_together(before), ErrorCode::unsupported, "section N");
  auto after = small_parts();
  after.after.insert(after.after.begin(), {'N', Bytes(8)});
  expect_refused(put_together(after), ErrorCode::unsupported, "section N");
}

TEST(HostileStream, SectionsOutOfPlaceAreRefused) {
  const auto good = small_parts();
  auto parts = good;
  parts.before.insert(parts.before.begin() + 1, good.before[0]);
  expect_refused(put_together(parts), ErrorCode::corrupt, "out of place");
  parts = good;
  parts.before.insert(parts.before.begin() + 1, good.before[1]);
  expect_refused(put_together(parts), ErrorCode::corrupt, "attributes twice");
  parts = good;
  parts.after.insert(parts.after.begin(), good.before[1]);
  expect_refused(put_together(parts), ErrorCode::corrupt, "after the chunks");
  parts = good;
  parts.after.insert(parts.after.begin(), good.after[0]);
  for (const auto& result : read_all_ways(put_together(parts))) EXPECT_FALSE(result.ok());
  parts = good;
  std::swap(parts.before[0], parts.before[1]);
  expect_refused(put_together(parts), ErrorCode::corrupt, "instead of H");
}

TEST(HostileStream, SwappedMissingAndRepeatedChunksAreRefused) {
  const Bytes good = samples::packed(samples::ramp(DType::f32, {3, 40}), samples::chop(2),
                                     {.chunk_shape = Shape{1, 40}});
  const auto places = samples::places_of_chunks(good);
  Bytes swapped = good;  // records as they are, with the numbers in their checksums
  std::swap_ranges(swapped.begin() + static_cast<std::ptrdiff_t>(places[0].begin),
                   swapped.begin() + static_cast<std::ptrdiff_t>(places[0].end),
                   swapped.begin() + static_cast<std::ptrdiff_t>(places[1].begin));
  expect_refused(swapped, ErrorCode::corrupt, "chunk 0 is corrupt: checksum");
  auto missing = samples::take_apart_compact(good);
  missing.records.pop_back();
  for (const auto& result : read_all_ways(put_together(missing))) EXPECT_FALSE(result.ok());
  auto too_many = samples::take_apart_compact(good);
  too_many.records.push_back(too_many.records.back());
  for (const auto& result : read_all_ways(put_together(too_many))) EXPECT_FALSE(result.ok());
}

TEST(HostileStream, RepeatsOfNothingAreRefused) {
  auto parts = constant_parts();
  parts.records[0] = {2, {}};
  for (const auto& result : read_all_ways(put_together(parts))) EXPECT_FALSE(result.ok());
}

TEST(HostileStream, ACopyInTheIndexThatSaysOtherwiseIsRefusedByThoseWhoSeeBoth) {
  auto parts = constant_parts();
  parts.foot()[parts.foot().size() - 11] ^= std::byte{1};  // the last byte of what is repeated
  EXPECT_FALSE(samples::read_as_pipe(put_together(parts, false)).ok());
}

TEST(HostileStream, FooterLiesAreRefused) {
  for (const auto& good : {small_parts(), constant_parts()}) {
    const Tensor truth = samples::read_in_memory(put_together(good)).value();
    for (std::size_t at = 0; at + 10 < good.after.back().payload.size(); ++at) {
      for (int value = 0; value < 256; ++value) {
        auto parts = good;
        if (parts.foot()[at] == static_cast<std::byte>(value)) continue;
        parts.foot()[at] = static_cast<std::byte>(value);
        const Bytes bytes = put_together(parts, false);
        EXPECT_FALSE(samples::read_as_pipe(bytes).ok()) << at << ' ' << value;
        const auto read = samples::read_as_file(bytes);  // the copy of a constant may differ
        EXPECT_TRUE(!read.ok() || read->shape == truth.shape) << at << ' ' << value;
      }
    }
  }
  auto longer = small_parts();
  longer.foot().resize(longer.foot().size() + 8);
  expect_refused(put_together(longer, false), ErrorCode::corrupt, "footer");
}

TEST(HostileStream, EndMarksThatPointElsewhereAreRefused) {
  const Bytes good = samples::small_stream();
  const std::uint64_t truth = samples::place_of_footer(good);
  for (const std::uint64_t lie : {truth - 1, truth + 1, std::uint64_t{0}, std::uint64_t{12},
                                  std::uint64_t{good.size()}, ~std::uint64_t{0}, 1ul << 63}) {
    Bytes bad = good;
    samples::store(bad, bad.size() - 12, 8, lie);
    expect_refused(bad, ErrorCode::corrupt);
  }
}

Bytes varint(std::uint64_t value) {
  Bytes bytes;
  for (; value >= 128; value /= 128) bytes.push_back(static_cast<std::byte>(value % 128 + 128));
  bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

/// One constant chunk, and a header that states this shape and chunk shape.
Bytes with_shape(std::initializer_list<std::uint64_t> extents) {
  auto parts = constant_parts();
  parts.records.resize(1);
  Bytes head = {parts.head()[0]};
  for (const std::uint64_t extent : extents) {
    const Bytes bytes = varint(extent);
    head.insert(head.end(), bytes.begin(), bytes.end());
  }
  head.insert(head.end(), parts.head().begin() + 5, parts.head().end());
  parts.head() = head;
  return put_together(parts);
}

// None of these may allocate what they claim: the machine has no such memory.
TEST(HostileStream, AbsurdShapesAreRefusedBeforeAnythingIsAllocated) {
  EXPECT_TRUE(samples::read_in_memory(with_shape({12, 5, 12, 5})).ok());
  expect_refused(with_shape({1ull << 63, 1ull << 63, 1, 1}), ErrorCode::too_large, "shape");
  expect_refused(with_shape({1ull << 61, 1, 1, 1}), ErrorCode::too_large, "shape");
  for (const std::uint64_t rows : {1ull << 21, 1ull << 36, 1ull << 45, 1ull << 55}) {
    for (const std::uint64_t chunk : {std::uint64_t{1}, std::uint64_t{1000}, rows}) {
      for (const auto& result : read_all_ways(with_shape({rows, 16, chunk, 16}))) {
        EXPECT_FALSE(result.ok()) << rows;
      }
    }
  }
}

TEST(HostileStream, SectionsAndRecordsThatClaimEverythingAreRefused) {
  const Bytes good = samples::small_stream();
  for (const std::uint64_t claim : {1ull << 21, 1ull << 40, 1ull << 63, ~0ull, ~7ull}) {
    Bytes head(good.begin(), good.begin() + 13);
    const Bytes size = varint(claim);
    head.insert(head.end(), size.begin(), size.end());
    head.insert(head.end(), good.begin() + 14, good.end());
    for (const auto& result : read_all_ways(head)) EXPECT_FALSE(result.ok());
    auto parts = constant_parts();
    parts.records[0].code = claim;
    for (const auto& result : read_all_ways(put_together(parts))) EXPECT_FALSE(result.ok());
    for (const auto& result : read_all_ways(put_together(parts, false))) EXPECT_FALSE(result.ok());
  }
}

TEST(HostileStream, NumbersInALongerFormAreRefused) {
  Bytes bytes = samples::small_stream();
  bytes[13] |= std::byte{0x80};
  bytes.insert(bytes.begin() + 14, std::byte{0});
  expect_refused(bytes, ErrorCode::corrupt, "form");
}

}  // namespace
}  // namespace tensorpress
