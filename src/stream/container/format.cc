#include "stream/container/format.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/errors.h"
#include "base/utf8.h"
#include "kernels/checksum/checksum.h"
#include "tensorpress/version.h"

namespace tensorpress::stream {
namespace {

// As PNG's: a byte above 127, the name, and line ends that a text-mode copy would change.
constexpr std::array<unsigned char, 8> kMagic = {0x89, 'T', 'P', 'Z', 0x0D, 0x0A, 0x1A, 0x0A};
constexpr std::string_view kEndMark = "TPZ-END\n";
constexpr std::size_t kCheckedFrameBytes = 24;

void encode_frame_fields(const Frame& frame, std::byte* to) {
  std::memcpy(to, frame.type.data(), 4);
  store_le(to + 4, frame.flags);
  store_le(to + 8, frame.number);
  store_le(to + 16, frame.payload_bytes);
}

void append_section(std::vector<std::byte>& to, const SectionType& type,
                    std::span<const std::byte> payload) {
  std::array<std::byte, kFrameBytes> frame;
  encode_frame({.type = type, .payload_bytes = payload.size()}, checksum_of(payload), frame);
  to.insert(to.end(), frame.begin(), frame.end());
  to.insert(to.end(), payload.begin(), payload.end());
  to.resize(to.size() + padding_after(payload.size()));
}

Result<void> write_text(ByteWriter& writer, std::string_view value) {
  if (!is_utf8(value)) return bad_argument("'", value, "' cannot be stored: it is not UTF-8");
  return writer.write_string(value);
}

Result<std::string> read_text(ByteReader& reader) {
  TRY(auto value, reader.read_string());
  if (!is_utf8(value)) return corrupt("a text before byte ", reader.position(), " is not UTF-8");
  return value;
}

Result<void> expect_end(const ByteReader& reader) {
  if (reader.remaining() == 0) return {};
  return corrupt(reader.remaining(), " bytes too many");
}

// The checksum was right, so a section that ends too early contradicts itself.
Error in_section(std::string_view what, const Error& error) {
  const ErrorCode code = error.code == ErrorCode::truncated ? ErrorCode::corrupt : error.code;
  return {code, text("the ", what, " is not readable: ", error.message)};
}

Result<Shape> read_shape(ByteReader& reader, std::size_t rank) {
  std::array<std::uint64_t, kMaxRank> extents{};
  for (std::size_t axis = 0; axis < rank; ++axis) {
    TRY(extents[axis], reader.read<std::uint64_t>());
  }
  return Shape::make(std::span(extents).first(rank));
}

// Strides of an empty tensor must fit in 63 bits too, so a zero extent counts as one.
Result<void> check_tensor_size(const Shape& shape, DType dtype) {
  std::uint64_t elements = 1;
  for (const auto extent : shape.extents()) elements *= std::max<std::uint64_t>(extent, 1);
  if (elements > (std::uint64_t{1} << 62) / size_of(dtype)) {
    return too_large("a tensor of shape ", shape.to_string(), " and type ", name_of(dtype),
                     " has more than 2^62 bytes");
  }
  return {};
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
  auto codec = Codec::make(name, parameters);
  if (!codec.ok()) return unsupported("its codec is of no use here: ", codec.error().message);
  return codec;
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

Result<std::vector<std::byte>> encode_header(const Header& header) {
  ByteWriter writer;
  writer.write(static_cast<std::uint8_t>(header.dtype));
  writer.write(static_cast<std::uint8_t>(header.shape.rank()));
  writer.write(std::uint16_t{0});
  writer.write(std::uint32_t{0});
  for (const auto extent : header.shape.extents()) writer.write(extent);
  for (const auto extent : header.chunk_shape.extents()) writer.write(extent);
  RETURN_IF_ERROR(write_text(writer, header.codec.name()));
  // An empty value says nothing that leaving it out does not say.
  const auto is_said = [](const Parameter& parameter) { return !parameter.value.empty(); };
  const auto parameters = header.codec.parameters();
  writer.write(static_cast<std::uint16_t>(std::ranges::count_if(parameters, is_said)));
  for (const auto& parameter : parameters) {
    if (!is_said(parameter)) continue;
    RETURN_IF_ERROR(write_text(writer, parameter.name));
    RETURN_IF_ERROR(write_text(writer, parameter.value));
  }
  return std::move(writer).take();
}

Result<std::vector<std::byte>> encode_attributes(std::span<const Attribute> attributes) {
  ByteWriter writer;
  writer.write(static_cast<std::uint32_t>(attributes.size()));
  for (const auto& attribute : attributes) {
    RETURN_IF_ERROR(write_text(writer, attribute.name));
    RETURN_IF_ERROR(write_text(writer, attribute.value));
    if (writer.bytes().size() > kMaxAttributeBytes) {
      return too_large("the attributes need more than ", kMaxAttributeBytes,
                       " bytes; keep large ones in a file of their own");
    }
  }
  return std::move(writer).take();
}

}  // namespace

std::uint64_t frame_checksum(const Frame& frame, std::uint64_t payload_checksum) {
  std::array<std::byte, kCheckedFrameBytes> fields;
  encode_frame_fields(frame, fields.data());
  return checksum_of(fields, payload_checksum);
}

void encode_frame(Frame frame, std::uint64_t payload_checksum,
                  std::span<std::byte, kFrameBytes> to) {
  encode_frame_fields(frame, to.data());
  store_le(to.data() + kCheckedFrameBytes, frame_checksum(frame, payload_checksum));
}

Result<Frame> parse_frame(std::span<const std::byte, kFrameBytes> bytes) {
  Frame frame;
  std::memcpy(frame.type.data(), bytes.data(), 4);
  const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  if (!std::all_of(frame.type.begin(), frame.type.end(), is_letter)) {
    return corrupt("no section begins here: its type is not four letters");
  }
  frame.flags = load_le<std::uint32_t>(bytes.data() + 4);
  frame.number = load_le<std::uint64_t>(bytes.data() + 8);
  frame.payload_bytes = load_le<std::uint64_t>(bytes.data() + 16);
  frame.checksum = load_le<std::uint64_t>(bytes.data() + 24);
  return frame;
}

Result<void> check_prologue(std::span<const std::byte, kPrologueBytes> bytes) {
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return corrupt("this is not a .tpz stream: it does not begin with \\x89TPZ");
  }
  const auto version = load_le<std::uint32_t>(bytes.data() + 8);
  if (version != kFormatVersion) {
    return unsupported("this stream has format version ", version, "; this program reads version ",
                       kFormatVersion);
  }
  if (load_le<std::uint32_t>(bytes.data() + 12) != 0) {
    return corrupt("bytes 12 to 15 of the stream are not zero");
  }
  return {};
}

Result<std::uint64_t> parse_trailer(std::span<const std::byte, kTrailerBytes> bytes) {
  if (std::memcmp(bytes.data() + 8, kEndMark.data(), kEndMark.size()) != 0) {
    return truncated(
        "the stream does not end with its end mark: it was cut off or never finished, or "
        "something follows its end");
  }
  return load_le<std::uint64_t>(bytes.data());
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

Result<std::vector<std::byte>> encode_opening(const Header& header,
                                              std::span<const Attribute> attributes) {
  std::vector<std::byte> bytes(kPrologueBytes);
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  store_le(bytes.data() + 8, std::uint32_t{kFormatVersion});
  TRY(const auto head, encode_header(header));
  append_section(bytes, kHead, head);
  if (!attributes.empty()) {
    TRY(const auto payload, encode_attributes(attributes));
    append_section(bytes, kAttributes, payload);
  }
  return bytes;
}

Result<std::vector<std::byte>> encode_closing(const Footer& footer, std::uint64_t offset) {
  ByteWriter writer;
  writer.write(std::uint64_t{footer.index.size()});
  for (const auto& entry : footer.index) {
    writer.write(entry.offset);
    writer.write(entry.payload_bytes);
  }
  writer.write(static_cast<std::uint16_t>(footer.statistics.size()));
  for (const auto& statistic : footer.statistics) {
    RETURN_IF_ERROR(write_text(writer, statistic.name));
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

}  // namespace tensorpress::stream
