#include "codecs/dct_chop/slabs.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/squares.h"
#include "base/tensor/elements.h"
#include "base/tensor/planes.h"
#include "kernels/elements/elements.h"
#include "kernels/squared_error/squared_error.h"
#include "kernels/stream_copy/stream_copy.h"

namespace tensorpress::dct_chop {
namespace {

constexpr std::uint64_t kSlabFloats = 16384;  // 64 KiB

// Calls work(offset of the row in the chunk, in bytes; row number in the slab's padded rows) for
// every row of the slab that exists, and pad(row number) for every one that does not.
template <class Work, class Pad>
void for_each_row(const Shape& shape, const Strides& strides, const Geometry& geometry,
                  const Slab& slab, Work work, Pad pad) {
  const std::uint64_t rows_per_block = geometry.points;
  for (std::size_t b = 0; b < slab.block_rows; ++b) {
    const std::uint64_t block_row = slab.first + b;
    const std::int64_t offset = plane_offset(shape, strides, block_row / geometry.block_rows);
    const std::uint64_t first_row = block_row % geometry.block_rows * rows_per_block;
    for (std::uint64_t i = 0; i < rows_per_block; ++i) {
      const std::size_t row =
          b * static_cast<std::size_t>(rows_per_block) + static_cast<std::size_t>(i);
      if (first_row + i < geometry.height) {
        work(offset + static_cast<std::int64_t>(first_row + i) * strides[shape.rank() - 2], row);
      } else {
        pad(row);
      }
    }
  }
}

std::int64_t element_stride(const Shape& shape, const Strides& strides, DType dtype) {
  return shape.rank() == 0 ? static_cast<std::int64_t>(size_of(dtype)) : strides[shape.rank() - 1];
}

// Rows of elements as floats and back: by kernels where elements lie side by side.
class RowConversion {
 public:
  RowConversion(const Shape& shape, const Strides& strides, DType dtype, Isa isa)
      : dtype_(dtype),
        stride_(element_stride(shape, strides, dtype)),
        side_by_side_(stride_ == static_cast<std::int64_t>(size_of(dtype))),
        kernels_(kernels::element_conversion(dtype, isa)) {}

  void load(const std::byte* from, std::size_t count, float* to) const {
    if (side_by_side_) return kernels_.load(from, count, to);
    load_elements(dtype_, from, stride_, count, to);
  }
  void store(const float* from, std::size_t count, std::byte* to) const {
    if (side_by_side_) return kernels_.store(from, count, to);
    store_elements(dtype_, from, to, stride_, count);
  }
  /// What comes back of floats that are stored, in memory of its own.
  void round_trip(const float* from, std::size_t count, std::byte* stored, float* to) const {
    kernels_.store(from, count, stored);
    kernels_.load(stored, count, to);
  }
  std::int64_t stride() const { return stride_; }

 private:
  DType dtype_;
  std::int64_t stride_;
  bool side_by_side_;
  kernels::ElementConversion kernels_;
};

// The values of a linear slab that exist.
std::size_t linear_length(const Geometry& geometry, const Slab& slab) {
  return static_cast<std::size_t>(std::min<std::uint64_t>(slab.width, geometry.width - slab.first));
}

}  // namespace

SlabWalk::SlabWalk(const Geometry& geometry, bool whole_planes) : geometry_(geometry) {
  if (geometry.linear()) {
    step_ = kSlabFloats;
    total_ = geometry.padded_width();
  } else {
    const std::uint64_t row_floats =
        std::max<std::uint64_t>(geometry.points * geometry.padded_width(), 1);
    step_ = whole_planes ? std::max<std::uint64_t>(geometry.block_rows, 1)
                         : std::max<std::uint64_t>(kSlabFloats / row_floats, 1);
    total_ = geometry.planes * geometry.block_rows;
  }
  count_ = (total_ + step_ - 1) / step_;
}

Slab SlabWalk::operator[](std::uint64_t index) const {
  Slab slab;
  slab.first = index * step_;
  const auto length = static_cast<std::size_t>(std::min(step_, total_ - slab.first));
  const std::uint64_t kept = geometry_.values_per_block;
  if (geometry_.linear()) {
    slab.block_rows = 1;
    slab.width = length;
    slab.first_value = slab.first / geometry_.points * kept;
    slab.values =
        length / static_cast<std::size_t>(geometry_.points) * static_cast<std::size_t>(kept);
    slab.first_element = slab.first;
  } else {
    slab.block_rows = length;
    slab.width = static_cast<std::size_t>(geometry_.padded_width());
    slab.first_value = slab.first * geometry_.blocks * kept;
    slab.values = length * static_cast<std::size_t>(geometry_.blocks * kept);
    slab.first_element = slab.first * geometry_.points * geometry_.width;
  }
  return slab;
}

std::size_t SlabWalk::most_elements() const {
  const std::uint64_t most = std::min(step_, total_);
  return static_cast<std::size_t>(
      geometry_.linear() ? most : most * geometry_.points * geometry_.padded_width());
}

std::size_t SlabWalk::most_values() const {
  return count_ == 0 ? 0 : (*this)[0].values;
}

void load_slab(const TensorView& chunk, const Geometry& geometry, const Slab& slab, Isa isa,
               float* rows) {
  const RowConversion conversion(chunk.shape, chunk.strides, chunk.dtype, isa);
  const auto load_row = [&](const std::byte* from, std::size_t count, float* row) {
    conversion.load(from, count, row);
    std::fill(row + count, row + slab.width, row[count - 1]);
  };
  if (geometry.linear()) {
    load_row(chunk.data + static_cast<std::int64_t>(slab.first) * conversion.stride(),
             linear_length(geometry, slab), rows);
    return;
  }
  for_each_row(
      chunk.shape, chunk.strides, geometry, slab,
      [&](std::int64_t offset, std::size_t row) {
        load_row(chunk.data + offset, static_cast<std::size_t>(geometry.width),
                 rows + row * slab.width);
      },
      [&](std::size_t row) {
        std::copy_n(rows + (row - 1) * slab.width, slab.width, rows + row * slab.width);
      });
}

namespace {

// The elements of the slab side by side, where its rows were; returns their bytes.
std::span<const std::byte> to_elements(float* rows, const Geometry& geometry, const Slab& slab,
                                       const RowConversion& conversion,
                                       const MutableTensorView& chunk) {
  auto* const elements = reinterpret_cast<std::byte*>(rows);
  std::byte* end = elements;
  // No element lies behind its float, and conversion goes from the first to the last.
  const auto append = [&](const float* from, std::size_t count) {
    if (chunk.dtype == DType::f32) {
      std::memmove(end, from, count * sizeof(float));
    } else {
      conversion.store(from, count, end);
    }
    end += count * size_of(chunk.dtype);
  };
  if (geometry.linear()) {
    append(rows, linear_length(geometry, slab));
    return {elements, end};
  }
  for_each_row(
      chunk.shape, chunk.strides, geometry, slab,
      [&](std::int64_t, std::size_t row) {
        append(rows + row * slab.width, static_cast<std::size_t>(geometry.width));
      },
      [](std::size_t) {});
  return {elements, end};
}

// Where the slab begins in a chunk whose elements lie side by side.
std::uint64_t first_element(const Geometry& geometry, const Slab& slab) {
  if (geometry.linear()) return slab.first;
  const std::uint64_t plane = slab.first / geometry.block_rows;
  const std::uint64_t row = slab.first % geometry.block_rows * geometry.points;
  return (plane * geometry.height + row) * geometry.width;
}

}  // namespace

void store_slab(float* rows, const Geometry& geometry, const Slab& slab, Isa isa, bool stream,
                const MutableTensorView& chunk) {
  const RowConversion conversion(chunk.shape, chunk.strides, chunk.dtype, isa);
  if (stream && chunk.is_contiguous() && size_of(chunk.dtype) <= sizeof(float)) {
    const auto elements = to_elements(rows, geometry, slab, conversion, chunk);
    kernels::stream_copy(isa)(elements.data(),
                              chunk.data + first_element(geometry, slab) * size_of(chunk.dtype),
                              elements.size());
    return;
  }
  if (geometry.linear()) {
    conversion.store(rows, linear_length(geometry, slab),
                     chunk.data + static_cast<std::int64_t>(slab.first) * conversion.stride());
    return;
  }
  for_each_row(
      chunk.shape, chunk.strides, geometry, slab,
      [&](std::int64_t offset, std::size_t row) {
        conversion.store(rows + row * slab.width, static_cast<std::size_t>(geometry.width),
                         chunk.data + offset);
      },
      [](std::size_t) {});
}

double slab_squared_error(const TensorView& chunk, const Geometry& geometry, const Slab& slab,
                          const float* rows, Isa isa) {
  const RowConversion conversion(chunk.shape, chunk.strides, chunk.dtype, isa);
  const std::int64_t stride = conversion.stride();
  double sum = 0;
  // Outside the loop over rows, which may be short: clearing these for each of them took most of
  // the time.
  constexpr std::size_t kPiece = 256;
  std::array<float, kPiece> original{}, copy{};
  std::array<double, kPiece> whole{};
  std::array<std::byte, kPiece * sizeof(double)> stored{};
  const auto float_error = kernels::squared_error(isa);
  const bool floats = chunk.dtype == DType::f32 && stride == sizeof(float) &&
                      reinterpret_cast<std::uintptr_t>(chunk.data) % alignof(float) == 0;
  const auto compare_piece = [&](const std::byte* from, std::size_t count, const float* row) {
    if (chunk.dtype != DType::f64) {  // floats hold all others exactly
      conversion.load(from, count, original.data());
      conversion.round_trip(row, count, stored.data(), copy.data());
      sum += float_error(original.data(), copy.data(), count);
      return;
    }
    load_elements(chunk.dtype, from, stride, count, whole.data());
    for (std::size_t i = 0; i < count; ++i) {
      sum += square_at_least(whole[i] - static_cast<double>(row[i]));
    }
  };
  const auto compare_row = [&](const std::byte* from, std::size_t count, const float* row) {
    if (floats) {
      sum += float_error(reinterpret_cast<const float*>(from), row, count);
      return;
    }
    for (std::size_t start = 0; start < count; start += kPiece) {
      compare_piece(from + static_cast<std::int64_t>(start) * stride,
                    std::min(kPiece, count - start), row + start);
    }
  };
  if (geometry.linear()) {
    compare_row(chunk.data + static_cast<std::int64_t>(slab.first) * stride,
                linear_length(geometry, slab), rows);
  } else {
    for_each_row(
        chunk.shape, chunk.strides, geometry, slab,
        [&](std::int64_t offset, std::size_t row) {
          compare_row(chunk.data + offset, static_cast<std::size_t>(geometry.width),
                      rows + row * slab.width);
        },
        [](std::size_t) {});
  }
  return sum;
}

}  // namespace tensorpress::dct_chop
