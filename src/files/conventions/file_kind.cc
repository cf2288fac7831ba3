#include "files/conventions/file_kind.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "files/bytes/byte_files.h"
#include "files/tensor/npy.h"
#include "stream/container/format.h"

namespace tensorpress::files {
namespace {

constexpr std::size_t kHdf5Bytes = 8;

bool begins_with(std::span<const std::byte> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() &&
         std::ranges::equal(bytes.first(magic.size()), std::as_bytes(std::span(magic)));
}

bool is_hdf5(std::span<const std::byte> bytes) {
  return begins_with(bytes, "\x89HDF\r\n\x1a\n");
}

bool is_netcdf_classic(std::span<const std::byte> bytes) {
  if (bytes.size() < 8 || !begins_with(bytes, "CDF")) return false;
  const auto version = static_cast<int>(bytes[3]);
  return version == 1 || version == 2 || version == 5;
}

/// HDF5 may begin behind a block of the user's own, at 512, 1024, 2048, ... bytes.
bool is_hdf5_behind_user_block(ByteSource& file) {
  constexpr std::uint64_t kLastPlace = 1 << 20;
  std::array<std::byte, kHdf5Bytes> begin{};
  for (std::uint64_t at = 512; at <= kLastPlace && at + begin.size() <= file.size(); at *= 2) {
    if (!file.read_at(at, begin).ok()) return false;
    if (is_hdf5(begin)) return true;
  }
  return false;
}

}  // namespace

FileKind kind_of(std::span<const std::byte> beginning) {
  static_assert(kKindBytes >= stream::kPrologueBytes && kKindBytes >= kHdf5Bytes);
  if (beginning.size() >= stream::kPrologueBytes &&
      stream::parse_prologue(beginning.first<stream::kPrologueBytes>()).ok()) {
    return FileKind::stream;
  }
  if (begins_with(beginning, kNpyMagic)) return FileKind::npy;
  if (begins_with(beginning, "PK\x03\x04")) return FileKind::archive;
  if (is_hdf5(beginning)) return FileKind::hdf5;
  return is_netcdf_classic(beginning) ? FileKind::netcdf_classic : FileKind::other;
}

FileKind kind_of(const std::string& path) {
  std::error_code ignored;
  if (path == "-" || !std::filesystem::is_regular_file(path, ignored)) return FileKind::other;
  const auto file = open_bytes(path);
  if (!file.ok()) return FileKind::other;
  std::array<std::byte, kKindBytes> begin{};
  const auto known = std::span(begin).first(
      static_cast<std::size_t>(std::min<std::uint64_t>(kKindBytes, (*file)->size())));
  if (!(*file)->read_at(0, known).ok()) return FileKind::other;
  const FileKind kind = kind_of(known);
  if (kind != FileKind::other) return kind;
  return is_hdf5_behind_user_block(**file) ? FileKind::hdf5 : FileKind::other;
}

std::string extension_of(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& letter : extension) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return extension;
}

}  // namespace tensorpress::files
