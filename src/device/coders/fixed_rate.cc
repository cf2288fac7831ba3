#include "device/coders/fixed_rate.h"

#include <algorithm>

#include "base/errors.h"
#include "codecs/pack/packed_codec.h"

namespace tensorpress::device {
namespace {

// Payloads begin at multiples of this, whatever the kernels read and write.
constexpr std::uint64_t kAlignment = 8;

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::uint64_t first_value(const DeviceTensor& tensor) {
  return tensor.memory.offset / sizeof(float);
}

}  // namespace

Result<EncodedBatch> FixedRateCoder::encode(Backend& backend, const DeviceTensor& tensor,
                                            const ChunkBatch& given,
                                            std::span<const ChunkScan> /*scans*/) const {
  EncodedBatch encoded;
  encoded.chunks.resize(given.places.size());
  const auto left = [](const ChunkPlace& place) { return place.kind == CHUNK_LEFT; };
  if (std::ranges::any_of(given.places, left)) return encoded;
  // The error that a stream states is a sum of doubles.
  if (!exact() && !backend.has_doubles()) return encoded;
  ChunkBatch batch = given;
  std::uint64_t room = 0;
  for (std::size_t i = 0; i < batch.places.size(); ++i) {
    ChunkPlace& place = batch.places[i];
    place.payload = room;
    describe(batch.origins[i], place);
    encoded.chunks[i] = {.form = EncodedChunk::Form::coded,
                         .offset = room,
                         .bytes = payload_bytes(place.count),
                         .squared_error = 0};
    room += aligned(encoded.chunks[i].bytes);
  }
  RETURN_IF_ERROR(run(backend, tensor, batch, room, encoded));
  for (std::size_t i = 0; i < batch.places.size(); ++i) {
    if (encoded.chunks[i].bytes >= sizeof(float) * std::uint64_t{batch.places[i].count}) {
      encoded.chunks[i] = {.form = EncodedChunk::Form::raw};
    }
  }
  return encoded;
}

Result<void> FixedRateCoder::run(Backend& backend, const DeviceTensor& tensor,
                                 const ChunkBatch& batch, std::uint64_t room,
                                 EncodedBatch& encoded) const {
  const std::size_t chunks = batch.places.size();
  std::vector<std::uint32_t> unfit(chunks);
  const auto unfit_bytes = std::as_writable_bytes(std::span(unfit));
  TRY(const auto tables, BatchTables::upload(backend, batch));
  TRY(const auto packed, backend.allocate(room));
  TRY(const auto flags, backend.allocate(unfit_bytes.size()));
  RETURN_IF_ERROR(backend.clear(flags.memory(), unfit_bytes.size()));
  RETURN_IF_ERROR(pack(
      backend, {batch, tables, packed.memory().handle, tensor.memory.handle, first_value(tensor)},
      flags.memory().handle));
  std::vector<double> errors(chunks);
  if (!exact()) {
    TRY(errors, squared_errors(backend, tensor, batch, tables, packed));
  }
  RETURN_IF_ERROR(backend.download(flags.memory(), unfit_bytes));
  encoded.bytes.resize(static_cast<std::size_t>(room));
  RETURN_IF_ERROR(backend.download(packed.memory(), encoded.bytes));
  for (std::size_t i = 0; i < chunks; ++i) {
    encoded.chunks[i].squared_error = errors[i];
    if (unfit[i] != 0) encoded.chunks[i].form = EncodedChunk::Form::left;
  }
  return {};
}

Result<std::vector<double>> FixedRateCoder::squared_errors(Backend& backend,
                                                           const DeviceTensor& tensor,
                                                           const ChunkBatch& batch,
                                                           const BatchTables& tables,
                                                           const Buffer& packed) const {
  constexpr std::size_t kSums = 8;
  const std::size_t chunks = batch.places.size();
  TRY(const auto decoded, backend.allocate(batch.values * sizeof(float)));
  RETURN_IF_ERROR(unpack(backend, {batch, tables, packed.memory().handle, decoded.memory().handle,
                                   std::uint64_t{0} - batch.places.front().first}));
  TRY(const auto sums, backend.allocate(chunks * kSums * sizeof(double)));
  RETURN_IF_ERROR(
      backend.launch("squared_error", "squared_error", chunks,
                     {tensor.memory.handle, first_value(tensor), decoded.memory().handle,
                      tables.places.memory().handle, sums.memory().handle}));
  std::vector<double> parts(chunks * kSums);
  RETURN_IF_ERROR(backend.download(sums.memory(), std::as_writable_bytes(std::span(parts))));
  std::vector<double> totals(chunks);
  for (std::size_t i = 0; i < parts.size(); ++i) totals[i / kSums] += parts[i];
  for (double& total : totals) total *= 1 + packing::kSummationShare;
  return totals;
}

Result<std::vector<bool>> FixedRateCoder::decode(Backend& backend,
                                                 std::span<const PayloadPlace> payloads,
                                                 const DeviceTensor& tensor,
                                                 const ChunkBatch& given) const {
  ChunkBatch batch = given;
  std::vector<std::byte> bytes;
  std::vector<bool> decoded(batch.places.size());
  for (std::size_t i = 0; i < batch.places.size(); ++i) {
    ChunkPlace& place = batch.places[i];
    const auto payload = payloads[i].bytes;
    decoded[i] = place.kind == CHUNK_CODED && !payloads[i].raw &&
                 payload.size() == payload_bytes(place.count) && is_sound(payload, place.count);
    place.kind = decoded[i] ? CHUNK_CODED : CHUNK_LEFT;
    place.payload = bytes.size();
    if (!decoded[i]) continue;
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    bytes.resize(static_cast<std::size_t>(aligned(bytes.size())));
  }
  TRY(const auto packed, backend.allocate(bytes.size()));
  RETURN_IF_ERROR(backend.upload(bytes, packed.memory()));
  TRY(const auto tables, BatchTables::upload(backend, batch));
  RETURN_IF_ERROR(unpack(
      backend, {batch, tables, packed.memory().handle, tensor.memory.handle, first_value(tensor)}));
  return decoded;
}

}  // namespace tensorpress::device
