// Writing bytes so that a name shows either the old file or the complete new one: a temporary file
// in the target's own directory, synced, then renamed over the target, then the directory synced.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/errors.h"
#include "files/byte_files.h"
#include "files/temporary_file.h"

namespace tensorpress::files {
namespace {

namespace fs = std::filesystem;
using AtomicFilePointer = std::unique_ptr<AtomicFile>;

constexpr int kMaxSymlinks = 40;  // as Linux

// Standard output, a named pipe or a device: bytes go straight out, in order.
class DirectOutput : public AtomicFile {
 public:
  DirectOutput(FileDescriptor file, std::string name)
      : file_(std::move(file)), name_(std::move(name)) {}

  bool can_write_at() const override { return false; }
  std::string path_for_libraries() const override { return {}; }

  Result<void> append(std::span<const std::byte> bytes) override {
    if (auto done = write_fully(file_, bytes); !done.ok()) return failed(std::move(done).error());
    return {};
  }
  Result<void> write_at(std::uint64_t offset, std::span<const std::byte>) override {
    return bad_argument(name_, " can only be written from front to back, not at byte ", offset);
  }
  Result<void> finish() override {
    if (auto done = file_.close(); !done.ok()) return failed(std::move(done).error());
    return {};
  }

 private:
  Error failed(Error error) const {
    return while_doing(text("cannot write ", name_), std::move(error));
  }

  FileDescriptor file_;
  std::string name_;
};

class ReplacingFile : public AtomicFile {
 public:
  ReplacingFile(TemporaryFile file, std::string target, std::string name)
      : file_(std::move(file)), target_(std::move(target)), name_(std::move(name)) {}

  bool can_write_at() const override { return true; }
  // Whatever its hidden name is.
  std::string path_for_libraries() const override {
    return text("/proc/self/fd/", file_.descriptor().number());
  }

  Result<void> append(std::span<const std::byte> bytes) override {
    return checked(write_fully(file_.descriptor(), bytes));
  }
  Result<void> write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
    return checked(write_fully_at(file_.descriptor(), offset, bytes));
  }
  Result<void> finish() override { return checked(file_.rename_to(target_)); }

 private:
  Result<void> checked(Result<void> done) const {
    if (!done.ok()) return while_doing(text("cannot write ", name_), std::move(done).error());
    return {};
  }

  TemporaryFile file_;
  std::string target_;  // the last part of the path, inside the temporary file's directory
  std::string name_;
};

// Follows links by hand, because the last one may lead to a file that does not exist yet.
Result<fs::path> follow_symlinks(fs::path path) {
  for (int links = 0; links < kMaxSymlinks; ++links) {
    std::error_code not_a_link;
    const fs::path next = fs::read_symlink(path, not_a_link);
    if (not_a_link) return path;
    path = path.parent_path() / next;  // an absolute `next` replaces all
  }
  return io_error(reason(ELOOP));
}

// What is at `path`, or nothing if a file may be created there.
Result<std::optional<struct stat>> look_at(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return std::optional(status);
  if (errno != ENOENT) return last_error();
  const fs::path directory = path.parent_path();
  if (!directory.empty() && ::stat(directory.c_str(), &status) != 0 && errno == ENOENT) {
    return io_error("the directory '", directory.string(), "' does not exist");
  }
  if (path.filename().empty()) return io_error("the path ends in '/', which names a directory");
  return std::optional<struct stat>();
}

// Owner first: changing it clears permission bits. Only root may give files away, so a failure is
// no error; the bits are the owner's to set, so theirs is.
Result<void> keep_permissions(const FileDescriptor& file, const struct stat& old) {
  if (::fchown(file.number(), old.st_uid, old.st_gid) != 0 && errno != EPERM) return last_error();
  if (::fchmod(file.number(), old.st_mode & 0777) != 0) return last_error();
  return {};
}

Result<AtomicFilePointer> create_replacing(const std::string& path, const std::string& name,
                                           TemporaryFile::Kind kind) {
  TRY(const fs::path target, follow_symlinks(path));
  TRY(const auto existing, look_at(target));
  if (existing && S_ISDIR(existing->st_mode)) return io_error("it is a directory");
  if (existing && !S_ISREG(existing->st_mode)) {
    TRY(auto file, open_file(target.string(), O_WRONLY));
    return AtomicFilePointer(std::make_unique<DirectOutput>(std::move(file), name));
  }
  // A rename would replace even a file that its owner made read-only.
  if (existing && ::faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0) return last_error();
  TRY(auto file, TemporaryFile::create(target.parent_path().string(), 0666, kind));
  if (existing) RETURN_IF_ERROR(keep_permissions(file.descriptor(), *existing));
  return AtomicFilePointer(
      std::make_unique<ReplacingFile>(std::move(file), target.filename().string(), name));
}

Result<AtomicFilePointer> create_file(const std::string& path, TemporaryFile::Kind kind) {
  const std::string name = output_name(path);
  if (path == "-") {
    auto file = duplicate(1);
    if (!file.ok()) return while_doing("cannot write standard output", std::move(file).error());
    return AtomicFilePointer(std::make_unique<DirectOutput>(std::move(*file), name));
  }
  auto created = create_replacing(path, name, kind);
  if (!created.ok()) return while_doing(text("cannot write ", name), std::move(created).error());
  return created;
}

}  // namespace

Result<std::unique_ptr<AtomicFile>> AtomicFile::create(const std::string& path) {
  return create_file(path, TemporaryFile::Kind::nameless_if_possible);
}

Result<std::unique_ptr<AtomicFile>> AtomicFile::create_for_libraries(const std::string& path) {
  return create_file(path, TemporaryFile::Kind::named);
}

}  // namespace tensorpress::files
