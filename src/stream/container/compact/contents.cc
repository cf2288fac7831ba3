#include "stream/container/compact/contents.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/errors.h"
#include "kernels/checksum/checksum.h"
#include "stream/container/compact/defaults.h"
#include "stream/container/compact/record.h"
#include "stream/container/compact/words.h"

namespace tensorpress::stream::compact {
namespace {

constexpr std::string_view kEndMark = "TPZ\n";

void append_section(std::vector<std::byte>& to, char type, std::span<const std::byte> payload) {
  ByteWriter head;
  head.write(static_cast<std::uint8_t>(type));
  head.write_varint(payload.size());
  to.insert(to.end(), head.bytes().begin(), head.bytes().end());
  to.insert(to.end(), payload.begin(), payload.end());
  const std::size_t at = to.size();
  to.resize(at + checksum_bytes(payload.size()));
  store_checksum(section_checksum(type, payload.size(), checksum_of(payload)), payload.size(),
                 to.data() + at);
}

// ---- Reading -----------------------------------------------------------------------------------

Result<Shape> read_shape(ByteReader& reader, std::size_t rank) {
  std::array<std::uint64_t, kMaxRank> extents{};
  for (std::size_t axis = 0; axis < rank; ++axis) {
    TRY(extents[axis], reader.read_varint());
  }
  return Shape::make(std::span(extents).first(rank));
}

// A list of pairs of words, with their number before it. Ends early when the payload does.
template <class Pair>
Result<std::vector<Pair>> read_pairs(ByteReader& reader) {
  TRY(const std::uint64_t count, reader.read_varint());
  std::vector<Pair> pairs;
  for (std::uint64_t i = 0; i < count; ++i) {
    TRY(auto name, read_word(reader));
    TRY(auto value, read_word(reader));
    pairs.push_back({std::move(name), std::move(value)});
  }
  return pairs;
}

Result<Codec> read_codec(ByteReader& reader) {
  TRY(const auto name, read_word(reader));
  TRY(const auto said, read_pairs<Parameter>(reader));
  std::vector<Parameter> parameters;
  for (const Default& each : kDefaults) {
    if (each.codec != name) continue;
    parameters.push_back({std::string(each.parameter), std::string(each.value)});
  }
  parameters.insert(parameters.end(), said.begin(), said.end());  // the last one counts
  return codec_of_header(name, parameters);
}

Result<Header> read_header_fields(std::span<const std::byte> payload) {
  ByteReader reader(payload);
  TRY(const auto dtype_and_rank, reader.read<std::uint8_t>());
  TRY(const auto dtype, dtype_from_number(dtype_and_rank & 15));
  const std::size_t rank = dtype_and_rank >> 4;
  if (rank > kMaxRank) {
    return unsupported(rank, " dimensions are too many; this version reads up to ", kMaxRank);
  }
  TRY(const auto shape, read_shape(reader, rank));
  RETURN_IF_ERROR(check_tensor_size(shape, dtype));
  TRY(const auto chunk_shape, read_shape(reader, rank));
  TRY(auto codec, read_codec(reader));
  RETURN_IF_ERROR(expect_end(reader));
  return Header{std::move(codec), dtype, shape, chunk_shape};
}

Result<std::vector<Attribute>> read_attribute_fields(std::span<const std::byte> payload) {
  ByteReader reader(payload);
  TRY(auto attributes, read_pairs<Attribute>(reader));
  RETURN_IF_ERROR(expect_end(reader));
  return attributes;
}

// ---- Writing -----------------------------------------------------------------------------------

// A parameter that means the same if it is left out is not named.
Result<void> write_codec(ByteWriter& writer, const Codec& codec) {
  RETURN_IF_ERROR(write_word(writer, codec.name()));
  std::vector<const Parameter*> said;
  for (const Parameter& parameter : codec.parameters()) {
    if (parameter.value != default_of(codec.name(), parameter.name)) said.push_back(&parameter);
  }
  writer.write_varint(said.size());
  for (const Parameter* const parameter : said) {
    RETURN_IF_ERROR(write_word(writer, parameter->name));
    RETURN_IF_ERROR(write_word(writer, parameter->value));
  }
  return {};
}

Result<std::vector<std::byte>> encode_header(const Header& header) {
  ByteWriter writer;
  writer.write(static_cast<std::uint8_t>(static_cast<unsigned>(header.dtype) |
                                         static_cast<unsigned>(header.shape.rank()) << 4));
  for (const auto extent : header.shape.extents()) writer.write_varint(extent);
  for (const auto extent : header.chunk_shape.extents()) writer.write_varint(extent);
  RETURN_IF_ERROR(write_codec(writer, header.codec));
  return std::move(writer).take();
}

Result<std::vector<std::byte>> encode_attributes(std::span<const Attribute> attributes) {
  ByteWriter writer;
  writer.write_varint(attributes.size());
  for (const auto& attribute : attributes) {
    RETURN_IF_ERROR(write_word(writer, attribute.name));
    RETURN_IF_ERROR(write_word(writer, attribute.value));
    if (writer.bytes().size() > kMaxAttributeBytes) {
      return too_large("the attributes need more than ", kMaxAttributeBytes,
                       " bytes; keep large ones in a file of their own");
    }
  }
  return std::move(writer).take();
}

}  // namespace

std::uint64_t section_checksum(char type, std::uint64_t payload_bytes,
                               std::uint64_t payload_checksum) {
  std::array<std::byte, 9> fields;
  fields[0] = static_cast<std::byte>(type);
  store_le(fields.data() + 1, payload_bytes);
  return checksum_of(fields, payload_checksum);
}

Result<Header> parse_header(std::span<const std::byte> payload) {
  auto header = read_header_fields(payload);
  if (!header.ok()) return in_section("header", header.error());
  return header;
}

Result<std::vector<Attribute>> parse_attributes(std::span<const std::byte> payload) {
  auto attributes = read_attribute_fields(payload);
  if (!attributes.ok()) return in_section("attribute section", attributes.error());
  return attributes;
}

Result<std::vector<Statistic>> parse_statistics(ByteReader& reader) {
  if (reader.remaining() > kMaxStatisticsBytes) {
    return too_large("the footer's statistics have ", reader.remaining(), " bytes; the limit is ",
                     kMaxStatisticsBytes);
  }
  TRY(const std::uint64_t count, reader.read_varint());
  std::vector<Statistic> statistics;
  for (std::uint64_t i = 0; i < count; ++i) {
    TRY(auto name, read_word(reader));
    TRY(const double value, reader.read_f64());
    statistics.push_back({std::move(name), value});
  }
  RETURN_IF_ERROR(expect_end(reader));
  return statistics;
}

Result<std::uint64_t> parse_trailer(std::span<const std::byte, kTrailerBytes> bytes) {
  if (std::memcmp(bytes.data() + 8, kEndMark.data(), kEndMark.size()) != 0) return no_end_mark();
  return load_le<std::uint64_t>(bytes.data());
}

Result<std::vector<std::byte>> encode_opening(const Header& header,
                                              std::span<const Attribute> attributes) {
  std::vector<std::byte> bytes(kPrologueBytes);
  encode_prologue(std::span(bytes).first<kPrologueBytes>());
  TRY(const auto head, encode_header(header));
  append_section(bytes, kHead, head);
  if (!attributes.empty()) {
    TRY(const auto payload, encode_attributes(attributes));
    append_section(bytes, kAttributes, payload);
  }
  bytes.push_back(static_cast<std::byte>(kChunks));
  return bytes;
}

Result<std::vector<std::byte>> encode_closing(std::span<const std::byte> index,
                                              std::span<const Statistic> statistics,
                                              std::uint64_t offset) {
  ByteWriter writer;
  writer.append(index);
  writer.write_varint(statistics.size());
  for (const auto& statistic : statistics) {
    RETURN_IF_ERROR(write_word(writer, statistic.name));
    writer.write_f64(statistic.value);
  }
  std::vector<std::byte> bytes;
  append_section(bytes, kFoot, writer.bytes());
  ByteWriter trailer;
  trailer.write(offset);
  trailer.append(std::as_bytes(std::span(kEndMark)));
  bytes.insert(bytes.end(), trailer.bytes().begin(), trailer.bytes().end());
  return bytes;
}

}  // namespace tensorpress::stream::compact
