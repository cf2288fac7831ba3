#include "inputs/streams.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/bytes.h"
#include "base/errors.h"
#include "inputs/pipe_like.h"
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

Bytes repaired(std::span<const std::byte> stream) {
  Bytes bytes(stream.begin(), stream.end());
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
  return bytes;
}

}  // namespace tensorpress::fuzz
