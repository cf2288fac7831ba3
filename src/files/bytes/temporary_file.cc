#include "files/bytes/temporary_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/errors.h"

namespace tensorpress::files {
namespace {

Result<std::string> random_name() {
  std::uint64_t random = 0;
  if (::getentropy(&random, sizeof random) != 0) return last_error();
  return text(".tensorpress-", hex(random), ".tmp");
}

std::string path_of_descriptor(int number) {
  return text("/proc/self/fd/", number);
}

// Data that only sits in a pipe or on a file system without fsync cannot be synced; that is no
// failure.
bool cannot_be_synced(int error_number) {
  return error_number == EINVAL || error_number == EROFS || error_number == ENOTSUP;
}

Result<void> sync(int number) {
  int status = 0;
  do {
    status = ::fsync(number);
  } while (status != 0 && errno == EINTR);
  if (status != 0 && !cannot_be_synced(errno)) return last_error();
  return {};
}

FileDescriptor open_nameless(int directory, mode_t mode) {
  FileDescriptor file(::openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode));
  // Without /proc the file could never be given a name.
  if (file.is_open() && ::access(path_of_descriptor(file.number()).c_str(), F_OK) != 0) return {};
  return file;
}

}  // namespace

Result<TemporaryFile> TemporaryFile::create(const std::string& directory, mode_t mode, Kind kind) {
  TRY(auto parent, open_file(directory.empty() ? "." : directory, O_PATH | O_DIRECTORY));
  if (kind == Kind::nameless_if_possible) {
    if (auto file = open_nameless(parent.number(), mode); file.is_open()) {
      return TemporaryFile(std::move(parent), std::move(file), "");
    }
  }
  while (true) {
    TRY(auto name, random_name());
    FileDescriptor file(
        ::openat(parent.number(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (file.is_open()) {
      return TemporaryFile(std::move(parent), std::move(file), std::move(name));
    }
    if (errno != EEXIST && errno != EINTR) return last_error();
  }
}

TemporaryFile::~TemporaryFile() {
  if (!directory_.is_open() || name_.empty()) return;
  ::unlinkat(directory_.number(), name_.c_str(), 0);
  // A library that could not write it may have it open still; its room is given back all the same.
  if (file_.is_open() && ::ftruncate(file_.number(), 0) != 0) return;
}

Result<void> TemporaryFile::give_random_name() {
  const std::string self = path_of_descriptor(file_.number());
  while (true) {
    TRY(auto name, random_name());
    if (::linkat(AT_FDCWD, self.c_str(), directory_.number(), name.c_str(), AT_SYMLINK_FOLLOW) ==
        0) {
      name_ = std::move(name);
      return {};
    }
    if (errno != EEXIST) return last_error();
  }
}

Result<void> TemporaryFile::sync_directory() const {
  const FileDescriptor readable(
      ::openat(directory_.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!readable.is_open()) return {};  // a directory may be writable but not readable
  return sync(readable.number());
}

Result<void> TemporaryFile::rename_to(const std::string& name) {
  RETURN_IF_ERROR(sync(file_.number()));
  if (name_.empty()) RETURN_IF_ERROR(give_random_name());
  RETURN_IF_ERROR(file_.close());
  const int directory = directory_.number();
  if (::renameat(directory, name_.c_str(), directory, name.c_str()) != 0) return last_error();
  name_.clear();
  return sync_directory();
}

Result<void> TemporaryFile::appear() {
  return name_.empty() ? give_random_name() : Result<void>();
}

FileDescriptor TemporaryFile::take_nameless() && {
  if (!name_.empty()) ::unlinkat(directory_.number(), name_.c_str(), 0);
  name_.clear();
  return std::move(file_);
}

std::string spool_directory() {
  const char* const chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
}

Result<TemporaryFile> create_spool_file(std::uint64_t bytes) {
  auto file = TemporaryFile::create(spool_directory(), 0600);
  if (!file.ok()) {
    return io_error("cannot create ", spool_name(), " of ", human_bytes(bytes), ": ",
                    file.error().message, "; set TMPDIR to a directory with room for it");
  }
  return file;
}

Result<FileDescriptor> create_spool(std::uint64_t bytes) {
  TRY(auto file, create_spool_file(bytes));
  return std::move(file).take_nameless();
}

std::string spool_name() {
  return text("a temporary file in '", spool_directory(), "'");
}

Result<void> write_spool(const FileDescriptor& spool, std::uint64_t offset,
                         std::span<const std::byte> bytes) {
  if (const auto done = write_fully_at(spool, offset, bytes); !done.ok()) {
    return io_error("cannot write ", spool_name(), ": ", done.error().message,
                    "; set TMPDIR to a directory with more room");
  }
  return {};
}

}  // namespace tensorpress::files
