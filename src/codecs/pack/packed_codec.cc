#include "codecs/pack/packed_codec.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/squares.h"
#include "base/tensor/elements.h"
#include "kernels/squared_error/squared_error.h"

namespace tensorpress::packing {
namespace {

constexpr std::size_t kPiece = 1024;

bool is_in_one_piece(const TensorView& chunk) {
  return chunk.is_contiguous() &&
         reinterpret_cast<std::uintptr_t>(chunk.data) % size_of(chunk.dtype) == 0;
}

}  // namespace

Shape contiguous_chunk_shape(const Shape& shape, DType dtype, std::uint64_t unit) {
  constexpr std::uint64_t kChunkBytes = std::uint64_t{1} << 20;
  const std::uint64_t limit =
      std::max(kChunkBytes / size_of(dtype) / unit, std::uint64_t{1}) * unit;
  Shape chunk = shape;
  std::uint64_t room = limit;  // 1 once an axis was cut: the slower ones stay at 1
  for (std::size_t axis = shape.rank(); axis-- > 0;) {
    const std::uint64_t extent = std::max<std::uint64_t>(shape[axis], 1);
    chunk[axis] = std::min(extent, room);
    room = chunk[axis] < extent ? 1 : std::max<std::uint64_t>(room / extent, 1);
  }
  return chunk;
}

std::span<const std::byte> elements_of(const TensorView& chunk, DType as, AlignedBuffer& buffer) {
  const auto count = static_cast<std::size_t>(chunk.element_count());
  if (as == chunk.dtype && is_in_one_piece(chunk)) {
    return {chunk.data, count * size_of(as)};
  }
  const std::size_t own_bytes = count * size_of(chunk.dtype);
  const auto memory = buffer.reserve(own_bytes);
  copy_elements(chunk, MutableTensorView::contiguous(memory.data(), chunk.dtype, chunk.shape));
  if (as == chunk.dtype) return memory;
  // f32 from f64, in place from the front: a float never overtakes the doubles still to be read.
  for (std::size_t i = 0; i < count; i += kPiece) {
    std::array<float, kPiece> piece;
    const std::size_t size = std::min(kPiece, count - i);
    load_elements(chunk.dtype, memory.data() + i * size_of(chunk.dtype),
                  static_cast<std::int64_t>(size_of(chunk.dtype)), size, piece.data());
    std::memcpy(memory.data() + i * sizeof(float), piece.data(), size * sizeof(float));
  }
  return memory.first(count * sizeof(float));
}

std::span<std::byte> place_for(const MutableTensorView& chunk, DType as, AlignedBuffer& buffer) {
  const std::size_t bytes = static_cast<std::size_t>(chunk.element_count()) * size_of(as);
  if (as == chunk.dtype && is_in_one_piece(chunk)) return {chunk.data, bytes};
  return buffer.reserve(bytes);
}

void store_elements_of(std::span<const std::byte> elements, DType as,
                       const MutableTensorView& chunk, AlignedBuffer& buffer) {
  if (as == chunk.dtype) {
    copy_elements(TensorView::contiguous(elements.data(), as, chunk.shape), chunk);
    return;
  }
  const auto count = static_cast<std::size_t>(chunk.element_count());
  const auto wide = buffer.reserve(count * size_of(chunk.dtype));
  store_elements(chunk.dtype, reinterpret_cast<const float*>(elements.data()), wide.data(),
                 static_cast<std::int64_t>(size_of(chunk.dtype)), count);
  copy_elements(TensorView::contiguous(wide.data(), chunk.dtype, chunk.shape), chunk);
}

double squared_difference(DType dtype, std::span<const std::byte> a, std::span<const std::byte> b,
                          Isa isa) {
  const std::size_t count = a.size() / size_of(dtype);
  if (dtype == DType::f32) {
    return kernels::squared_error(isa)(reinterpret_cast<const float*>(a.data()),
                                       reinterpret_cast<const float*>(b.data()), count) *
           (1 + kSummationShare);
  }
  double sum = 0;
  std::array<double, kPiece> left, right;
  const auto stride = static_cast<std::int64_t>(size_of(dtype));
  for (std::size_t i = 0; i < count; i += kPiece) {
    const std::size_t size = std::min(kPiece, count - i);
    load_elements(dtype, a.data() + i * size_of(dtype), stride, size, left.data());
    load_elements(dtype, b.data() + i * size_of(dtype), stride, size, right.data());
    for (std::size_t j = 0; j < size; ++j) sum += square_at_least(left[j] - right[j]);
  }
  return sum * (1 + kSummationShare);
}

}  // namespace tensorpress::packing
