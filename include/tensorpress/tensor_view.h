// Tensors by reference: a pointer, an element type, a shape of up to eight dimensions and strides
// in bytes. A view owns nothing. Shapes are in NumPy order (slowest first); empty and 0-D tensors
// are ordinary.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "tensorpress/api.h"
#include "tensorpress/dtype.h"
#include "tensorpress/result.h"

namespace tensorpress {

inline constexpr std::size_t kMaxRank = 8;

/// Up to eight extents. A Shape that came from `make` has at most 2^59 elements.
class TENSORPRESS_API Shape {
 public:
  Shape() = default;  // 0-D: one element
  /// For literals in code; `make` is for extents that come from outside.
  Shape(std::initializer_list<std::uint64_t> extents);

  static Result<Shape> make(std::span<const std::uint64_t> extents);
  /// "20x180x360" or "20,180,360"; "" is 0-D.
  static Result<Shape> parse(std::string_view text);

  std::size_t rank() const { return rank_; }
  std::uint64_t operator[](std::size_t axis) const { return extents_[axis]; }
  std::uint64_t& operator[](std::size_t axis) { return extents_[axis]; }
  std::uint64_t element_count() const;
  std::span<const std::uint64_t> extents() const { return {extents_.data(), rank_}; }
  std::string to_string() const;  // "20x180x360"; "scalar" for 0-D

  friend bool operator==(const Shape& a, const Shape& b) {
    return a.rank_ == b.rank_ && a.extents_ == b.extents_;
  }

 private:
  std::array<std::uint64_t, kMaxRank> extents_{};
  std::size_t rank_ = 0;
};

using Strides = std::array<std::int64_t, kMaxRank>;

/// Strides of a C-contiguous tensor, in bytes.
TENSORPRESS_API Strides contiguous_strides(const Shape& shape, std::size_t element_bytes);

/// A box inside a tensor: where it starts and how far it reaches along each axis.
struct Region {
  std::array<std::uint64_t, kMaxRank> origin{};
  Shape extent;

  static Region whole(const Shape& shape) { return {{}, shape}; }
};

template <class Pointer>
struct TENSORPRESS_API BasicTensorView {
  Pointer data = nullptr;
  DType dtype = DType::f32;
  Shape shape;
  Strides strides{};

  static BasicTensorView contiguous(Pointer data, DType dtype, const Shape& shape) {
    return {data, dtype, shape, contiguous_strides(shape, size_of(dtype))};
  }

  std::uint64_t element_count() const { return shape.element_count(); }
  std::uint64_t byte_count() const { return element_count() * size_of(dtype); }
  bool is_contiguous() const;
  /// What may be written may be read.
  operator BasicTensorView<const std::byte*>() const  // NOLINT(google-explicit-constructor)
    requires(!std::is_same_v<Pointer, const std::byte*>)
  {
    return {data, dtype, shape, strides};
  }
  /// The part of the view inside `region`, which must lie within the shape.
  BasicTensorView part(const Region& region) const;
};

using TensorView = BasicTensorView<const std::byte*>;
using MutableTensorView = BasicTensorView<std::byte*>;

/// Whether a range of `count` elements holds a tensor of this shape; the error names both.
TENSORPRESS_API Result<void> check_element_count(std::uint64_t count, const Shape& shape);

/// A contiguous view of the elements of a vector, array, span or other contiguous range of float,
/// double, std::uint8_t, std::int16_t or another type with a kDTypeOf: view_of(values, {3, 32,
/// 32}). Mutable if the elements are. The shape must have as many elements as the range.
template <std::ranges::contiguous_range Values>
  requires std::ranges::sized_range<Values> && std::ranges::borrowed_range<Values> &&
           HasDType<std::ranges::range_value_t<Values>>
auto view_of(Values&& values, const Shape& shape) {
  using Element = std::remove_reference_t<std::ranges::range_reference_t<Values>>;
  using Byte = std::conditional_t<std::is_const_v<Element>, const std::byte, std::byte>;
  using View = BasicTensorView<Byte*>;
  const Result<void> fits = check_element_count(std::ranges::size(values), shape);
  if (!fits.ok()) return Result<View>(fits.error());
  return Result<View>(View::contiguous(reinterpret_cast<Byte*>(std::ranges::data(values)),
                                       kDTypeOf<std::remove_cv_t<Element>>, shape));
}

/// Copies `from` into `to`; same shape and dtype, any strides.
TENSORPRESS_API void copy_elements(const TensorView& from, const MutableTensorView& to);

}  // namespace tensorpress
