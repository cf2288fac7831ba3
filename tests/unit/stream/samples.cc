#include "unit/stream/samples.h"

#define XXH_INLINE_ALL
#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "base/errors.h"
#include "stream/memory_io.h"

namespace tensorpress::samples {
namespace {

// The i-th value of a ramp, 0 to 63, as the bits of its type.
std::uint64_t bits_of(DType dtype, std::uint64_t step) {
  const auto value = static_cast<double>(step);
  switch (dtype) {
    case DType::f32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case DType::f64:
      return std::bit_cast<std::uint64_t>(value);
    case DType::f16:
      return 0x3C00 + step;  // 1 + step / 1024
    case DType::bf16:
      return 0x3F80 + step;  // 1 + step / 128
    case DType::u8:
    case DType::i16:
      return step;
  }
  return 0;
}

void append(Bytes& to, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) to.push_back(static_cast<std::byte>(value >> 8 * i));
}

Bytes framed(const Section& section) {
  Bytes bytes;
  for (const char letter : section.type) bytes.push_back(static_cast<std::byte>(letter));
  append(bytes, section.flags, 4);
  append(bytes, section.number, 8);
  append(bytes, section.payload.size(), 8);
  const auto payload_hash = XXH3_64bits(section.payload.data(), section.payload.size());
  append(bytes, XXH3_64bits_withSeed(bytes.data(), 24, payload_hash), 8);
  bytes.insert(bytes.end(), section.payload.begin(), section.payload.end());
  bytes.resize((bytes.size() + 7) / 8 * 8);
  return bytes;
}

}  // namespace

Tensor ramp(DType dtype, const Shape& shape) {
  Tensor tensor{.dtype = dtype, .shape = shape};
  const std::uint64_t row =
      shape.rank() > 0 ? std::max<std::uint64_t>(shape[shape.rank() - 1], 1) : 1;
  for (std::uint64_t i = 0; i < shape.element_count(); ++i) {
    append(tensor.bytes, bits_of(dtype, (i % row + 3 * (i / row)) % 64), size_of(dtype));
  }
  return tensor;
}

Codec chop(int chop_factor, std::string_view layout) {
  return Codec::dct_chop({.chop_factor = chop_factor, .layout = layout}).value();
}

Bytes packed(const Tensor& tensor, const Codec& codec, const CompressOptions& options) {
  auto bytes = compress(tensor.view(), codec, options);
  if (bytes.ok()) return *bytes;
  ADD_FAILURE() << bytes.error().message;
  return {};
}

Result<void> FileLike::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  return stream::MemorySource(bytes_).read_at(offset, into);
}

Result<std::size_t> PipeLike::read(std::span<std::byte> into) {
  const std::size_t count = std::min(into.size(), left_.size());
  std::copy_n(left_.begin(), count, into.begin());
  left_ = left_.subspan(count);
  return count;
}

Result<Tensor> read_in_memory(std::span<const std::byte> stream) {
  return decompress(stream, {.max_bytes = std::uint64_t{1} << 26});
}

Result<Tensor> read_as_file(std::span<const std::byte> stream, stream::ReadOptions options) {
  const FileLike file(stream);
  TRY(const auto reader, stream::StreamReader::open(file));
  options.max_bytes = std::uint64_t{1} << 26;
  if (reader.info().bytes_in() > options.max_bytes) return too_large("more than a test allows");
  Tensor tensor{.dtype = reader.info().dtype, .shape = reader.info().shape};
  tensor.bytes.resize(reader.info().bytes_in(), std::byte{0xEE});
  stream::ViewSink sink(tensor.mutable_view());
  RETURN_IF_ERROR(reader.read_all(sink, options));
  return tensor;
}

Result<Tensor> read_as_pipe(std::span<const std::byte> stream, stream::ReadOptions options) {
  PipeLike pipe(stream);
  options.max_bytes = std::uint64_t{1} << 26;
  Tensor tensor;
  const auto make_sink =
      [&](const StreamInfo& info) -> Result<std::unique_ptr<stream::TensorSink>> {
    tensor = {
        .bytes = Bytes(info.bytes_in(), std::byte{0xEE}), .dtype = info.dtype, .shape = info.shape};
    return std::unique_ptr<stream::TensorSink>(
        std::make_unique<stream::ViewSink>(tensor.mutable_view()));
  };
  TRY(const auto info, stream::read_sequentially(pipe, make_sink, options));
  return tensor;
}

std::uint64_t load(const Bytes& bytes, std::size_t offset, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;)
    value = value << 8 | std::to_integer<unsigned>(bytes[offset + i]);
  return value;
}

void store(Bytes& bytes, std::size_t offset, std::size_t size, std::uint64_t value) {
  for (std::size_t i = 0; i < size; ++i) bytes[offset + i] = static_cast<std::byte>(value >> 8 * i);
}

std::vector<Section> take_apart(std::span<const std::byte> stream) {
  const Bytes bytes(stream.begin(), stream.end());
  std::vector<Section> sections;
  for (std::size_t at = 16; at + 16 < bytes.size();) {
    const auto size = static_cast<std::size_t>(load(bytes, at + 16, 8));
    Section section{.type = std::string(reinterpret_cast<const char*>(&bytes[at]), 4),
                    .flags = static_cast<std::uint32_t>(load(bytes, at + 4, 4)),
                    .number = load(bytes, at + 8, 8)};
    const auto payload = bytes.begin() + static_cast<std::ptrdiff_t>(at + 32);
    section.payload.assign(payload, payload + static_cast<std::ptrdiff_t>(size));
    sections.push_back(std::move(section));
    at += 32 + (size + 7) / 8 * 8;
  }
  return sections;
}

Bytes put_together(const std::vector<Section>& sections, bool renew_index) {
  Bytes bytes(16);
  std::memcpy(bytes.data(), "\x89TPZ\r\n\x1a\n\x01", 9);
  std::vector<std::uint64_t> index;
  std::size_t foot = 0;
  for (Section section : sections) {
    if (section.type == "CHNK") index.insert(index.end(), {bytes.size(), section.payload.size()});
    if (section.type == "FOOT") foot = bytes.size();
    if (section.type == "FOOT" && renew_index) {
      for (std::size_t i = 0; i < index.size(); ++i) store(section.payload, 8 + 8 * i, 8, index[i]);
    }
    const Bytes framed_section = framed(section);
    bytes.insert(bytes.end(), framed_section.begin(), framed_section.end());
  }
  append(bytes, foot, 8);
  for (const char letter : std::string_view("TPZ-END\n"))
    bytes.push_back(static_cast<std::byte>(letter));
  return bytes;
}

}  // namespace tensorpress::samples
