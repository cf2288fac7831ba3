// Codec dct-chop on a device (kernels/dct_chop.inl). The kernels transform f32; the error that a
// stream states is added up here from sums of slabs or rows, in the host's order. What is unusual
// (values that are not finite, coefficients that overflow) the host codes.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/errors.h"
#include "codecs/dct_chop/parameters.h"
#include "codecs/dct_chop/slabs.h"
#include "codecs/dct_chop/stated_error.h"
#include "device/chunk_coder.h"

namespace tensorpress::device {
namespace {

using dct_chop::Geometry;
using dct_chop::Parameters;
using dct_chop::SlabWalk;
using kernels::Tiling;

// As the kernels have them.
struct ChopShape {
  std::uint32_t points, keep, layout, stored;
};
struct ChopChunk {
  std::uint32_t height, width, block_rows, blocks;
  std::uint32_t first_slab, slab_rows, total_rows, lane_rows;
  std::uint32_t row_length, first_row_group;
};

constexpr std::size_t kEnergies = 3 * Tiling::kLanes;  // of a slab
constexpr std::uint32_t kRowsInGroup = 32;
constexpr std::uint64_t kAlignment = 8;  // of payloads

// What the kernels of one batch work on.
struct Slabs {
  std::vector<Geometry> geometries;
  std::vector<ChopChunk> chops;
  std::vector<std::uint32_t> chunk_of_slab;
  std::vector<std::uint32_t> chunk_of_row_group;
};

std::uint32_t narrow(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}

template <class Values>
Result<Buffer> uploaded(Backend& backend, const Values& values) {
  TRY(auto buffer, backend.allocate(std::as_bytes(std::span(values)).size()));
  RETURN_IF_ERROR(backend.upload_all(std::span(values), buffer));
  return buffer;
}

class DctChopCoder final : public ChunkCoder {
 public:
  explicit DctChopCoder(const Parameters& parameters) : parameters_(parameters) {}

  Result<EncodedBatch> encode(Backend& backend, const DeviceTensor& tensor, const ChunkBatch& given,
                              std::span<const ChunkScan> /*scans*/) const override {
    EncodedBatch encoded;
    encoded.chunks.resize(given.places.size());
    ChunkBatch batch = given;
    const Slabs slabs = slabs_of(batch);
    std::uint64_t room = 0;
    bool measured = false;
    for (std::size_t i = 0; i < batch.places.size(); ++i) {
      ChunkPlace& place = batch.places[i];
      const std::uint64_t bytes = coded_bytes(slabs.geometries[i]);
      // Raw is smaller, or the chunk lies in pieces: the host's.
      if (place.kind == CHUNK_LEFT || bytes > sizeof(float) * std::uint64_t{place.count}) {
        return encoded;
      }
      place.payload = room;
      encoded.chunks[i] = {
          .form = EncodedChunk::Form::coded, .offset = room, .bytes = bytes, .squared_error = 0};
      room += (bytes + kAlignment - 1) / kAlignment * kAlignment;
      measured = measured || !by_parseval(slabs.geometries[i]);
    }
    if (measured && !backend.has_doubles()) return EncodedBatch{left(given), {}};
    Launch launch;
    TRY(launch, prepare(backend, batch, slabs, room));
    std::vector<float> energies(slabs.chunk_of_slab.size() * kEnergies);
    TRY(const auto sums, backend.allocate(energies.size() * sizeof(float)));
    RETURN_IF_ERROR(backend.launch(
        "dct_chop", "chop", slabs.chunk_of_slab.size(),
        {tensor.memory.handle, tensor.memory.offset / sizeof(float), launch.places(),
         launch.chunk_of_slab.memory().handle, launch.shape.memory().handle,
         launch.chops.memory().handle, launch.bytes.memory().handle, sums.memory().handle}));
    std::vector<double> row_errors;
    if (measured) {
      TRY(row_errors, errors_of_rows(backend, tensor, batch, slabs, launch));
    }
    RETURN_IF_ERROR(backend.download(sums.memory(), std::as_writable_bytes(std::span(energies))));
    encoded.bytes.resize(static_cast<std::size_t>(room));
    RETURN_IF_ERROR(backend.download(launch.bytes.memory(), encoded.bytes));
    for (std::size_t i = 0; i < batch.places.size(); ++i) {
      const Geometry& geometry = slabs.geometries[i];
      const auto error =
          by_parseval(geometry)
              ? dct_chop::stated_by_parseval(
                    energy_of(geometry, energies, slabs.chops[i].first_slab), batch.places[i].count)
              : std::optional(measured_error(geometry, row_errors, slabs.chops[i]));
      if (error && std::isfinite(*error)) {
        encoded.chunks[i].squared_error = *error;
      } else {
        encoded.chunks[i].form = EncodedChunk::Form::left;
      }
    }
    return encoded;
  }

  Result<std::vector<bool>> decode(Backend& backend, std::span<const PayloadPlace> payloads,
                                   const DeviceTensor& tensor,
                                   const ChunkBatch& given) const override {
    ChunkBatch batch = given;
    const Slabs slabs = slabs_of(batch);
    std::vector<std::byte> bytes;
    std::vector<bool> decoded(batch.places.size());
    for (std::size_t i = 0; i < batch.places.size(); ++i) {
      ChunkPlace& place = batch.places[i];
      const auto payload = payloads[i].bytes;
      decoded[i] = place.kind == CHUNK_CODED && !payloads[i].raw && place.count > 0 &&
                   payload.size() == coded_bytes(slabs.geometries[i]);
      place.kind = decoded[i] ? CHUNK_CODED : CHUNK_LEFT;
      place.payload = bytes.size();
      if (!decoded[i]) continue;
      bytes.insert(bytes.end(), payload.begin(), payload.end());
      bytes.resize((bytes.size() + kAlignment - 1) / kAlignment * kAlignment);
    }
    Launch launch;
    TRY(launch, prepare(backend, batch, slabs, bytes.size()));
    RETURN_IF_ERROR(backend.upload(bytes, launch.bytes.memory()));
    RETURN_IF_ERROR(
        unchop(backend, slabs, launch, tensor.memory.handle, tensor.memory.offset / sizeof(float)));
    return decoded;
  }

 private:
  struct Launch {
    BatchTables tables;
    Buffer chunk_of_slab, shape, chops, bytes;
    void* places() const { return tables.places.memory().handle; }
  };

  static std::vector<EncodedChunk> left(const ChunkBatch& batch) {
    return std::vector<EncodedChunk>(batch.places.size());
  }

  std::uint64_t coded_bytes(const Geometry& geometry) const {
    return geometry.values() * size_of(parameters_.coefficients);
  }
  bool by_parseval(const Geometry& geometry) const {
    return parameters_.transform == kernels::Transform::dct &&
           parameters_.coefficients == DType::f32 && geometry.unpadded();
  }
  ChopShape shape_of(const Geometry& geometry) const {
    const auto stored = parameters_.coefficients == DType::f32    ? 0u
                        : parameters_.coefficients == DType::bf16 ? 1u
                                                                  : 2u;
    return {narrow(parameters_.points()), narrow(std::uint64_t(parameters_.chop_factor)),
            static_cast<std::uint32_t>(geometry.layout), stored};
  }

  // Chunks that are left have no slabs.
  Slabs slabs_of(const ChunkBatch& batch) const {
    Slabs slabs;
    for (std::size_t i = 0; i < batch.places.size(); ++i) {
      const Geometry geometry = Geometry::of(batch.extents[i], parameters_);
      const bool taken = batch.places[i].kind == CHUNK_CODED && batch.places[i].count > 0;
      const SlabWalk walk(geometry, false);
      ChopChunk chop{.height = narrow(geometry.height),
                     .width = narrow(geometry.width),
                     .block_rows = narrow(geometry.block_rows),
                     .blocks = narrow(geometry.blocks),
                     .first_slab = narrow(slabs.chunk_of_slab.size()),
                     .slab_rows = 1,
                     .total_rows = 0,
                     .lane_rows = 1,
                     .row_length = narrow(geometry.width),
                     .first_row_group = narrow(slabs.chunk_of_row_group.size())};
      if (taken) {
        const auto first = walk[0];
        const auto tiling = kernels::tiling_for(
            static_cast<std::size_t>(geometry.padded_width()), static_cast<int>(geometry.points),
            parameters_.chop_factor, geometry.layout == kernels::Layout::square);
        chop.slab_rows = narrow(geometry.linear() ? first.width : first.block_rows);
        chop.total_rows = narrow(geometry.linear() ? geometry.padded_width()
                                                   : geometry.planes * geometry.block_rows);
        chop.lane_rows = narrow(tiling.block_rows);
        if (geometry.linear()) chop.row_length = chop.slab_rows;
        const std::uint64_t rows =
            (std::uint64_t{batch.places[i].count} + chop.row_length - 1) / chop.row_length;
        const auto number = static_cast<std::uint32_t>(i);
        slabs.chunk_of_slab.insert(slabs.chunk_of_slab.end(),
                                   static_cast<std::size_t>(walk.count()), number);
        slabs.chunk_of_row_group.insert(
            slabs.chunk_of_row_group.end(),
            static_cast<std::size_t>((rows + kRowsInGroup - 1) / kRowsInGroup), number);
      }
      slabs.geometries.push_back(geometry);
      slabs.chops.push_back(chop);
    }
    return slabs;
  }

  Result<Launch> prepare(Backend& backend, const ChunkBatch& batch, const Slabs& slabs,
                         std::uint64_t room) const {
    Launch launch;
    const ChopShape shape = shape_of(slabs.geometries.front());
    TRY(launch.tables, BatchTables::upload(backend, batch));
    TRY(launch.chunk_of_slab, uploaded(backend, slabs.chunk_of_slab));
    TRY(launch.shape, uploaded(backend, std::span(&shape, 1)));
    TRY(launch.chops, uploaded(backend, slabs.chops));
    TRY(launch.bytes, backend.allocate(room));
    return launch;
  }

  static Result<void> unchop(Backend& backend, const Slabs& slabs, const Launch& launch,
                             void* values, std::uint64_t offset) {
    return backend.launch(
        "dct_chop", "unchop", slabs.chunk_of_slab.size(),
        {launch.bytes.memory().handle, launch.places(), launch.chunk_of_slab.memory().handle,
         launch.shape.memory().handle, launch.chops.memory().handle, values, offset});
  }

  // 32 numbers of each group of rows.
  static Result<std::vector<double>> errors_of_rows(Backend& backend, const DeviceTensor& tensor,
                                                    const ChunkBatch& batch, const Slabs& slabs,
                                                    const Launch& launch) {
    TRY(const auto decoded, backend.allocate(batch.values * sizeof(float)));
    RETURN_IF_ERROR(unchop(backend, slabs, launch, decoded.memory().handle,
                           std::uint64_t{0} - batch.places.front().first));
    TRY(const auto chunk_of_group, uploaded(backend, slabs.chunk_of_row_group));
    std::vector<double> errors(slabs.chunk_of_row_group.size() * kRowsInGroup);
    TRY(const auto sums, backend.allocate(errors.size() * sizeof(double)));
    RETURN_IF_ERROR(
        backend.launch("dct_chop", "row_errors", slabs.chunk_of_row_group.size(),
                       {tensor.memory.handle, tensor.memory.offset / sizeof(float),
                        decoded.memory().handle, launch.places(), chunk_of_group.memory().handle,
                        launch.chops.memory().handle, sums.memory().handle}));
    RETURN_IF_ERROR(backend.download(sums.memory(), std::as_writable_bytes(std::span(errors))));
    return errors;
  }

  // As compress_by_parseval() adds them up.
  static kernels::Energy energy_of(const Geometry& geometry, std::span<const float> energies,
                                   std::uint32_t first_slab) {
    kernels::Energy energy;
    const std::uint64_t count = SlabWalk(geometry, false).count();
    for (std::uint64_t slab = 0; slab < count; ++slab) {
      const auto lanes =
          energies.subspan(static_cast<std::size_t>(first_slab + slab) * kEnergies, kEnergies);
      kernels::Energy sum;
      for (std::size_t i = 0; i < Tiling::kLanes; ++i) {
        sum.dropped += static_cast<double>(lanes[i]);
        sum.dropped += static_cast<double>(lanes[Tiling::kLanes + i]);
        sum.kept += static_cast<double>(lanes[2 * Tiling::kLanes + i]);
      }
      energy.kept += sum.kept;
      energy.dropped += sum.dropped;
    }
    return energy;
  }

  // As compress_and_measure() adds them up: rows within a slab, then slabs.
  static double measured_error(const Geometry& geometry, std::span<const double> errors,
                               const ChopChunk& chop) {
    auto next = errors.begin() + std::ptrdiff_t{kRowsInGroup} * chop.first_row_group;
    double squared_error = 0;
    const SlabWalk walk(geometry, false);
    for (std::uint64_t i = 0; i < walk.count(); ++i) {
      const auto slab = walk[i];
      double sum = 0;
      for (std::size_t b = 0; b < slab.block_rows; ++b) {
        std::uint64_t rows = 1;
        if (!geometry.linear()) {
          const std::uint64_t first = (slab.first + b) % geometry.block_rows * geometry.points;
          rows = std::min(geometry.points, geometry.height - first);
        }
        for (std::uint64_t row = 0; row < rows; ++row) sum += *next++;
      }
      squared_error += sum;
    }
    return squared_error * (1 + dct_chop::kSummationShare);
  }

  Parameters parameters_;
};

}  // namespace

std::unique_ptr<ChunkCoder> make_dct_chop_coder(const Codec& codec, DType dtype) {
  if (codec.name() != "dct-chop" || dtype != DType::f32) return nullptr;
  const auto parameters = dct_chop::parse_parameters(codec.parameters());
  if (!parameters.ok() || parameters->matmul) return nullptr;
  return std::make_unique<DctChopCoder>(*parameters);
}

}  // namespace tensorpress::device
