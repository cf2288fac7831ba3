// An open file and the four transfers on it, complete or failed: interrupted and short calls are
// continued here and nowhere else. Errors carry only the operating system's reason; callers say
// which file, with `while_doing`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorpress/result.h"
#include "tensorpress/streaming.h"

namespace tensorpress::files {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor();

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  /// Reports what a delayed write did, which the destructor cannot.
  Result<void> close();

 private:
  int number_ = -1;
};

/// "No space left on device".
std::string reason(int error_number);
/// The error of the last system call.
Error last_error();
/// "cannot write 'x.npy': No space left on device".
Error while_doing(std::string_view what, Error error);
/// "'x.npy'"; "standard input" or "standard output" for "-".
std::string input_name(const std::string& path);
std::string output_name(const std::string& path);

/// open(2), interrupted calls repeated.
Result<FileDescriptor> open_file(const std::string& path, int flags);
/// A second descriptor for standard input (0) or output (1), so that closing it leaves the first
/// one open.
Result<FileDescriptor> duplicate(int number);

/// Fewer bytes than asked for means the end of the file or pipe.
Result<std::size_t> read_fully(const FileDescriptor& file, std::span<std::byte> into);
Result<std::size_t> read_fully_at(const FileDescriptor& file, std::uint64_t offset,
                                  std::span<std::byte> into);
Result<void> write_fully(const FileDescriptor& file, std::span<const std::byte> bytes);
Result<void> write_fully_at(const FileDescriptor& file, std::uint64_t offset,
                            std::span<const std::byte> bytes);

/// A file or pipe read from front to back. `name` is for messages.
class FileInput : public ByteInput {
 public:
  FileInput(FileDescriptor file, std::string name)
      : file_(std::move(file)), name_(std::move(name)) {}
  Result<std::size_t> read(std::span<std::byte> into) override;
  /// The next bytes, up to `count` of them, which `read` gives again: a pipe cannot go back. Fewer
  /// mean that it ends there.
  Result<std::span<const std::byte>> peek(std::size_t count);

  const std::string& name() const { return name_; }
  /// Hands the file on, positioned behind what was read and peeked at.
  FileDescriptor take() && { return std::move(file_); }

 private:
  FileDescriptor file_;
  std::string name_;
  std::vector<std::byte> peeked_;  // and not yet read
};

}  // namespace tensorpress::files
