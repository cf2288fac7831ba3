#include "inputs/streams.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/bytes.h"
#include "base/errors.h"
#include "inputs/pipe_like.h"
#include "stream/chunks/chunk_grid.h"
#include "stream/container/compact/contents.h"
#include "tensorpress/streaming.h"

namespace tensorpress::fuzz {
namespace {

constexpr std::size_t kPrologue = 16, kFrame = 32, kTrailer = 16;

/// Bytes that must be asked for, as in a file.
class FileLike : public ByteSource {
 public:
  explicit FileLike(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<void> read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    return MemorySource(bytes_).read_at(offset, into);
  }

 private:
  std::span<const std::byte> bytes_;
};

Tensor empty_tensor(const StreamInfo& info) {
  return {.bytes = Bytes(static_cast<std::size_t>(info.bytes_in())),
          .dtype = info.dtype,
          .shape = info.shape};
}

/// The frame's last eight bytes, from the others and the payload.
void renew_checksum(std::span<std::byte> section, std::size_t payload_bytes) {
  const auto seed = XXH3_64bits(section.data() + kFrame, payload_bytes);
  store_le(section.data() + 24,
           static_cast<std::uint64_t>(XXH3_64bits_withSeed(section.data(), 24, seed)));
}

bool has_type(std::span<const std::byte> section, std::string_view type) {
  return std::memcmp(section.data(), type.data(), type.size()) == 0;
}

}  // namespace

Result<Tensor> read_in_memory(std::span<const std::byte> stream) {
  return decompress(stream, {.max_bytes = kMostBytes});
}

namespace {

Result<Tensor> read_whole(const StreamReader& reader, const DecompressOptions& options) {
  if (reader.info().bytes_in() > kMostBytes) return too_large("more than a fuzzer allows");
  Tensor tensor = empty_tensor(reader.info());
  ViewSink sink(tensor.mutable_view());
  RETURN_IF_ERROR(reader.read_all(sink, options));
  return tensor;
}

}  // namespace

Result<Tensor> read_as_file(std::span<const std::byte> stream, const DecompressOptions& options) {
  const FileLike file(stream);
  TRY(const auto reader, StreamReader::open(file));
  return read_whole(reader, options);
}

Result<Tensor> read_without_footer(std::span<const std::byte> stream,
                                   const DecompressOptions& options) {
  const FileLike file(stream);
  TRY(const auto reader, StreamReader::open_without_footer(file));
  return read_whole(reader, options);
}

Result<Tensor> read_as_pipe(std::span<const std::byte> stream, const DecompressOptions& options) {
  PipeLike pipe(stream);
  DecompressOptions limited = options;
  limited.max_bytes = kMostBytes;
  Tensor tensor;
  const auto make_sink = [&](const StreamInfo& info) -> Result<std::unique_ptr<TensorSink>> {
    tensor = empty_tensor(info);
    return std::unique_ptr<TensorSink>(std::make_unique<ViewSink>(tensor.mutable_view()));
  };
  TRY(const auto info, read_sequentially(pipe, make_sink, limited));
  return tensor;
}

namespace {

void repair_framed(Bytes& bytes) {
  std::vector<std::uint64_t> index;
  std::size_t at = kPrologue, foot = 0;
  while (at + kFrame + kTrailer <= bytes.size()) {
    const std::span<std::byte> section = std::span(bytes).subspan(at);
    const std::uint64_t room = section.size() - kFrame - kTrailer;
    const std::uint64_t claimed = load_le<std::uint64_t>(section.data() + 16);
    const auto payload_bytes = static_cast<std::size_t>(std::min(claimed, room));
    if (has_type(section, "CHNK")) index.insert(index.end(), {at, claimed});
    if (has_type(section, "FOOT")) {
      foot = at;
      for (std::size_t i = 0; i < index.size() && 16 + 8 * i <= payload_bytes; ++i) {
        store_le(section.data() + kFrame + 8 + 8 * i, index[i]);
      }
    }
    renew_checksum(section, payload_bytes);
    at += kFrame + (payload_bytes + 7) / 8 * 8;
  }
  if (bytes.size() >= kTrailer) {
    store_le(bytes.data() + bytes.size() - kTrailer, std::uint64_t{foot});
    std::memcpy(bytes.data() + bytes.size() - 8, "TPZ-END\n", 8);
  }
}

/// Walks over a stream of version 2, as far as it can be taken for one.
class CompactRepair {
 public:
  explicit CompactRepair(Bytes& bytes) : bytes_(bytes) {}

  void run() {
    std::vector<std::uint64_t> raw_sizes;
    while (at_ < end() && bytes_[at_] != std::byte{'C'}) {
      const bool head = bytes_[at_] == std::byte{'H'};
      const auto payload = repair_section();
      if (head) raw_sizes = sizes_of_chunks(payload);
    }
    ++at_;
    for (std::size_t i = 0; i < raw_sizes.size() && at_ < end(); ++i)
      repair_record(i, raw_sizes[i]);
    std::size_t foot = 0;
    while (at_ < end()) {
      if (bytes_[at_] == std::byte{'F'}) foot = at_;
      repair_section();
    }
    if (bytes_.size() < kCompactTrailer) return;
    store_le(bytes_.data() + end(), std::uint64_t{foot});
    std::memcpy(bytes_.data() + end() + 8, "TPZ\n", 4);
  }

 private:
  std::size_t end() const { return bytes_.size() - std::min(bytes_.size(), kCompactTrailer); }

  static std::vector<std::uint64_t> sizes_of_chunks(std::span<const std::byte> head) {
    const auto header = stream::compact::parse_header(head);
    if (!header.ok()) return {};
    const auto grid = stream::ChunkGrid::make(header->shape, header->chunk_shape);
    if (!grid.ok() || grid->chunk_count() > 4096) return {};
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t i = 0; i < grid->chunk_count(); ++i) {
      sizes.push_back(grid->region(i).extent.element_count() * size_of(header->dtype));
    }
    return sizes;
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 63 && at_ < end(); shift += 7) {
      const auto byte = std::to_integer<std::uint64_t>(bytes_[at_++]);
      value |= (byte & 127) << shift;
      if (byte < 128) break;
    }
    return value;
  }

  /// So many bytes, as far as there are, and behind them their checksum.
  std::span<const std::byte> repair_payload(std::span<const std::byte> fields, std::uint64_t size) {
    const std::size_t checksum = size >= kLarge ? 8 : 4;
    const std::uint64_t room = end() - std::min(end(), at_ + checksum);
    const auto payload = std::span<const std::byte>(bytes_).subspan(
        at_, static_cast<std::size_t>(std::min(size, room)));
    const auto seed = XXH3_64bits(payload.data(), payload.size());
    std::array<std::byte, 8> sum;
    store_le(sum.data(),
             static_cast<std::uint64_t>(XXH3_64bits_withSeed(fields.data(), fields.size(), seed)));
    at_ += payload.size();
    const std::size_t stored = std::min(checksum, bytes_.size() - at_);
    std::copy_n(sum.begin(), stored, bytes_.begin() + static_cast<std::ptrdiff_t>(at_));
    at_ += stored;
    return payload;
  }

  std::span<const std::byte> repair_section() {
    std::array<std::byte, 9> fields{bytes_[at_++]};
    const std::uint64_t size = varint();
    store_le(fields.data() + 1, size);
    return repair_payload(fields, size);
  }

  void repair_record(std::uint64_t number, std::uint64_t raw_size) {
    const std::uint64_t code = varint();
    if (code == 2) return;
    const std::uint64_t size = code < 3 ? raw_size : code - 3;
    if (size >= kLarge) at_ = std::min(at_ + 4, end());
    std::array<std::byte, 16> fields;
    store_le(fields.data(), number);
    store_le(fields.data() + 8, code);
    repair_payload(fields, size);
  }

  static constexpr std::size_t kCompactTrailer = 12, kLarge = 4096;

  Bytes& bytes_;
  std::size_t at_ = 12;
};

}  // namespace

Bytes repaired(std::span<const std::byte> stream) {
  Bytes bytes(stream.begin(), stream.end());
  if (bytes.size() > 8 && bytes[8] == std::byte{2}) {
    CompactRepair(bytes).run();
  } else {
    repair_framed(bytes);
  }
  return bytes;
}

}  // namespace tensorpress::fuzz
