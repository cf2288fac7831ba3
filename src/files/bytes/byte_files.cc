// Reading bytes: files by pread, because a mapping would count against address-space limits and
// turn a file that shrinks into a signal instead of an error.
#include "files/bytes/byte_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/errors.h"
#include "files/bytes/file_descriptor.h"

namespace tensorpress::files {
namespace {

class FileBytes : public stream::ByteSource {
 public:
  FileBytes(FileDescriptor file, std::string name, std::uint64_t size)
      : file_(std::move(file)), name_(std::move(name)), size_(size) {}

  std::uint64_t size() const override { return size_; }

  Result<void> read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    if (offset > size_ || into.size() > size_ - offset) {
      return truncated(name_, " ends at byte ", size_, "; ", into.size(),
                       " bytes are needed from byte ", offset);
    }
    const auto count = read_fully_at(file_, offset, into);
    if (!count.ok()) return while_doing(text("cannot read ", name_), count.error());
    if (*count < into.size()) {
      return truncated(name_, " became shorter while it was read: it had ", size_,
                       " bytes and now ends at byte ", offset + *count);
    }
    return {};
  }

 private:
  FileDescriptor file_;
  std::string name_;
  std::uint64_t size_;
};

// Standard input, opened at the first read so that making one cannot fail.
class StandardInput : public stream::ByteInput {
 public:
  Result<std::size_t> read(std::span<std::byte> into) override {
    if (!file_.is_open()) {
      auto file = duplicate(0);
      if (!file.ok()) return while_doing("cannot read standard input", std::move(file).error());
      file_ = std::move(*file);
    }
    const auto count = read_fully(file_, into);
    if (!count.ok()) return while_doing("cannot read standard input", count.error());
    return count;
  }

 private:
  FileDescriptor file_;
};

}  // namespace

Result<std::unique_ptr<stream::ByteSource>> open_bytes(const std::string& path) {
  const std::string name = input_name(path);
  // O_NONBLOCK: opening a pipe without a writer must not wait, only to be refused.
  auto file = open_file(path, O_RDONLY | O_NONBLOCK);
  if (!file.ok()) return while_doing(text("cannot read ", name), std::move(file).error());
  struct stat status {};
  if (::fstat(file->number(), &status) != 0) {
    return while_doing(text("cannot read ", name), last_error());
  }
  if (S_ISDIR(status.st_mode)) return io_error(name, " is a directory, not a file");
  if (!S_ISREG(status.st_mode)) {
    return io_error(name, " is a pipe or a device, not a file; use - to read standard input");
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  return std::unique_ptr<stream::ByteSource>(
      std::make_unique<FileBytes>(std::move(*file), name, size));
}

std::unique_ptr<stream::ByteInput> standard_input() {
  return std::make_unique<StandardInput>();
}

}  // namespace tensorpress::files
