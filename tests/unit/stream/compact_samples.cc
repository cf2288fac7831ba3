#include "unit/stream/compact_samples.h"

#define XXH_INLINE_ALL
#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace tensorpress::samples {
namespace {

constexpr std::size_t kPrologue = 12, kLarge = 4096, kShort = 32;
// What this version writes behind an index: one statistic, its word and an f64.
constexpr std::size_t kStatisticsBytes = 10;

void append(Bytes& to, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) to.push_back(static_cast<std::byte>(value >> 8 * i));
}
void append(Bytes& to, const Bytes& bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}
void append_varint(Bytes& to, std::uint64_t value) {
  for (; value >= 128; value /= 128) append(to, value % 128 + 128, 1);
  append(to, value, 1);
}
void append_text(Bytes& to, std::string_view value) {
  append(to, value.size(), 2);
  for (const char letter : value) to.push_back(static_cast<std::byte>(letter));
}

std::uint64_t take_varint(const Bytes& bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = std::to_integer<std::uint64_t>(bytes.at(at++));
    value |= byte % 128 << shift;
    if (byte < 128) return value;
  }
}
Bytes take(const Bytes& bytes, std::size_t& at, std::size_t size) {
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  at += size;
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}
std::size_t checksum_bytes(std::size_t covered) {
  return covered < kLarge ? 4 : 8;
}
std::uint64_t checksum(const Bytes& fields, const Bytes& payload) {
  return XXH3_64bits_withSeed(fields.data(), fields.size(),
                              XXH3_64bits(payload.data(), payload.size()));
}

void append_section(Bytes& to, const CompactSection& section) {
  Bytes fields;
  append(fields, static_cast<unsigned char>(section.type), 1);
  append(fields, section.payload.size(), 8);
  append(to, static_cast<unsigned char>(section.type), 1);
  append_varint(to, section.payload.size());
  append(to, section.payload);
  append(to, checksum(fields, section.payload), checksum_bytes(section.payload.size()));
}

CompactSection take_section(const Bytes& bytes, std::size_t& at) {
  CompactSection section{.type = static_cast<char>(bytes.at(at++))};
  const std::uint64_t size = take_varint(bytes, at);
  section.payload = take(bytes, at, size);
  at += checksum_bytes(size);
  return section;
}

void append_record(Bytes& to, const CompactRecord& record, std::uint64_t number) {
  append_varint(to, record.code);
  if (record.code == 2) return;
  if (record.payload.size() >= kLarge) append(to, 0x4B4E4843, 4);
  append(to, record.payload);
  Bytes fields;
  append(fields, number, 8);
  append(fields, record.code, 8);
  append(to, checksum(fields, record.payload), checksum_bytes(record.payload.size()));
}

// Token by token: runs that could be longer are joined by the caller's walk.
Bytes index_of(const std::vector<CompactRecord>& records) {
  Bytes index, repeated;
  bool listed = false;
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < records.size();) {
    const CompactRecord& record = records[i];
    const std::uint64_t bytes = record.code - 3;
    if (record.code > 2 && bytes != last) {
      const std::uint64_t delta = bytes - last;
      append_varint(index, ((delta << 1) ^ (0 - (delta >> 63))) * 4 + 3);
      last = bytes;
      ++i;
    } else {
      std::size_t end = i;
      while (end < records.size() && records[end].code == record.code) ++end;
      append_varint(index, (end - i) * 4 + (record.code == 2 ? 0 : record.code == 1 ? 1 : 2));
      if (record.code == 2 && !listed) {
        append(index, repeated);
        listed = true;
      }
      i = end;
    }
    if (const CompactRecord& done = records[i - 1]; done.code > 2 && done.code - 3 <= kShort) {
      repeated = done.payload;
      listed = false;
    }
  }
  return index;
}

bool is_version_1(const Bytes& stream) {
  return stream[8] == std::byte{1};
}

}  // namespace

CompactStream take_apart_compact(const Bytes& stream) {
  const MemorySource source(stream);
  const auto reader = StreamReader::open(source).value();
  CompactStream parts;
  std::size_t at = kPrologue;
  while (stream.at(at) != std::byte{'C'}) parts.before.push_back(take_section(stream, at));
  ++at;
  for (std::uint64_t number = 0; number < reader.info().chunk_count; ++number) {
    CompactRecord record{.code = take_varint(stream, at)};
    if (record.code != 2) {
      const std::uint64_t raw =
          reader.chunk(number).extent.element_count() * size_of(reader.info().dtype);
      const std::uint64_t size = record.code == 1 ? raw : record.code - 3;
      if (size >= kLarge) at += 4;
      record.payload = take(stream, at, size);
      at += checksum_bytes(size);
    }
    parts.records.push_back(std::move(record));
  }
  while (at + 12 < stream.size()) parts.after.push_back(take_section(stream, at));
  return parts;
}

Bytes put_together(const CompactStream& stream, bool renew_index) {
  Bytes bytes(kPrologue);
  std::memcpy(bytes.data(), "\x89TPZ\r\n\x1a\n\x02", 9);
  for (const CompactSection& section : stream.before) append_section(bytes, section);
  append(bytes, 'C', 1);
  for (std::size_t i = 0; i < stream.records.size(); ++i) {
    append_record(bytes, stream.records[i], i);
  }
  std::size_t foot = 0;
  for (CompactSection section : stream.after) {
    if (section.type == 'F') foot = bytes.size();
    if (section.type == 'F' && renew_index) {
      Bytes renewed = index_of(stream.records);
      renewed.insert(renewed.end(), section.payload.end() - kStatisticsBytes,
                     section.payload.end());
      section.payload = std::move(renewed);
    }
    append_section(bytes, section);
  }
  append(bytes, foot, 8);
  append(bytes, 0x0A5A5054, 4);
  return bytes;
}

Bytes in_version_1(const Bytes& stream) {
  const StreamInfo info = read_info(stream).value();
  const CompactStream parts = take_apart_compact(stream);
  Bytes head;
  append(head, static_cast<std::uint64_t>(info.dtype), 1);
  append(head, info.shape.rank(), 7);
  for (const auto extent : info.shape.extents()) append(head, extent, 8);
  for (const auto extent : info.chunk_shape.extents()) append(head, extent, 8);
  append_text(head, info.codec.name());
  std::vector<Parameter> said;
  for (const Parameter& parameter : info.codec.parameters()) {
    if (!parameter.value.empty()) said.push_back(parameter);
  }
  append(head, said.size(), 2);
  for (const Parameter& parameter : said) {
    append_text(head, parameter.name);
    append_text(head, parameter.value);
  }
  std::vector<Section> sections = {{"HEAD", 0, 0, head}};
  if (!info.attributes.empty()) {
    Bytes attributes;
    append(attributes, info.attributes.size(), 4);
    for (const Attribute& attribute : info.attributes) {
      append_text(attributes, attribute.name);
      append_text(attributes, attribute.value);
    }
    sections.push_back({"attr", 0, 0, attributes});
  }
  Bytes repeated;
  for (std::size_t i = 0; i < parts.records.size(); ++i) {
    const CompactRecord& record = parts.records[i];
    if (record.code > 2 && record.payload.size() <= kShort) repeated = record.payload;
    sections.push_back(
        {"CHNK", record.code == 1 ? 1u : 0u, i, record.code == 2 ? repeated : record.payload});
  }
  Bytes foot;
  append(foot, parts.records.size(), 8);
  foot.resize(foot.size() + 16 * parts.records.size());
  append(foot, info.statistics.size(), 2);
  for (const Statistic& statistic : info.statistics) {
    append_text(foot, statistic.name);
    append(foot, std::bit_cast<std::uint64_t>(statistic.value), 8);
  }
  sections.push_back({"FOOT", 0, 0, foot});
  return put_together(sections);
}

std::vector<ChunkPlace> places_of_chunks(const Bytes& stream) {
  std::vector<ChunkPlace> places;
  if (is_version_1(stream)) {
    std::size_t at = 16;
    for (const Section& section : take_apart(stream)) {
      const std::size_t end = at + 32 + (section.payload.size() + 7) / 8 * 8;
      if (section.type == "CHNK") places.push_back({at, at + 32, end});
      at = end;
    }
    return places;
  }
  CompactStream parts = take_apart_compact(stream);
  const auto records = std::exchange(parts.records, {});
  parts.after.clear();
  std::size_t at = put_together(parts).size() - 12;
  for (const CompactRecord& record : records) {
    Bytes whole, head;
    append_record(whole, record, 0);
    append_varint(head, record.code);
    const std::size_t mark = record.payload.size() >= kLarge ? 4 : 0;
    places.push_back({at, at + head.size() + mark, at + whole.size()});
    at += whole.size();
  }
  return places;
}

std::size_t place_of_footer(const Bytes& stream) {
  return load(stream, stream.size() - (is_version_1(stream) ? 16 : 12), 8);
}

}  // namespace tensorpress::samples
