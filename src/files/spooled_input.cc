#include "files/spooled_input.h"

#include <unistd.h>

#include "base/aligned_buffer.h"
#include "base/errors.h"
#include "files/temporary_file.h"

namespace tensorpress::files {
namespace {

constexpr std::size_t kCopyBytes = std::size_t{1} << 20;

}  // namespace

Result<SpooledInput> SpooledInput::copy(FileInput input) {
  TRY(auto file, create_spool(kCopyBytes));
  AlignedBuffer buffer(kCopyBytes);
  const auto room = buffer.reserve(kCopyBytes);
  for (std::uint64_t copied = 0;;) {
    TRY(const std::size_t count, input.read(room));
    RETURN_IF_ERROR(write_spool(file, copied, room.first(count)));
    copied += count;
    if (count < room.size()) break;
  }
  std::string path = text("/proc/self/fd/", file.number());
  if (::access(path.c_str(), R_OK) != 0) {
    return while_doing(text("cannot read ", spool_name(), " through '", path, "'"), last_error());
  }
  return SpooledInput(std::move(file), std::move(path));
}

Result<FileInput> open_standard_input() {
  auto file = duplicate(0);
  if (!file.ok()) return while_doing("cannot read standard input", std::move(file).error());
  return FileInput(std::move(*file), input_name("-"));
}

}  // namespace tensorpress::files
