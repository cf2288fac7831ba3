// Codec ceresz on a device (kernels/ceresz.inl). The kernels code ordinary f32 values with an
// absolute limit; what else a chunk can be (a constant, special values, a point-wise or measured
// bound) the host decides from the scan.
#include <algorithm>

#include "base/errors.h"
#include "device/coders/bounded_chunks.h"

namespace tensorpress::device {
namespace {

constexpr std::size_t kBlock = kernels::bitplane::kBlockValues;
constexpr std::size_t kHead = 2;  // flags, slack

struct EncodedPayload {
  std::uint32_t start8 = 0;
  std::uint32_t bytes = 0;
};

class CereszCoder final : public ChunkCoder {
 public:
  explicit CereszCoder(double limit) : chunks_(limit) {}

  bool needs_scans() const override { return true; }

  Result<EncodedBatch> encode(Backend& backend, const DeviceTensor& tensor, const ChunkBatch& given,
                              std::span<const ChunkScan> scans) const override {
    ChunkBatch batch = given;
    EncodedBatch encoded;
    encoded.chunks.resize(batch.places.size());
    std::vector<ConstantPayload> constants(batch.places.size());
    std::uint64_t room = 0;
    for (std::size_t i = 0; i < batch.places.size(); ++i) {
      chunks_.plan(scans[i], batch.places[i], constants[i]);
      if (batch.places[i].kind == CHUNK_CODED) room += 4 * std::uint64_t{batch.places[i].count} + 8;
    }
    TRY(const auto payloads, run(backend, tensor, batch, room, encoded.bytes));
    for (std::size_t i = 0; i < batch.places.size(); ++i) {
      const ChunkPlace& place = batch.places[i];
      EncodedChunk& chunk = encoded.chunks[i];
      if (place.kind == CHUNK_CODED) {
        chunk = chunks_.coded(place, 8 * std::uint64_t{payloads[i].start8}, payloads[i].bytes);
        if (payloads[i].bytes == 4 * place.count) chunk = {.form = EncodedChunk::Form::raw};
      } else if (place.kind == CHUNK_CONSTANT) {
        chunk = chunks_.constant(scans[i], place, constants[i], encoded.bytes);
      }
    }
    return encoded;
  }

  Result<std::vector<bool>> decode(Backend& backend, std::span<const PayloadPlace> payloads,
                                   const DeviceTensor& tensor,
                                   const ChunkBatch& given) const override {
    ChunkBatch batch = given;
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < batch.places.size(); ++i) {
      ChunkPlace& place = batch.places[i];
      if (place.kind != CHUNK_CODED) continue;
      if (!payloads[i].raw && BoundedChunks::take_constant(payloads[i].bytes, place)) continue;
      place.kind = is_coded(payloads[i], place) ? CHUNK_CODED : CHUNK_LEFT;
      if (place.kind == CHUNK_CODED) {
        place.detail = static_cast<std::uint32_t>(payloads[i].bytes[1]);
        place.payload = bytes.size();
        place.payload_bytes = static_cast<std::uint32_t>(payloads[i].bytes.size());
        bytes.insert(bytes.end(), payloads[i].bytes.begin(), payloads[i].bytes.end());
        bytes.resize((bytes.size() + 7) / 8 * 8);
      }
    }
    TRY(const auto damaged, decode_tiles(backend, batch, bytes, tensor));
    std::vector<bool> decoded(batch.places.size());
    for (std::size_t i = 0; i < decoded.size(); ++i) {
      decoded[i] = batch.places[i].kind != CHUNK_LEFT && damaged[i] == 0;
    }
    return decoded;
  }

 private:
  Result<std::vector<EncodedPayload>> run(Backend& backend, const DeviceTensor& tensor,
                                          const ChunkBatch& batch, std::uint64_t room,
                                          std::vector<std::byte>& bytes) const {
    std::vector<EncodedPayload> payloads(batch.places.size());
    if (room == 0) return payloads;
    TRY(const auto tables, BatchTables::upload(backend, batch));
    TRY(const auto quantizers, chunks_.upload_quantizers(backend));
    const std::uint64_t states =
        sizeof(std::uint32_t) * (1 + batch.chunk_of_tile.size() + batch.places.size());
    TRY(const auto order, backend.allocate(states));
    RETURN_IF_ERROR(backend.clear(order.memory(), states));
    TRY(const auto found, backend.allocate(std::as_bytes(std::span(payloads)).size()));
    TRY(const auto coded, backend.allocate(room));
    RETURN_IF_ERROR(backend.launch(
        "ceresz", "encode", batch.tiles(),
        {tensor.memory.handle, tensor.memory.offset / sizeof(float), tables.places.memory().handle,
         tables.chunk_of_tile.memory().handle, batch.tiles(), quantizers.memory().handle,
         order.memory().handle, found.memory().handle, coded.memory().handle}));
    RETURN_IF_ERROR(backend.download(found.memory(), std::as_writable_bytes(std::span(payloads))));
    std::uint64_t used = 0;
    for (std::size_t i = 0; i < payloads.size(); ++i) {
      if (batch.places[i].kind != CHUNK_CODED) continue;
      used = std::max(used, 8 * std::uint64_t{payloads[i].start8} + payloads[i].bytes);
    }
    if (used > room) return internal_error("a kernel wrote ", used, " of ", room, " bytes");
    bytes.resize(static_cast<std::size_t>(used));
    RETURN_IF_ERROR(backend.download(coded.memory(), bytes));
    return payloads;
  }

  static bool is_coded(const PayloadPlace& payload, const ChunkPlace& place) {
    const std::size_t size = payload.bytes.size();
    const std::size_t blocks = (place.count + kBlock - 1) / kBlock;
    return !payload.raw && size >= kHead + blocks && size <= UINT32_MAX &&
           payload.bytes[0] == std::byte{bounded::kCoded} &&
           static_cast<unsigned>(payload.bytes[1]) < kernels::bitplane::kSlacks;
  }

  Result<std::vector<std::uint32_t>> decode_tiles(Backend& backend, const ChunkBatch& batch,
                                                  std::span<const std::byte> bytes,
                                                  const DeviceTensor& tensor) const {
    TRY(const auto tables, BatchTables::upload(backend, batch));
    TRY(const auto quantizers, chunks_.upload_quantizers(backend));
    // Words are read whole, so that the last may reach beyond the end.
    TRY(const auto coded, backend.allocate(bytes.size() + 8));
    RETURN_IF_ERROR(backend.upload(bytes, coded.memory()));
    std::vector<std::uint32_t> damaged(batch.places.size());
    TRY(const auto flags, backend.allocate(std::as_bytes(std::span(damaged)).size()));
    RETURN_IF_ERROR(backend.clear(flags.memory(), std::as_bytes(std::span(damaged)).size()));
    RETURN_IF_ERROR(backend.launch(
        "ceresz", "decode", batch.tiles(),
        {coded.memory().handle, tables.places.memory().handle, tables.chunk_of_tile.memory().handle,
         quantizers.memory().handle, tensor.memory.handle, tensor.memory.offset / sizeof(float),
         flags.memory().handle}));
    RETURN_IF_ERROR(backend.download(flags.memory(), std::as_writable_bytes(std::span(damaged))));
    return damaged;
  }

  BoundedChunks chunks_;
};

}  // namespace

std::unique_ptr<ChunkCoder> make_ceresz_coder(const Codec& codec, DType dtype) {
  if (codec.name() != "ceresz") return nullptr;
  const auto limit = BoundedChunks::limit_of(codec, dtype);
  return limit ? std::make_unique<CereszCoder>(*limit) : nullptr;
}

}  // namespace tensorpress::device
