// What kind of file this is, by its first bytes or by its name: the one place that knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tensorpress::files {

enum class FileKind : std::uint8_t {
  other,
  stream,  // .tpz, of a version that we read
  npy,
  archive,  // .npz, or any other zip
  netcdf_classic,
  hdf5,  // netCDF-4 too
};

/// Enough bytes for every kind.
inline constexpr std::size_t kKindBytes = 16;

/// From a file's first bytes, kKindBytes of them unless it has fewer.
FileKind kind_of(std::span<const std::byte> beginning);
/// Of a regular file. Pipes, which must not be opened to look, and what cannot be read are `other`.
FileKind kind_of(const std::string& path);

/// ".npy" of "dir/X.NPY".
std::string extension_of(const std::string& path);

}  // namespace tensorpress::files
