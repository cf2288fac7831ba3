#include "stream/container/framed/contents.h"

#include <array>
#include <cstring>

#include "base/errors.h"

namespace tensorpress::stream::framed {
namespace {

constexpr std::string_view kEndMark = "TPZ-END\n";

Result<std::string> read_text(ByteReader& reader) {
  TRY(auto value, reader.read_string());
  return checked_text(std::move(value), reader);
}

Result<Shape> read_shape(ByteReader& reader, std::size_t rank) {
  std::array<std::uint64_t, kMaxRank> extents{};
  for (std::size_t axis = 0; axis < rank; ++axis) {
    TRY(extents[axis], reader.read<std::uint64_t>());
  }
  return Shape::make(std::span(extents).first(rank));
}

Result<Codec> read_codec(ByteReader& reader) {
  TRY(const auto name, read_text(reader));
  TRY(const auto count, reader.read<std::uint16_t>());
  std::vector<Parameter> parameters;
  for (std::size_t i = 0; i < count; ++i) {
    TRY(auto key, read_text(reader));
    TRY(auto value, read_text(reader));
    parameters.push_back({std::move(key), std::move(value)});
  }
  return codec_of_header(name, parameters);
}

Result<Header> read_header_fields(std::span<const std::byte> payload) {
  ByteReader reader(payload);
  TRY(const auto dtype_number, reader.read<std::uint8_t>());
  TRY(const auto rank, reader.read<std::uint8_t>());
  TRY(const auto zero16, reader.read<std::uint16_t>());
  TRY(const auto zero32, reader.read<std::uint32_t>());
  if (zero16 != 0 || zero32 != 0) return corrupt("reserved bytes are not zero");
  TRY(const auto dtype, dtype_from_number(dtype_number));
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
  TRY(const auto count, reader.read<std::uint32_t>());
  std::vector<Attribute> attributes;
  for (std::size_t i = 0; i < count; ++i) {  // ends early when the payload does
    TRY(auto name, read_text(reader));
    TRY(auto value, read_text(reader));
    attributes.push_back({std::move(name), std::move(value)});
  }
  RETURN_IF_ERROR(expect_end(reader));
  return attributes;
}

Result<Footer> read_footer_fields(std::span<const std::byte> payload, std::uint64_t chunk_count) {
  ByteReader reader(payload);
  TRY(const auto count, reader.read<std::uint64_t>());
  if (count != chunk_count) {
    return corrupt("it lists ", count, " chunks where the header's grid has ", chunk_count);
  }
  Footer footer;
  footer.index.resize(static_cast<std::size_t>(count));
  for (auto& entry : footer.index) {
    TRY(entry.offset, reader.read<std::uint64_t>());
    TRY(entry.payload_bytes, reader.read<std::uint64_t>());
  }
  TRY(const auto statistics, reader.read<std::uint16_t>());
  for (std::size_t i = 0; i < statistics; ++i) {
    TRY(auto name, read_text(reader));
    TRY(const auto value, reader.read_f64());
    footer.statistics.push_back({std::move(name), value});
  }
  RETURN_IF_ERROR(expect_end(reader));
  return footer;
}

}  // namespace

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

Result<void> check_footer_size(std::uint64_t payload_bytes, std::uint64_t chunk_count) {
  constexpr std::uint64_t kCounts = 8 + 2;
  constexpr std::uint64_t kEntryBytes = 16;
  // Divided, not multiplied: a hostile header can name 2^60 chunks.
  if (payload_bytes < kCounts || (payload_bytes - kCounts) / kEntryBytes < chunk_count) {
    return corrupt("the footer has ", payload_bytes, " bytes, too few for an index of ",
                   chunk_count, " chunks");
  }
  const std::uint64_t statistics = payload_bytes - kCounts - kEntryBytes * chunk_count;
  if (statistics > kMaxStatisticsBytes) {
    return too_large("the footer's statistics have ", statistics, " bytes; the limit is ",
                     kMaxStatisticsBytes);
  }
  return {};
}

Result<Footer> parse_footer(std::span<const std::byte> payload, std::uint64_t chunk_count) {
  RETURN_IF_ERROR(check_footer_size(payload.size(), chunk_count));
  auto footer = read_footer_fields(payload, chunk_count);
  if (!footer.ok()) return in_section("footer", footer.error());
  return footer;
}

Result<std::uint64_t> parse_trailer(std::span<const std::byte, kTrailerBytes> bytes) {
  if (std::memcmp(bytes.data() + 8, kEndMark.data(), kEndMark.size()) != 0) return no_end_mark();
  return load_le<std::uint64_t>(bytes.data());
}

}  // namespace tensorpress::stream::framed
