// Codec ceresz2 on a device (kernels/ceresz2.inl). The kernels code ordinary f32 values with an
// absolute limit; what else a chunk can be the host decides from the scan. The host adds up where
// tiles write, and walks over the blocks of a payload before kernels read it.
#include <algorithm>

#include "base/bytes.h"
#include "base/errors.h"
#include "codecs/ceresz2/codebook.h"
#include "device/coders/bounded_chunks.h"

namespace tensorpress::device {
namespace {

using ceresz2::Codebook;
constexpr std::size_t kBlock = kernels::bitplane::kBlockValues;
constexpr std::size_t kBlocksInTile = kTileValues / kBlock;
constexpr std::size_t kHead = 9;  // flags, 8 bytes of ceresz2
constexpr std::uint64_t kEscapeBits = 32;
constexpr std::size_t kOutlierBytes = 8;
constexpr std::size_t kLengths = kernels::huffman::kMaxCodeBits + 2;

// As the kernels have them.
struct TileSize {
  std::uint32_t words, outliers;
};
struct Code {
  std::uint32_t symbols, first, index_bits, unused;
  std::array<std::uint32_t, kLengths> limits, offsets;
};

template <class Values>
Result<Buffer> uploaded(Backend& backend, const Values& values) {
  TRY(auto buffer, backend.allocate(std::as_bytes(std::span(values)).size()));
  RETURN_IF_ERROR(backend.upload_all(std::span(values), buffer));
  return buffer;
}

// Payloads on their way to the device: all words one after the other, where each block begins, and
// where each chunk's outliers do.
struct Words {
  std::vector<std::byte> bytes;
  std::vector<std::uint32_t> blocks;
};

class Ceresz2Coder final : public ChunkCoder {
 public:
  Ceresz2Coder(double limit, std::shared_ptr<const Codebook> book)
      : chunks_(limit), book_(std::move(book)) {}

  bool needs_scans() const override { return true; }

  Result<EncodedBatch> encode(Backend& backend, const DeviceTensor& tensor, const ChunkBatch& given,
                              std::span<const ChunkScan> scans) const override {
    ChunkBatch batch = given;
    EncodedBatch encoded;
    encoded.chunks.resize(batch.places.size());
    std::vector<ConstantPayload> constants(batch.places.size());
    for (std::size_t i = 0; i < batch.places.size(); ++i) {
      chunks_.plan(scans[i], batch.places[i], constants[i]);
    }
    TRY(auto sizes, measure(backend, tensor, batch));
    std::uint64_t room = 0;
    for (std::size_t i = 0; i < batch.places.size(); ++i) {
      ChunkPlace& place = batch.places[i];
      if (place.kind != CHUNK_CODED) continue;
      const TileSize all = sum_up(place, sizes);
      place.payload_bytes = 4 * all.words;
      place.reserved = all.outliers;
      const std::uint64_t bytes =
          kHead + 4 * std::uint64_t{all.words} + kOutlierBytes * std::uint64_t{all.outliers};
      if (bytes >= 4 * std::uint64_t{place.count}) {
        encoded.chunks[i] = {.form = EncodedChunk::Form::raw};
        place.kind = CHUNK_LEFT;
        continue;
      }
      place.payload = (room + kHead + 3) / 4 * 4 - kHead;  // so that words are aligned
      encoded.chunks[i] = chunks_.coded(place, place.payload, bytes);
      room = place.payload + bytes;
    }
    if (room > 0) {
      RETURN_IF_ERROR(pack(backend, tensor, batch, sizes, room, encoded.bytes));
    }
    for (std::size_t i = 0; i < batch.places.size(); ++i) {
      const ChunkPlace& place = batch.places[i];
      if (place.kind == CHUNK_CONSTANT) {
        encoded.chunks[i] = chunks_.constant(scans[i], place, constants[i], encoded.bytes);
      }
    }
    return encoded;
  }

  Result<std::vector<bool>> decode(Backend& backend, std::span<const PayloadPlace> payloads,
                                   const DeviceTensor& tensor,
                                   const ChunkBatch& given) const override {
    ChunkBatch batch = given;
    Words words;
    words.blocks.resize(batch.chunk_of_tile.size() * kBlocksInTile);
    for (std::size_t i = 0; i < batch.places.size(); ++i) {
      ChunkPlace& place = batch.places[i];
      if (place.kind != CHUNK_CODED) continue;
      place.kind = CHUNK_LEFT;
      if (payloads[i].raw) continue;
      if (BoundedChunks::take_constant(payloads[i].bytes, place)) continue;
      if (take_words(payloads[i].bytes, place, words)) place.kind = CHUNK_CODED;
    }
    std::vector<std::uint32_t> damaged(batch.places.size());
    RETURN_IF_ERROR(unpack(backend, batch, words, tensor, damaged));
    std::vector<bool> decoded(batch.places.size());
    for (std::size_t i = 0; i < decoded.size(); ++i) {
      decoded[i] = batch.places[i].kind != CHUNK_LEFT && damaged[i] == 0;
    }
    return decoded;
  }

 private:
  Result<std::vector<TileSize>> measure(Backend& backend, const DeviceTensor& tensor,
                                        const ChunkBatch& batch) const {
    std::vector<TileSize> sizes(batch.chunk_of_tile.size());
    TRY(const auto tables, BatchTables::upload(backend, batch));
    TRY(const auto quantizers, chunks_.upload_quantizers(backend));
    TRY(const auto code, upload_code(backend));
    TRY(const auto entries, upload_pack_entries(backend));
    TRY(const auto found, backend.allocate(std::as_bytes(std::span(sizes)).size()));
    RETURN_IF_ERROR(backend.launch(
        "ceresz2", "measure", batch.tiles(),
        {tensor.memory.handle, tensor.memory.offset / sizeof(float), tables.places.memory().handle,
         tables.chunk_of_tile.memory().handle, quantizers.memory().handle, code.memory().handle,
         entries.memory().handle, found.memory().handle}));
    RETURN_IF_ERROR(backend.download(found.memory(), std::as_writable_bytes(std::span(sizes))));
    return sizes;
  }

  // The chunk's tiles get what is before them; returns what all take.
  static TileSize sum_up(const ChunkPlace& place, std::span<TileSize> sizes) {
    TileSize all{0, 0};
    const std::size_t tiles = (place.count + kTileValues - 1) / kTileValues;
    for (TileSize& tile : sizes.subspan(place.first_tile, tiles)) {
      const TileSize own = tile;
      tile = all;
      all.words += own.words;
      all.outliers += own.outliers;
    }
    return all;
  }

  Result<void> pack(Backend& backend, const DeviceTensor& tensor, const ChunkBatch& batch,
                    std::span<const TileSize> before, std::uint64_t room,
                    std::vector<std::byte>& bytes) const {
    TRY(const auto tables, BatchTables::upload(backend, batch));
    TRY(const auto quantizers, chunks_.upload_quantizers(backend));
    TRY(const auto code, upload_code(backend));
    TRY(const auto entries, upload_pack_entries(backend));
    TRY(const auto places, uploaded(backend, before));
    TRY(const auto coded, backend.allocate(room));
    RETURN_IF_ERROR(backend.launch(
        "ceresz2", "pack", batch.tiles(),
        {tensor.memory.handle, tensor.memory.offset / sizeof(float), tables.places.memory().handle,
         tables.chunk_of_tile.memory().handle, quantizers.memory().handle, code.memory().handle,
         entries.memory().handle, places.memory().handle, coded.memory().handle}));
    bytes.resize(static_cast<std::size_t>(room));
    return backend.download(coded.memory(), bytes);
  }

  // What the host's decoder would refuse, it has to see.
  static bool take_words(std::span<const std::byte> payload, ChunkPlace& place, Words& words) {
    if (payload.size() < kHead || payload[0] != std::byte{bounded::kCoded}) return false;
    const auto head = load_le<std::uint64_t>(payload.data() + 1);
    const std::uint64_t outliers = head >> 16;
    const auto rest = payload.subspan(kHead);
    if ((head & 0xFF) >= kernels::bitplane::kSlacks || (head >> 8 & 0xFF) != kEscapeBits ||
        outliers > place.count || outliers > rest.size() / kOutlierBytes) {
      return false;
    }
    const auto count = static_cast<std::size_t>(outliers);
    const auto blocks = rest.first(rest.size() - kOutlierBytes * count);
    const auto positions = rest.subspan(blocks.size(), 4 * count);
    const std::size_t first_word = words.bytes.size() / 4;
    if (blocks.size() % 4 != 0 || first_word + rest.size() / 4 > UINT32_MAX) return false;
    std::uint32_t* next = words.blocks.data() + place.first_tile * kBlocksInTile;
    std::size_t at = 0;
    for (std::size_t block = 0; block < (place.count + kBlock - 1) / kBlock; ++block) {
      if (blocks.size() - at < 4) return false;
      const auto bits = load_le<std::uint32_t>(blocks.data() + at);
      const std::size_t length = 4 * ((std::size_t{bits} + 31) / 32);
      if (bits > kernels::huffman::kMaxBlockBits<float> || length > blocks.size() - at - 4) {
        return false;
      }
      *next++ = static_cast<std::uint32_t>(first_word + at / 4);
      at += 4 + length;
    }
    if (at != blocks.size()) return false;
    std::uint64_t least = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto position = load_le<std::uint32_t>(positions.data() + 4 * i);
      if (position < least || position >= place.count) return false;
      least = std::uint64_t{position} + 1;
    }
    place.detail = static_cast<std::uint32_t>(head & 0xFF);
    place.payload = first_word + blocks.size() / 4;
    place.reserved = static_cast<std::uint32_t>(outliers);
    words.bytes.insert(words.bytes.end(), rest.begin(), rest.end());
    return true;
  }

  Result<void> unpack(Backend& backend, const ChunkBatch& batch, const Words& words,
                      const DeviceTensor& tensor, std::vector<std::uint32_t>& damaged) const {
    const auto flag_bytes = std::as_writable_bytes(std::span(damaged));
    const std::uint64_t offset = tensor.memory.offset / sizeof(float);
    const auto& table = book_->unpack_table(0);
    TRY(const auto tables, BatchTables::upload(backend, batch));
    TRY(const auto quantizers, chunks_.upload_quantizers(backend));
    TRY(const auto code, upload_code(backend));
    TRY(const auto entries,
        uploaded(backend, std::span(table.entries, std::size_t{1} << table.index_bits)));
    TRY(const auto by_code, uploaded(backend, std::span(table.symbols, book_->symbols())));
    TRY(const auto blocks, uploaded(backend, words.blocks));
    TRY(const auto bytes, backend.allocate(words.bytes.size()));
    RETURN_IF_ERROR(backend.upload(words.bytes, bytes.memory()));
    TRY(const auto flags, backend.allocate(flag_bytes.size()));
    RETURN_IF_ERROR(backend.clear(flags.memory(), flag_bytes.size()));
    RETURN_IF_ERROR(backend.launch(
        "ceresz2", "unpack", batch.tiles(),
        {bytes.memory().handle, tables.places.memory().handle, tables.chunk_of_tile.memory().handle,
         quantizers.memory().handle, code.memory().handle, entries.memory().handle,
         by_code.memory().handle, blocks.memory().handle, tensor.memory.handle, offset,
         flags.memory().handle}));
    RETURN_IF_ERROR(backend.launch(
        "ceresz2", "put_outliers", batch.places.size(),
        {bytes.memory().handle, tables.places.memory().handle, tensor.memory.handle, offset}));
    return backend.download(flags.memory(), flag_bytes);
  }

  Result<Buffer> upload_code(Backend& backend) const {
    const auto& table = book_->unpack_table(0);
    Code code{.symbols = book_->symbols(),
              .first = static_cast<std::uint32_t>(-book_->first_symbol()),
              .index_bits = table.index_bits,
              .unused = 0,
              .limits = table.limits,
              .offsets = table.offsets};
    return uploaded(backend, std::span(&code, 1));
  }
  Result<Buffer> upload_pack_entries(Backend& backend) const {
    const auto table = book_->pack_table();
    return uploaded(backend, std::span(table.entries, table.symbols));
  }

  BoundedChunks chunks_;
  std::shared_ptr<const Codebook> book_;
};

}  // namespace

std::unique_ptr<ChunkCoder> make_ceresz2_coder(const Codec& codec, DType dtype) {
  if (codec.name() != "ceresz2") return nullptr;
  const auto limit = BoundedChunks::limit_of(codec, dtype);
  const auto text = std::ranges::find(codec.parameters(), "codebook", &Parameter::name);
  if (!limit || text == codec.parameters().end()) return nullptr;
  auto book = ceresz2::shared_codebook(text->value);
  if (!book.ok()) return nullptr;
  return std::make_unique<Ceresz2Coder>(*limit, std::move(*book));
}

}  // namespace tensorpress::device
