#include "files/bytes/spooled_input.h"

#include "base/aligned_buffer.h"
#include "base/errors.h"

namespace tensorpress::files {
namespace {

constexpr std::size_t kCopyBytes = std::size_t{1} << 20;

}  // namespace

Result<SpooledInput> SpooledInput::copy(FileInput input) {
  TRY(auto file, create_spool_file(kCopyBytes));
  AlignedBuffer buffer(kCopyBytes);
  const auto room = buffer.reserve(kCopyBytes);
  for (std::uint64_t copied = 0;;) {
    TRY(const std::size_t count, input.read(room));
    RETURN_IF_ERROR(write_spool(file.descriptor(), copied, room.first(count)));
    copied += count;
    if (count < room.size()) break;
  }
  if (auto named = file.appear(); !named.ok()) {
    return while_doing(text("cannot name ", spool_name()), std::move(named).error());
  }
  std::string path = text(spool_directory(), "/", file.name());
  return SpooledInput(std::move(file), std::move(path));
}

Result<FileInput> open_standard_input() {
  auto file = duplicate(0);
  if (!file.ok()) return while_doing("cannot read standard input", std::move(file).error());
  return FileInput(std::move(*file), input_name("-"));
}

}  // namespace tensorpress::files
