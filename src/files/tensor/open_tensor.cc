// Opens .npy and raw tensors: finds out what the input is, checks it against its size, and chooses
// between random access (files), one pass (pipes in C order) and a spool (pipes in Fortran order,
// whose first row needs the last byte, and pipes that are to be read twice).
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "base/errors.h"
#include "files/bytes/temporary_file.h"
#include "files/conventions/file_kind.h"
#include "files/netcdf/file.h"
#include "files/tensor/npy.h"
#include "files/tensor/stored_tensor.h"
#include "files/tensor/tensor_files.h"

namespace tensorpress::files {
namespace {

constexpr std::size_t kCopyBytes = std::size_t{1} << 20;

std::string described(const StoredLayout& layout) {
  return text("the shape ", layout.shape.to_string(), " of ", name_of(layout.dtype), " needs ",
              layout.element_bytes());
}

bool starts_like_npy(const FileDescriptor& file) {
  std::array<std::byte, kNpyMagic.size()> start{};
  const auto count = read_fully_at(file, 0, start);
  return count.ok() && kind_of(std::span(start).first(*count)) == FileKind::npy;
}

Result<void> check_raw_size(const FileDescriptor& file, const std::string& name,
                            const StoredLayout& layout, std::uint64_t file_bytes) {
  if (file_bytes == layout.element_bytes()) return {};
  const auto message =
      text(name, " has ", file_bytes, " bytes, but ", described(layout),
           starts_like_npy(file) ? "; it is a .npy file, which knows its shape and type by itself"
                                 : "; check the shape and the type");
  if (file_bytes < layout.element_bytes()) return truncated(message);
  return bad_argument(message);
}

Result<void> check_npy_size(const std::string& name, const StoredLayout& layout,
                            std::uint64_t file_bytes) {
  const std::uint64_t stored = file_bytes - std::min(layout.first_byte, file_bytes);
  if (stored == layout.element_bytes()) return {};
  const auto message = text(name, " holds ", stored, " bytes of elements, but ", described(layout));
  if (stored < layout.element_bytes()) return truncated(message, "; the file is cut off");
  return corrupt(message, "; something else follows the array");
}

Result<StoredLayout> read_layout(FileInput& input, const std::optional<RawFormat>& raw) {
  if (raw) {
    return StoredLayout{.dtype = raw->dtype, .shape = raw->shape, .big_endian = raw->big_endian};
  }
  TRY(const NpyHeader header, read_npy_header(input));
  // With at most one axis longer than 1 both orders are the same, and a pipe needs no spool.
  const auto long_axes = std::ranges::count_if(header.shape.extents(),
                                               [](std::uint64_t extent) { return extent > 1; });
  return StoredLayout{.dtype = header.dtype,
                      .shape = header.shape,
                      .fortran_order = header.fortran_order && long_axes > 1,
                      .big_endian = header.big_endian,
                      .first_byte = header.bytes};
}

// The rest of the input in a nameless file.
Result<std::unique_ptr<TensorSource>> spool(FileInput input, StoredLayout layout) {
  const std::uint64_t total = layout.element_bytes();
  TRY(auto file, create_spool(total));
  AlignedBuffer buffer(kCopyBytes);
  std::uint64_t copied = 0;
  while (true) {
    TRY(const std::size_t count, input.read(buffer.reserve(kCopyBytes)));
    const auto part = buffer.reserve(kCopyBytes).first(count);
    if (count > total - copied) {
      return corrupt(input.name(), " goes on after its elements: ", described(layout), " bytes");
    }
    RETURN_IF_ERROR(write_spool(file, copied, part));
    copied += count;
    if (count < kCopyBytes) break;
  }
  if (copied < total) {
    return truncated(input.name(), " ends after ", copied, " bytes of elements, but ",
                     described(layout));
  }
  layout.first_byte = 0;
  return random_access_tensor(std::move(file), spool_name(), layout);
}

// An empty tensor is never read, so what follows it must be looked for here.
Result<void> check_empty(FileInput& input, const StoredLayout& layout) {
  std::byte extra{};
  TRY(const std::size_t count, input.read({&extra, 1}));
  if (count > 0) {
    return corrupt(input.name(), " goes on after its elements: ", described(layout), " bytes");
  }
  return {};
}

Result<FileDescriptor> open_input(const std::string& path) {
  if (path == "-") return duplicate(0);
  return open_file(path, O_RDONLY);
}

/// What is wrong with a header, with the name of its file.
Result<StoredLayout> layout_of(FileInput& input, const std::optional<RawFormat>& raw) {
  auto layout = read_layout(input, raw);
  if (layout.ok() || layout.error().code == ErrorCode::io) return layout;
  return while_doing(text("cannot read ", input.name()), std::move(layout).error());
}

Result<std::unique_ptr<TensorSource>> open_pipe(FileInput input, const StoredLayout& layout,
                                                Access access) {
  if (layout.element_bytes() == 0) RETURN_IF_ERROR(check_empty(input, layout));
  if (layout.fortran_order || access == Access::random) return spool(std::move(input), layout);
  return sequential_tensor(std::move(input), layout);
}

}  // namespace

Result<std::unique_ptr<TensorSource>> open_tensor(FileInput input,
                                                  const std::optional<RawFormat>& raw,
                                                  Access access) {
  TRY(const StoredLayout layout, layout_of(input, raw));
  return open_pipe(std::move(input), layout, access);
}

Result<std::unique_ptr<TensorSource>> open_tensor(const std::string& path,
                                                  const std::optional<RawFormat>& raw,
                                                  Access access) {
  if (!raw && array_format_of(path) != ArrayFormat::other) {
    return unsupported("'", path, "' is a NetCDF or HDF5 file, whose fill values are not known ",
                       "here; tensorpress compress `variable` NAME reads such files, and ",
                       "decompress makes a .npy of what it wrote");
  }
  const std::string name = input_name(path);
  const std::string reading = text("cannot read ", name);
  auto opened = open_input(path);
  if (!opened.ok()) return while_doing(reading, std::move(opened).error());
  struct stat status {};
  if (::fstat(opened->number(), &status) != 0) return while_doing(reading, last_error());
  if (S_ISDIR(status.st_mode)) return io_error(name, " is a directory, not a file");

  FileInput input(std::move(*opened), name);
  TRY(const StoredLayout layout, layout_of(input, raw));
  if (path == "-" || !S_ISREG(status.st_mode)) return open_pipe(std::move(input), layout, access);
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  auto file = std::move(input).take();
  if (raw) {
    RETURN_IF_ERROR(check_raw_size(file, name, layout, file_bytes));
  } else {
    RETURN_IF_ERROR(check_npy_size(name, layout, file_bytes));
  }
  return random_access_tensor(std::move(file), name, layout);
}

}  // namespace tensorpress::files
