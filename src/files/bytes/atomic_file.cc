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
#include "files/bytes/byte_files.h"
#include "files/bytes/temporary_file.h"

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

/// What an output takes over from its input, as it was when the output was begun.
using Origin = std::optional<struct stat>;

// The group first, then the bits, then the owner: at no time may a user read the file who could
// not read the input. A user who may not set the group keeps its bits from the group that it gets
// instead, and one who may not give the file away stays its owner.
Result<void> take_over(const FileDescriptor& file, const struct stat& from) {
  mode_t mode = from.st_mode & 0777;
  if (::fchown(file.number(), static_cast<uid_t>(-1), from.st_gid) != 0) mode &= ~mode_t{0070};
  if (::fchmod(file.number(), mode) != 0) return last_error();
  if (::fchown(file.number(), from.st_uid, static_cast<gid_t>(-1)) != 0 && errno != EPERM) {
    return last_error();
  }
  const struct timespec times[] = {from.st_atim, from.st_mtim};
  if (::futimens(file.number(), times) != 0) return last_error();
  return {};
}

Result<void> complete(TemporaryFile& file, const Origin& origin, const std::string& target) {
  if (origin) RETURN_IF_ERROR(take_over(file.descriptor(), *origin));
  return file.rename_to(target);
}

class ReplacingFile : public AtomicFile {
 public:
  ReplacingFile(TemporaryFile file, std::string target, std::string name, const Origin& origin)
      : file_(std::move(file)),
        target_(std::move(target)),
        name_(std::move(name)),
        origin_(origin) {}

  bool can_write_at() const override { return true; }

  Result<void> append(std::span<const std::byte> bytes) override {
    return checked(write_fully(file_.descriptor(), bytes));
  }
  Result<void> write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
    return checked(write_fully_at(file_.descriptor(), offset, bytes));
  }
  Result<void> finish() override { return checked(complete(file_, origin_, target_)); }
  bool can_rewind() const override { return true; }
  Result<void> rewind() override {
    const int file = file_.descriptor().number();
    if (::ftruncate(file, 0) != 0 || ::lseek(file, 0, SEEK_SET) != 0) return checked(last_error());
    return {};
  }

 private:
  Result<void> checked(Result<void> done) const {
    if (!done.ok()) return while_doing(text("cannot write ", name_), std::move(done).error());
    return {};
  }

  TemporaryFile file_;
  std::string target_;  // the last part of the path, inside the temporary file's directory
  std::string name_;
  Origin origin_;
};

class ReplacingSharedFile : public SharedFile {
 public:
  ReplacingSharedFile(TemporaryFile file, const fs::path& target, std::string name,
                      const Origin& origin)
      : file_(std::move(file)),
        target_(target.filename().string()),
        temporary_path_((target.parent_path() / file_.name()).string()),
        name_(std::move(name)),
        origin_(origin) {}

  const std::string& temporary_path() const override { return temporary_path_; }
  Result<void> finish() override {
    auto done = complete(file_, origin_, target_);
    if (!done.ok()) return while_doing(text("cannot write ", name_), std::move(done).error());
    return {};
  }

 private:
  TemporaryFile file_;
  std::string target_;
  std::string temporary_path_;
  std::string name_;
  Origin origin_;
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

// Where the bytes really go, and what is there now.
struct Target {
  fs::path path;
  std::optional<struct stat> existing;

  bool is_file() const { return !existing || S_ISREG(existing->st_mode); }
};

Result<Target> find_target(const std::string& path) {
  TRY(const fs::path target, follow_symlinks(path));
  TRY(const auto existing, look_at(target));
  if (existing && S_ISDIR(existing->st_mode)) return io_error("it is a directory");
  return Target{target, existing};
}

Origin look_at_origin(const std::string& made_from) {
  struct stat status {};
  if (made_from.empty() || ::stat(made_from.c_str(), &status) != 0) return {};
  return S_ISREG(status.st_mode) ? Origin(status) : Origin();
}

// Beside the target: of this user alone until it is finished, or else with the permissions of the
// file it will replace.
Result<TemporaryFile> create_beside(const Target& target, const Origin& origin,
                                    TemporaryFile::Kind kind) {
  // A rename would replace even a file that its owner made read-only.
  if (target.existing && ::faccessat(AT_FDCWD, target.path.c_str(), W_OK, AT_EACCESS) != 0) {
    return last_error();
  }
  const mode_t mode = origin ? 0600 : 0666;
  TRY(auto file, TemporaryFile::create(target.path.parent_path().string(), mode, kind));
  if (target.existing && !origin)
    RETURN_IF_ERROR(keep_permissions(file.descriptor(), *target.existing));
  return file;
}

Result<AtomicFilePointer> create_replacing(const std::string& path, const std::string& name,
                                           const Origin& origin) {
  TRY(const Target target, find_target(path));
  if (!target.is_file()) {
    TRY(auto file, open_file(target.path.string(), O_WRONLY));
    return AtomicFilePointer(std::make_unique<DirectOutput>(std::move(file), name));
  }
  TRY(auto file, create_beside(target, origin, TemporaryFile::Kind::nameless_if_possible));
  return AtomicFilePointer(std::make_unique<ReplacingFile>(
      std::move(file), target.path.filename().string(), name, origin));
}

Result<std::unique_ptr<SharedFile>> create_shared(const std::string& path, const std::string& name,
                                                  const Origin& origin) {
  TRY(const Target target, find_target(path));
  if (!target.is_file()) return io_error("it is a pipe or a device, not a file");
  TRY(auto file, create_beside(target, origin, TemporaryFile::Kind::named));
  return std::unique_ptr<SharedFile>(
      std::make_unique<ReplacingSharedFile>(std::move(file), target.path, name, origin));
}

}  // namespace

Result<std::unique_ptr<AtomicFile>> AtomicFile::create(const std::string& path,
                                                       const std::string& made_from) {
  const std::string name = output_name(path);
  if (path == "-") {
    auto file = duplicate(1);
    if (!file.ok()) return while_doing("cannot write standard output", std::move(file).error());
    return AtomicFilePointer(std::make_unique<DirectOutput>(std::move(*file), name));
  }
  auto created = create_replacing(path, name, look_at_origin(made_from));
  if (!created.ok()) return while_doing(text("cannot write ", name), std::move(created).error());
  return created;
}

Result<std::unique_ptr<SharedFile>> SharedFile::create(const std::string& path,
                                                       const std::string& made_from) {
  const std::string name = output_name(path);
  auto created = create_shared(path, name, look_at_origin(made_from));
  if (!created.ok()) return while_doing(text("cannot write ", name), std::move(created).error());
  return created;
}

}  // namespace tensorpress::files
