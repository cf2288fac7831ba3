// Forged streams of version 1, whose checksums are right: every reader must say no, and say why.
#include <gtest/gtest.h>

#include <algorithm>

#include "tensorpress/streaming.h"
#include "unit/stream/refusals.h"

namespace tensorpress {
namespace {

using samples::Bytes;
using samples::chop;
using samples::expect_refused;
using samples::put_together;
using samples::ramp;
using samples::read_all_ways;
using samples::Section;
using samples::take_apart;

Bytes packed(const Tensor& tensor, const Codec& codec) {
  return samples::in_version_1(samples::packed(tensor, codec));
}
Bytes small_stream() {
  return samples::in_version_1(samples::small_stream());
}

Section& section_of(std::vector<Section>& sections, std::string_view type,
                    std::uint64_t number = 0) {
  return *std::ranges::find_if(sections, [&](const Section& section) {
    return section.type == type && section.number == number;
  });
}

TEST(HostileFramedStream, UnknownAncillarySectionsAreSkipped) {
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

TEST(HostileFramedStream, UnknownCriticalSectionsAreRefused) {
  for (const int place : {1, 5}) {
    auto sections = take_apart(small_stream());
    sections.insert(sections.begin() + place, {"NEWS", 0, 0, Bytes(8)});
    expect_refused(put_together(sections), ErrorCode::unsupported, "NEWS");
  }
}

TEST(HostileFramedStream, SectionsOutOfPlaceAreRefused) {
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

TEST(HostileFramedStream, ChunksInsideOfAnotherSectionAreRefused) {
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

TEST(HostileFramedStream, RegionsOfChunksAboveTheLimitAreRefusedBeforeAnythingIsAllocated) {
  const std::vector<float> same(std::size_t{1} << 20, 3.5f);
  const Shape shape{std::uint64_t{1} << 20};
  const auto stream = compress(*view_of(same, shape), Codec::make("ceresz").value(),
                               Bound::absolute(1e-3), {.chunk_shape = shape});
  ASSERT_TRUE(stream.ok());
  std::vector<float> one(1);
  const Region first{{0}, Shape{1}};
  const auto read = [&](std::uint64_t max_bytes) {
    return Decompressor({.max_bytes = max_bytes}).decompress(*stream, first, *view_of(one, {1}));
  };
  const auto refused = read(1024);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::too_large);
  EXPECT_NE(refused.error().message.find("4 MiB"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(read(std::uint64_t{4} << 20).ok());
  EXPECT_EQ(one.front(), 3.5f);
}

TEST(HostileFramedStream, SwappedMissingAndRepeatedChunksAreRefused) {
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

TEST(HostileFramedStream, UnknownChunkFlagsAreRefused) {
  auto sections = take_apart(small_stream());
  section_of(sections, "CHNK", 1).flags |= 2;
  expect_refused(put_together(sections), ErrorCode::corrupt, "chunk 1");
}

TEST(HostileFramedStream, FooterLiesAreRefused) {
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

TEST(HostileFramedStream, EndMarksThatPointElsewhereAreRefused) {
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
TEST(HostileFramedStream, AbsurdShapesAreRefusedBeforeAnythingIsAllocated) {
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

TEST(HostileFramedStream, ManyTinyChunksAreRefusedWithoutAnIndexOfThem) {
  auto sections = take_apart(packed(ramp(DType::u8, {64, 64}), chop(1)));
  Bytes& head = sections.front().payload;
  samples::store(head, 8, 8, 1ull << 24);
  samples::store(head, 16, 8, 1ull << 24);
  samples::store(head, 24, 8, 1);
  samples::store(head, 32, 8, 1);
  for (const auto& result : read_all_ways(put_together(sections))) EXPECT_FALSE(result.ok());
}

TEST(HostileFramedStream, SectionsThatClaimEverythingAreRefused) {
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

TEST(HostileFramedStream, CodecsOfTheFutureAreNamed) {
  auto sections = take_apart(small_stream());
  Bytes& head = section_of(sections, "HEAD").payload;
  samples::store(head, 42, 1, 'X');
  expect_refused(put_together(sections), ErrorCode::unsupported, "Xct-chop");
}

}  // namespace
}  // namespace tensorpress
