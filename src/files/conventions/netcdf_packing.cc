#include "files/conventions/netcdf_packing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/errors.h"
#include "files/conventions/netcdf_conventions.h"
#include "files/conventions/netcdf_numbers.h"

namespace tensorpress::files {
namespace {

/// How far the next larger float is.
template <class Float>
double gap_above(double value) {
  const auto here = static_cast<Float>(value);
  return static_cast<double>(std::nextafter(here, std::numeric_limits<Float>::infinity()) - here);
}

}  // namespace

Result<NetcdfPacking> NetcdfPacking::make(const NetcdfNotes& notes, DType dtype,
                                          std::optional<double> error) {
  NetcdfPacking packing;
  packing.variable_ = notes.variable;
  packing.type_ = notes.type;
  packing.dtype_ = dtype;
  packing.error_ = error;
  packing.scale_ = notes.number("scale_factor").value_or(1);
  packing.offset_ = notes.number("add_offset").value_or(0);
  if (!std::isfinite(packing.scale_) || packing.scale_ == 0 || !std::isfinite(packing.offset_)) {
    return corrupt("scale_factor ", packing.scale_, " and add_offset ", packing.offset_,
                   " cannot pack values");
  }
  packing.fills_ =
      FillValues{.attributes = notes.attributes, .type = notes.type}.as_whole_numbers();
  return packing;
}

void NetcdfPacking::pack(const std::byte* data, std::size_t count, std::byte* packed) {
  with_number(type_, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      if (dtype_ == DType::f64) {
        pack_as<T, double>(data, count, packed);
      } else {
        pack_as<T, float>(data, count, packed);
      }
    }
  });
}

template <class T, class Float>
void NetcdfPacking::pack_as(const std::byte* data, std::size_t count, std::byte* packed) {
  const T missing = fills_.empty() ? std::numeric_limits<T>::min() : static_cast<T>(fills_.front());
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(element<Float>(data, i));
    const T number = std::isnan(value) ? missing : nearest<T>((value - offset_) / scale_);
    if (std::isfinite(value)) largest_ = std::max(largest_, std::abs(value));
    std::memcpy(packed + i * sizeof(T), &number, sizeof number);
  }
}

template <class T>
bool NetcdfPacking::is_fill(T number) const {
  return std::ranges::find(fills_, static_cast<std::uint64_t>(number)) != fills_.end();
}

template <class T>
T NetcdfPacking::nearest(double steps) const {
  using Limits = std::numeric_limits<T>;
  const T number = steps >= static_cast<double>(Limits::max()) ? Limits::max()
                   : steps <= static_cast<double>(Limits::min())
                       ? Limits::min()
                       : static_cast<T>(std::nearbyint(steps));
  if (!is_fill(number)) return number;
  // Nothing that is missing comes here, so it was another number: look on the value's side first.
  const bool above = steps >= static_cast<double>(number);
  for (std::size_t distance = 1; distance <= fills_.size(); ++distance) {
    for (const bool up : {above, !above}) {
      T other = 0;
      const bool outside = up ? __builtin_add_overflow(number, distance, &other)
                              : __builtin_sub_overflow(number, distance, &other);
      if (!outside && !is_fill(other)) return other;
    }
  }
  return number;
}

double NetcdfPacking::gap() const {
  const double doubles = gap_above<double>(std::max(largest_, std::abs(offset_)));
  return dtype_ == DType::f32 ? std::max(doubles, gap_above<float>(largest_)) : doubles;
}

double NetcdfPacking::rounding() const {
  // Unpacking rounds to f32 once. Doubles are rounded twice on the way: the product and the sum.
  const double doubles = gap_above<double>(std::max(largest_, std::abs(offset_)));
  return dtype_ == DType::f32 ? std::max(doubles, gap_above<float>(largest_) / 2) : doubles;
}

std::vector<std::string> NetcdfPacking::remarks() const {
  std::vector<std::string> remarks;
  const double step = std::abs(scale_);
  const bool too_coarse = gap() >= step;
  if (too_coarse) {
    remarks.push_back(text("'", variable_, "' is packed again from ", name_of(dtype_),
                           ", in which numbers about ", rounded(largest_), " are ", rounded(gap()),
                           " apart, not less than its scale_factor ", rounded(step),
                           ": its whole numbers may differ from those that were compressed"));
  }
  const double nearest_other = step / 2;
  if (!error_ || *error_ + (too_coarse ? 0 : rounding()) >= nearest_other) {
    remarks.push_back(
        text("'", variable_, "' is packed again: values are rounded to multiples of its ",
             "scale_factor ", rounded(step), ", which may add ", rounded(step / 2), " to the error",
             fills_.empty() ? "" : text(" (", rounded(step), " beside a fill value)"),
             "; a .npy holds them unrounded"));
  }
  return remarks;
}

}  // namespace tensorpress::files
