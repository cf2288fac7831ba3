// Packed whole numbers of a NetCDF variable, made again of the data that they stood for:
// (value - add_offset) / scale_factor, rounded to the next number that is no fill value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "files/conventions/netcdf_notes.h"
#include "tensorpress/tensor_view.h"

namespace tensorpress::files {

class NetcdfPacking {
 public:
  /// `dtype` is that of the data: f32 or f64. `error` is how far they may be from what was packed
  /// before, if that is known.
  static Result<NetcdfPacking> make(const NetcdfNotes& notes, DType dtype,
                                    std::optional<double> error);

  /// `packed` has room for `count` elements of the variable's type. NaN becomes the fill value;
  /// what is too large becomes the largest number.
  void pack(const std::byte* data, std::size_t count, std::byte* packed);

  std::size_t element_bytes() const { return size_of(type_); }
  /// Why the numbers so far may not be those that were compressed; none while they are.
  std::vector<std::string> remarks() const;

 private:
  template <class T, class Float>
  void pack_as(const std::byte* data, std::size_t count, std::byte* packed);
  /// The number next to `steps` that is no fill value.
  template <class T>
  T nearest(double steps) const;
  template <class T>
  bool is_fill(T number) const;

  /// How far apart data are at the largest so far, and what computing with them adds to an error.
  double gap() const;
  double rounding() const;

  std::string variable_;
  NetcdfType type_ = NetcdfType::i16;
  DType dtype_ = DType::f32;
  double scale_ = 1;
  double offset_ = 0;
  std::vector<std::uint64_t> fills_;  // each a number of the type, cast; the first is written
  double largest_ = 0;                // |value| so far
  std::optional<double> error_;
};

}  // namespace tensorpress::files
