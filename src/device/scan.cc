#include "device/scan.h"

#include <algorithm>

#include "base/errors.h"
#include "base/tensor/stored_value.h"
#include "kernels/value_scan/value_scan.h"

namespace tensorpress::device {
namespace {

constexpr std::size_t kSamples = 1 << 14;  // as in stream/bounds/survey.cc

std::vector<float> stored_fills(std::span<const double> fill_values, DType dtype) {
  std::vector<float> fills;
  for (const double fill : fill_values) {
    fills.push_back(static_cast<float>(as_stored(fill, dtype)));
  }
  return fills;
}

std::uint64_t elements_before(const DeviceTensor& tensor) {
  return tensor.memory.offset / size_of(tensor.dtype);
}

Result<Buffer> upload_fills(Backend& backend, std::span<const float> fills) {
  TRY(auto buffer, backend.allocate(fills.size_bytes()));
  RETURN_IF_ERROR(backend.upload_all(fills, buffer));
  return buffer;
}

class LookOnDevice final : public stream::DataLook {
 public:
  LookOnDevice(Backend& backend, const DeviceTensor& tensor, stream::DataLook& host)
      : backend_(backend), tensor_(tensor), host_(host) {}

  // A look at all chunks here is cheaper than a copy of some of them to the host.
  Result<std::vector<stream::Sighting>> look_at(const stream::ChunkGrid& grid,
                                                std::span<const std::uint64_t> chunks,
                                                std::span<const double> fill_values) override {
    if (!can_scan(tensor_.dtype)) return host_.look_at(grid, chunks, fill_values);
    if (chunks.empty()) return std::vector<stream::Sighting>();
    const std::uint64_t count = grid.chunk_count();
    std::vector<stream::Sighting> sightings;
    for (std::uint64_t first = 0; first < count;) {
      const auto batch = ChunkBatch::of(grid, tensor_.dtype, first, batch_bytes(backend_));
      const auto left = [](const ChunkPlace& place) { return place.kind == CHUNK_LEFT; };
      if (std::ranges::any_of(batch.places, left)) {
        return host_.look_at(grid, chunks, fill_values);
      }
      TRY(const auto scans, scan_chunks(backend_, tensor_, batch, fill_values));
      for (const ChunkScan& scan : scans) sightings.push_back({hint_of(scan), {}});
      const std::uint64_t each =
          std::max<std::uint64_t>(kSamples / count, count < kSamples ? 1 : 0);
      RETURN_IF_ERROR(take_samples(batch, static_cast<std::uint32_t>(each), fill_values,
                                   std::span(sightings).last(scans.size())));
      first += batch.places.size();
    }
    std::vector<stream::Sighting> wanted;
    for (const std::uint64_t chunk : chunks) {
      wanted.push_back(std::move(sightings[static_cast<std::size_t>(chunk)]));
    }
    return wanted;
  }
  Result<stream::Trial> trial(const ChunkCodec& codec, const stream::ChunkGrid& grid,
                              std::span<const std::uint64_t> chunks) override {
    return host_.trial(codec, grid, chunks);
  }
  Result<void> show_to(Learner& learner, const stream::ChunkGrid& grid) override {
    return host_.show_to(learner, grid);
  }

 private:
  // Those that the host's survey takes: with 0 a chunk, one of each all the same.
  Result<void> take_samples(const ChunkBatch& batch, std::uint32_t each,
                            std::span<const double> fill_values,
                            std::span<stream::Sighting> sightings) {
    each = std::max<std::uint32_t>(each, 1);
    const std::size_t room = 2 * std::size_t{each};
    TRY(const auto tables, BatchTables::upload(backend_, batch));
    TRY(const auto samples, backend_.allocate(batch.places.size() * room * sizeof(float)));
    RETURN_IF_ERROR(
        backend_.launch("scan", "take_samples", batch.places.size(),
                        {tensor_.memory.handle, elements_before(tensor_),
                         tables.places.memory().handle, each, samples.memory().handle}));
    std::vector<float> values(batch.places.size() * room);
    RETURN_IF_ERROR(backend_.download(samples.memory(), std::as_writable_bytes(std::span(values))));
    const auto fills = stored_fills(fill_values, tensor_.dtype);
    for (std::size_t i = 0; i < batch.places.size(); ++i) {
      const std::size_t count = batch.places[i].count;
      const std::size_t step = std::max<std::size_t>(count / each, 1);
      std::size_t k = i * room;
      for (std::size_t at = step / 2; at < count; at += step, ++k) {
        if (kernels::is_special<float>(values[k], fills)) continue;
        sightings[i].samples.push_back(static_cast<double>(values[k]));
      }
    }
    return {};
  }

  Backend& backend_;
  const DeviceTensor& tensor_;
  stream::DataLook& host_;
};

}  // namespace

bool can_scan(DType dtype) {
  return dtype == DType::f32;
}

Result<std::vector<ChunkScan>> scan_chunks(Backend& backend, const DeviceTensor& tensor,
                                           const ChunkBatch& batch,
                                           std::span<const double> fill_values) {
  const auto fills = stored_fills(fill_values, tensor.dtype);
  TRY(const auto fill_buffer, upload_fills(backend, fills));
  TRY(const auto tables, BatchTables::upload(backend, batch));
  TRY(const auto found, backend.allocate(batch.places.size() * sizeof(ChunkScan)));
  RETURN_IF_ERROR(
      backend.launch("scan", "scan_values", batch.places.size(),
                     {tensor.memory.handle, elements_before(tensor), tables.places.memory().handle,
                      fill_buffer.memory().handle, static_cast<std::uint32_t>(fills.size()),
                      found.memory().handle}));
  std::vector<ChunkScan> scans(batch.places.size());
  RETURN_IF_ERROR(backend.download(found.memory(), std::as_writable_bytes(std::span(scans))));
  return scans;
}

ChunkHint hint_of(const ChunkScan& scan) {
  return {static_cast<double>(scan.low), static_cast<double>(scan.high), scan.specials,
          scan.zeros != 0};
}

std::unique_ptr<stream::DataLook> look_on_device(Backend& backend, const DeviceTensor& tensor,
                                                 stream::DataLook& host) {
  return std::make_unique<LookOnDevice>(backend, tensor, host);
}

}  // namespace tensorpress::device
