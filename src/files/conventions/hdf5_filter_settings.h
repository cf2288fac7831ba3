// What our HDF5 filter is told, as the row of 32-bit words (cd_values) that HDF5 stores with a
// dataset. docs/hdf5.md has the layout for other readers; the numbers in it never change.
//
//   word   0        1, the version of this layout
//          1        codec: 1 dense, 2 ceresz, 3 ceresz2, 4 dct-chop
//          2        bound: 0 none, 1 absolute, 2 relative, 3 point-wise relative, 4 PSNR
//          3 4      its value, an f64: the lower 32 bits first
//          5        the codec's parameters, packed
//          6        threads; 0 is 1, or what TENSORPRESS_HDF5_THREADS says
//          7        n, how many fill values follow, 0 to 15; then 2 n words: f64, lower bits first
//
// A user gives these, and may leave out zeros at the end. When a dataset is created the filter adds
//
//   8 + 2 n         element type | big-endian << 8 | fill value << 16
//   9, 10 + 2 n     the dataset's own fill value, f64, lower bits first
//   11 + 2 n        r, the rank, 1 to 8; then r extents of a chunk, slowest first
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensorpress/bound.h"
#include "tensorpress/codec.h"
#include "tensorpress/result.h"
#include "tensorpress/tensor_view.h"

namespace tensorpress::files {

/// "TP" in ASCII with the top bit set: a number of the private range, 32768 to 65535.
inline constexpr int kHdf5FilterId = 0x5450 | 0x8000;
inline constexpr std::size_t kMaxHdf5FillValues = 15;
inline constexpr std::size_t kMaxHdf5Words = 8 + 2 * kMaxHdf5FillValues + 4 + kMaxRank;

/// What a dataset adds to the user's wishes.
struct Hdf5Chunk {
  DType dtype = DType::f32;
  bool big_endian = false;
  /// Absent when the dataset has none or it is 0, which is also an ordinary value.
  std::optional<double> fill_value = {};
  Shape shape = {};

  std::uint64_t bytes() const { return shape.element_count() * size_of(dtype); }
  friend bool operator==(const Hdf5Chunk&, const Hdf5Chunk&) = default;
};

struct Hdf5FilterSettings {
  Codec codec;
  std::optional<Bound> bound = {};
  std::vector<double> fill_values = {};
  std::uint32_t threads = 0;
  std::optional<Hdf5Chunk> chunk = {};  // absent in what users give

  /// Errors say what a filter does not take: `ratio` bounds, codebooks from files, ...
  Result<std::vector<std::uint32_t>> to_words() const;
  /// From words that a user typed: the error says what is wrong with which of them.
  static Result<Hdf5FilterSettings> from_words(std::span<const std::uint32_t> words);

  friend bool operator==(const Hdf5FilterSettings&, const Hdf5FilterSettings&) = default;
};

/// A codec that the filter has, with the parameters that fit its values.
struct Hdf5FilterCodec {
  struct Parameter {
    std::string_view name;
    std::string choices;  // "default|dynamic", "" for a number
  };
  std::string_view name;
  std::vector<Parameter> parameters = {};
};
std::vector<Hdf5FilterCodec> hdf5_filter_codecs();

/// A chunk's extents as a shape of at most eight axes: the first ones of a longer row are put
/// together. Zero extents and those beyond 32 bits are errors.
Result<Shape> hdf5_chunk_shape(std::span<const std::uint64_t> extents);

}  // namespace tensorpress::files
