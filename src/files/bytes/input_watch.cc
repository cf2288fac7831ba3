#include "files/bytes/input_watch.h"

#include "base/errors.h"

namespace tensorpress::files {
namespace {

Error changed(const std::string& name) {
  return io_error(name, " changed while it was read; run this again when no other program writes ",
                  "to it");
}

}  // namespace

FileState FileState::of(const struct stat& status) {
  return {.device = static_cast<std::uint64_t>(status.st_dev),
          .number = static_cast<std::uint64_t>(status.st_ino),
          .bytes = static_cast<std::uint64_t>(status.st_size),
          .seconds = status.st_mtim.tv_sec,
          .nanoseconds = status.st_mtim.tv_nsec};
}

OpenFileWatch::OpenFileWatch(const FileDescriptor& file) {
  struct stat status {};
  if (::fstat(file.number(), &status) == 0) state_ = FileState::of(status);
}

Result<void> OpenFileWatch::check(const FileDescriptor& file, const std::string& name) const {
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) {
    return while_doing(text("cannot read ", name), last_error());
  }
  if (FileState::of(status) != state_) return changed(name);
  return {};
}

Result<InputWatch> InputWatch::begin(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return while_doing(text("cannot read ", input_name(path)), last_error());
  }
  return InputWatch(path, FileState::of(status));
}

Result<void> InputWatch::check() const {
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0 || FileState::of(status) != state_) {
    return changed(input_name(path_));
  }
  return {};
}

}  // namespace tensorpress::files
