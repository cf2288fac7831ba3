// Codec `dct-chop`: DCT+Chop (Shah, Yu, Di, Becchi, Cappello; HPDC'24), its triangle layout, its
// matrix form, ZFP's transform from its future work, and coefficients in 16 bits. Fixed rate.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/bytes.h"
#include "base/errors.h"
#include "base/tensor/elements.h"
#include "codecs/dct_chop/matmul_form.h"
#include "codecs/dct_chop/nonfinite.h"
#include "codecs/dct_chop/parameters.h"
#include "codecs/dct_chop/slabs.h"
#include "codecs/dct_chop/stated_error.h"
#include "codecs/registry.h"
#include "kernels/elements/elements.h"
#include "kernels/stream_copy/stream_copy.h"

namespace tensorpress::dct_chop {
namespace {

// Which workspace buffer serves what.
struct ChopBuffers {
  AlignedBuffer rows, values, stored, reconstructed, elements;
};

class DctChop final : public ChunkCodec {
 public:
  explicit DctChop(const Parameters& parameters) : parameters_(parameters) {}

  Shape preferred_chunk_shape(const Shape& shape, DType dtype) const override;

  std::uint64_t bound_on_output_size(const Shape& chunk_shape, DType dtype) const override {
    return chunk_shape.element_count() * size_of(dtype);  // raw is the worst that can happen
  }
  std::uint64_t expected_output_size(const Shape& chunk_shape, DType dtype) const override {
    return std::min(coded_bytes(Geometry::of(chunk_shape, parameters_)),
                    chunk_shape.element_count() * size_of(dtype));
  }

  Result<CompressedChunk> compress(const TensorView& chunk, std::span<std::byte> output,
                                   ChunkWorkspace& workspace) const override;
  Result<void> decompress(std::span<const std::byte> input, const MutableTensorView& chunk,
                          ChunkWorkspace& workspace) const override;
  std::vector<Fact> facts(const Shape& shape, DType dtype) const override;

 private:
  std::uint64_t coded_bytes(const Geometry& geometry) const {
    constexpr std::uint64_t kAbsurd = std::uint64_t{1} << 52;  // then raw is as good as anything
    if (geometry.planes * geometry.block_rows * geometry.blocks > kAbsurd) return UINT64_MAX;
    return geometry.values() * size_of(parameters_.coefficients);
  }
  kernels::BlockTransform block_kernel(const Geometry& geometry, Isa isa) const {
    return kernels::block_transform(parameters_.transform, geometry.layout, parameters_.chop_factor,
                                    isa);
  }
  kernels::ElementConversion half_kernel(Isa isa) const {
    return kernels::element_conversion(parameters_.coefficients, isa);
  }
  bool halves() const { return parameters_.coefficients != DType::f32; }

  std::optional<double> compress_by_parseval(const TensorView& chunk, const Geometry& geometry,
                                             std::span<std::byte> output,
                                             ChunkWorkspace& workspace) const;
  double compress_and_measure(const TensorView& chunk, const Geometry& geometry,
                              std::span<std::byte> output, ChunkWorkspace& workspace) const;

  Parameters parameters_;
};

// Floats in one piece.
bool is_plain(const TensorView& chunk) {
  return chunk.dtype == DType::f32 && chunk.is_contiguous() &&
         reinterpret_cast<std::uintptr_t>(chunk.data) % alignof(float) == 0;
}

// Elements of the chunk as the kernels take them: nothing to pad.
bool is_direct(const TensorView& chunk, const Geometry& geometry) {
  return is_plain(chunk) && geometry.unpadded();
}

// The error that a stream tells follows from sums whose order is that of floats in one piece. Where
// they lie otherwise they are copied, so that the bytes do not depend on how memory is laid out.
TensorView plain_floats(const TensorView& chunk, AlignedBuffer& room) {
  if (chunk.dtype != DType::f32 || is_plain(chunk)) return chunk;
  const auto copy = MutableTensorView::contiguous(
      room.reserve(static_cast<std::size_t>(chunk.byte_count())).data(), chunk.dtype, chunk.shape);
  copy_elements(chunk, copy);
  return copy;
}

void to_little_endian(std::span<float> values) {
  if constexpr (std::endian::native == std::endian::big) {
    for (auto& value : values)
      value = std::bit_cast<float>(swap_bytes(std::bit_cast<std::uint32_t>(value)));
  }
}
void to_little_endian(std::span<std::uint16_t> values) {
  if constexpr (std::endian::native == std::endian::big) {
    for (auto& value : values) value = swap_bytes(value);
  }
}

// A finished piece of payload goes out: into the checksum while it is in cache, then to its place.
void put_out(std::span<const std::byte> piece, std::byte* to, ChunkWorkspace& workspace) {
  workspace.checksum.update(piece);
  if (workspace.stream_stores) {
    kernels::stream_copy(workspace.isa)(piece.data(), to, piece.size());
  } else {
    std::memcpy(to, piece.data(), piece.size());
  }
}

// The error follows from the dropped coefficients (Parseval) plus what rounding can add: nothing is
// computed twice. Absent when the sums say that something is unusual: a value that is not finite,
// overflow, or very small numbers.
std::optional<double> DctChop::compress_by_parseval(const TensorView& chunk,
                                                    const Geometry& geometry,
                                                    std::span<std::byte> output,
                                                    ChunkWorkspace& workspace) const {
  const SlabWalk slabs(geometry, false);
  const auto kernel = block_kernel(geometry, workspace.isa);
  const auto values =
      workspace.memory.of<ChopBuffers>().values.reserve_as<float>(slabs.most_values());
  const auto* const elements = reinterpret_cast<const float*>(chunk.data);
  kernels::Energy energy;
  for (std::uint64_t i = 0; i < slabs.count(); ++i) {
    const Slab slab = slabs[i];
    kernels::NextInput next;
    if (i + 1 < slabs.count()) {
      const Slab following = slabs[i + 1];
      next = {
          elements + following.first_element,
          following.block_rows * following.width * geometry.rows_per_block_row() * sizeof(float)};
    }
    const auto sums = kernel.forward(elements + slab.first_element, slab.block_rows, slab.width,
                                     values.data(), next);
    energy.kept += sums.kept;
    energy.dropped += sums.dropped;
    to_little_endian(values.first(slab.values));
    put_out(std::as_bytes(values.first(slab.values)),
            output.data() + slab.first_value * sizeof(float), workspace);
  }
  return stated_by_parseval(energy, chunk.element_count());
}

// The error is measured: every slab is decoded again and compared in the output type. Not finite
// when the input was not, or when the coefficients overflow their type.
double DctChop::compress_and_measure(const TensorView& chunk, const Geometry& geometry,
                                     std::span<std::byte> output, ChunkWorkspace& workspace) const {
  const bool matmul = parameters_.matmul && !geometry.linear();
  const SlabWalk slabs(geometry, matmul);
  const auto kernel = block_kernel(geometry, workspace.isa);
  const auto half = half_kernel(workspace.isa);
  std::optional<MatmulForm> matrices;
  if (matmul) matrices.emplace(geometry, parameters_, workspace.isa);
  const auto rows =
      workspace.memory.of<ChopBuffers>().rows.reserve_as<float>(slabs.most_elements());
  const auto values =
      workspace.memory.of<ChopBuffers>().values.reserve_as<float>(slabs.most_values());
  const auto stored =
      workspace.memory.of<ChopBuffers>().stored.reserve_as<std::uint16_t>(slabs.most_values());
  const auto reconstructed =
      workspace.memory.of<ChopBuffers>().reconstructed.reserve_as<float>(slabs.most_elements());
  double squared_error = 0;
  for (std::uint64_t i = 0; i < slabs.count(); ++i) {
    const Slab slab = slabs[i];
    load_slab(chunk, geometry, slab, workspace.isa, rows.data());
    if (matmul) {
      matrices->forward(rows.data(), values.data());
    } else {
      (void)kernel.forward(rows.data(), slab.block_rows, slab.width, values.data(), {});
    }
    if (halves()) {
      half.store(values.data(), slab.values, std::as_writable_bytes(stored).data());
      half.load(std::as_bytes(stored).data(), slab.values, values.data());
    }
    kernel.inverse(std::as_bytes(values).data(), slab.block_rows, slab.width, reconstructed.data(),
                   false, {});
    squared_error += slab_squared_error(chunk, geometry, slab, reconstructed.data(), workspace.isa);
    if (halves()) {
      to_little_endian(stored.first(slab.values));
      put_out(std::as_bytes(stored.first(slab.values)),
              output.data() + slab.first_value * sizeof(std::uint16_t), workspace);
    } else {
      to_little_endian(values.first(slab.values));
      put_out(std::as_bytes(values.first(slab.values)),
              output.data() + slab.first_value * sizeof(float), workspace);
    }
  }
  return squared_error * (1 + kSummationShare);
}

Result<CompressedChunk> DctChop::compress(const TensorView& given, std::span<std::byte> output,
                                          ChunkWorkspace& workspace) const {
  const TensorView chunk = plain_floats(given, workspace.memory.of<ChopBuffers>().elements);
  const Geometry geometry = Geometry::of(chunk.shape, parameters_);
  const std::uint64_t bytes = coded_bytes(geometry);
  if (output.size() < std::min(bytes, chunk.byte_count())) {
    return bad_argument("the output has ", output.size(), " bytes, ",
                        std::min(bytes, chunk.byte_count()), " are needed");
  }
  if (bytes > chunk.byte_count()) {
    if (auto error = find_nonfinite(chunk, workspace)) return std::move(*error);
    return compress_raw(chunk, output, workspace);
  }
  const bool parseval = parameters_.transform == kernels::Transform::dct && !halves() &&
                        !parameters_.matmul && is_direct(chunk, geometry);
  std::optional<double> squared_error;
  if (parseval) squared_error = compress_by_parseval(chunk, geometry, output, workspace);
  if (!squared_error) {
    workspace.checksum.reset();
    squared_error = compress_and_measure(chunk, geometry, output, workspace);
  }
  if (std::isfinite(*squared_error)) return CompressedChunk{bytes, false, *squared_error};

  if (auto error = find_nonfinite(chunk, workspace)) return std::move(*error);
  if (output.size() < chunk.byte_count()) return CompressedChunk{chunk.byte_count(), true, 0};
  workspace.checksum.reset();
  return compress_raw(chunk, output, workspace);
}

// The parameters with the way to compute exchanged.
Parameters with_method(Parameters parameters, std::span<const Parameter> method) {
  parameters.matmul = false;
  parameters.serialize = 1;
  for (const auto& choice : method) {
    if (choice.name == "form") parameters.matmul = choice.value == "matmul";
    if (choice.name == "serialize") {
      std::from_chars(choice.value.data(), choice.value.data() + choice.value.size(),
                      parameters.serialize);
    }
  }
  parameters.serialize = std::max(parameters.serialize, 1);
  return parameters;
}

Result<void> DctChop::decompress(std::span<const std::byte> input, const MutableTensorView& chunk,
                                 ChunkWorkspace& workspace) const {
  const Geometry geometry = Geometry::of(chunk.shape, parameters_);
  if (input.size() != coded_bytes(geometry)) {
    return corrupt(input.size(), " bytes are stored for coefficients of ", coded_bytes(geometry),
                   " bytes");
  }
  // Streams are decoded by the block kernel, whatever made them, so that every machine gets the
  // same bits.
  const Parameters method = with_method(parameters_, workspace.method);
  std::optional<MatmulForm> matrices;
  if (method.matmul && !geometry.linear()) matrices.emplace(geometry, method, workspace.isa);
  const SlabWalk slabs(geometry, matrices.has_value());
  const auto kernel = block_kernel(geometry, workspace.isa);
  const auto half = half_kernel(workspace.isa);
  const bool direct = is_direct(chunk, geometry);
  const std::size_t value_bytes = size_of(parameters_.coefficients);
  // The block kernel reads floats of any alignment from the payload itself.
  constexpr bool kLittleEndian = std::endian::native == std::endian::little;
  const bool in_place = !halves() && kLittleEndian && !matrices;
  const auto rows =
      workspace.memory.of<ChopBuffers>().rows.reserve_as<float>(direct ? 0 : slabs.most_elements());
  const auto values = workspace.memory.of<ChopBuffers>().values.reserve_as<float>(
      in_place ? 0 : slabs.most_values());
  const auto stored = workspace.memory.of<ChopBuffers>().stored.reserve_as<std::uint16_t>(
      halves() && !kLittleEndian ? slabs.most_values() : 0);
  for (std::uint64_t i = 0; i < slabs.count(); ++i) {
    const Slab slab = slabs[i];
    const auto piece = input.subspan(static_cast<std::size_t>(slab.first_value) * value_bytes,
                                     slab.values * value_bytes);
    workspace.checksum.update(piece);
    if (halves() && kLittleEndian) {
      half.load(piece.data(), slab.values, values.data());
    } else if (halves()) {
      std::memcpy(stored.data(), piece.data(), piece.size());
      to_little_endian(stored.first(slab.values));
      half.load(std::as_bytes(stored).data(), slab.values, values.data());
    } else if (!in_place) {
      std::memcpy(values.data(), piece.data(), piece.size());
      to_little_endian(values.first(slab.values));
    }
    kernels::NextInput next;
    if (i + 1 < slabs.count())
      next = {piece.data() + piece.size(), slabs[i + 1].values * value_bytes};
    float* const target =
        direct ? reinterpret_cast<float*>(chunk.data) + slab.first_element : rows.data();
    if (matrices) {
      matrices->inverse(values.data(), target);
    } else {
      kernel.inverse(in_place ? piece.data() : std::as_bytes(values).data(), slab.block_rows,
                     slab.width, target, direct && workspace.stream_stores, next);
    }
    if (!direct) {
      store_slab(rows.data(), geometry, slab, workspace.isa, workspace.stream_stores, chunk);
    }
  }
  return {};
}

// About 1 MiB of elements, whole planes if possible, always one contiguous range of a C-order
// tensor: pipes can feed it, and a chunk's compressed bytes stay in the second-level cache.
Shape DctChop::preferred_chunk_shape(const Shape& shape, DType dtype) const {
  constexpr std::uint64_t kChunkBytes = std::uint64_t{1} << 20;
  constexpr std::uint64_t kLargestPlane = std::uint64_t{64}
                                          << 20;  // the matrix form wants planes whole
  constexpr std::uint64_t kLargestBand = std::uint64_t{16} << 20;
  constexpr std::uint64_t kRowStep = 8;  // both transforms' points divide it
  const std::uint64_t limit = kChunkBytes / size_of(dtype);
  Shape chunk = shape;
  const std::size_t rank = shape.rank();
  for (std::size_t axis = 0; axis < rank; ++axis)
    chunk[axis] = std::max<std::uint64_t>(shape[axis], 1);
  if (rank == 0) return chunk;
  if (rank == 1) {
    chunk[0] = std::min(chunk[0], limit);
    return chunk;
  }
  std::uint64_t& height = chunk[rank - 2];
  std::uint64_t& width = chunk[rank - 1];
  const bool keep_plane = parameters_.matmul && height * width * size_of(dtype) <= kLargestPlane;
  if (height * width > limit && !keep_plane) {
    for (std::size_t axis = 0; axis + 2 < rank; ++axis) chunk[axis] = 1;
    width = std::min(width, kLargestBand / size_of(dtype) / kRowStep);
    const std::uint64_t rows = limit / width / kRowStep * kRowStep;
    height = std::min(height, std::max(rows, kRowStep));
    return chunk;
  }
  std::uint64_t elements = height * width;
  for (std::size_t axis = rank - 2; axis-- > 0;) {
    chunk[axis] = std::clamp<std::uint64_t>(limit / elements, 1, chunk[axis]);
    elements *= chunk[axis];
    if (chunk[axis] < shape[axis])
      elements = std::max(elements, limit);  // the slower axes stay at 1
  }
  return chunk;
}

std::vector<Fact> DctChop::facts(const Shape& shape, DType dtype) const {
  const Geometry geometry = Geometry::of(shape, parameters_);
  const MatmulCost cost = matmul_cost(geometry, parameters_);
  const auto coded = static_cast<double>(coded_bytes(geometry));
  const auto elements = static_cast<double>(shape.element_count() * size_of(dtype));
  return {{"nominal_ratio", coded > 0 ? elements / coded : 0},
          {"matrix_bytes", cost.matrix_bytes, FactUnit::bytes},
          {"flops_compress", cost.flops_compress},
          {"flops_decompress", cost.flops_decompress}};
}

constexpr std::array kHdf5Parameters = {
    PackedParameter{"cf", 0, 0xff, {}},
    PackedParameter{"layout", 8, 1, {"square", "triangle"}},
    PackedParameter{"transform", 16, 1, {"dct", "zfp"}},
    PackedParameter{"coefficients", 24, 3, {"f32", "bf16", "f16"}},
};

Result<std::unique_ptr<ChunkCodec>> create(std::span<const Parameter> parameters) {
  TRY(const Parameters parsed, parse_parameters(parameters));
  return std::unique_ptr<ChunkCodec>(std::make_unique<DctChop>(parsed));
}

}  // namespace

extern constinit const RegisteredCodec kCodec = {
    {"dct-chop", "fixed rate: 8 x 8 DCT (or 4 x 4 ZFP transform), keeping the low frequencies",
     kParameters},
    create,
    nullptr,
    {.number = 4, .parameters = kHdf5Parameters}};

}  // namespace tensorpress::dct_chop
