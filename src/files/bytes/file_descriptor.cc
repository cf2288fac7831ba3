#include "files/bytes/file_descriptor.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/errors.h"

namespace tensorpress::files {
namespace {

// Linux moves at most 0x7ffff000 bytes a call; asking for less keeps every system happy.
constexpr std::size_t kMaxTransfer = std::size_t{1} << 30;

// Repeats `transfer(done, count)` until `total` bytes are moved, it returns 0, or it fails.
template <class Transfer>
Result<std::size_t> repeat(std::size_t total, Transfer transfer) {
  std::size_t done = 0;
  while (done < total) {
    const ssize_t moved = transfer(done, std::min(total - done, kMaxTransfer));
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return last_error();
    if (moved == 0) break;
    done += static_cast<std::size_t>(moved);
  }
  return done;
}

Result<void> all_written(const Result<std::size_t>& written, std::size_t expected) {
  if (!written.ok()) return written.error();
  if (*written < expected) return io_error("the system wrote no bytes and gave no reason");
  return {};
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (is_open()) ::close(number_);
}

Result<void> FileDescriptor::close() {
  // After EINTR the descriptor is gone on Linux, so there is nothing to repeat.
  if (::close(std::exchange(number_, -1)) != 0 && errno != EINTR) return last_error();
  return {};
}

std::string reason(int error_number) {
  return std::generic_category().message(error_number);
}

Error last_error() {
  return io_error(reason(errno));
}

Error while_doing(std::string_view what, Error error) {
  error.message = text(what, ": ", error.message);
  return error;
}

std::string input_name(const std::string& path) {
  return path == "-" ? "standard input" : text("'", path, "'");
}

std::string output_name(const std::string& path) {
  return path == "-" ? "standard output" : text("'", path, "'");
}

Result<FileDescriptor> open_file(const std::string& path, int flags) {
  int number = -1;
  do {
    number = ::open(path.c_str(), flags | O_CLOEXEC);
  } while (number < 0 && errno == EINTR);
  if (number < 0) return last_error();
  return FileDescriptor(number);
}

Result<FileDescriptor> duplicate(int number) {
  const int copy = ::fcntl(number, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return last_error();
  return FileDescriptor(copy);
}

Result<std::size_t> read_fully(const FileDescriptor& file, std::span<std::byte> into) {
  return repeat(into.size(), [&](std::size_t done, std::size_t count) {
    return ::read(file.number(), into.data() + done, count);
  });
}

Result<std::size_t> read_fully_at(const FileDescriptor& file, std::uint64_t offset,
                                  std::span<std::byte> into) {
  return repeat(into.size(), [&](std::size_t done, std::size_t count) {
    return ::pread(file.number(), into.data() + done, count, static_cast<off_t>(offset + done));
  });
}

Result<void> write_fully(const FileDescriptor& file, std::span<const std::byte> bytes) {
  const auto written = repeat(bytes.size(), [&](std::size_t done, std::size_t count) {
    return ::write(file.number(), bytes.data() + done, count);
  });
  return all_written(written, bytes.size());
}

Result<void> write_fully_at(const FileDescriptor& file, std::uint64_t offset,
                            std::span<const std::byte> bytes) {
  const auto written = repeat(bytes.size(), [&](std::size_t done, std::size_t count) {
    return ::pwrite(file.number(), bytes.data() + done, count, static_cast<off_t>(offset + done));
  });
  return all_written(written, bytes.size());
}

Result<std::size_t> FileInput::read(std::span<std::byte> into) {
  const std::size_t known = std::min(into.size(), peeked_.size());
  std::copy_n(peeked_.begin(), known, into.begin());
  peeked_.erase(peeked_.begin(), peeked_.begin() + static_cast<std::ptrdiff_t>(known));
  auto count = read_fully(file_, into.subspan(known));
  if (!count.ok()) return while_doing(text("cannot read ", name_), std::move(count).error());
  return known + *count;
}

Result<std::span<const std::byte>> FileInput::peek(std::size_t count) {
  if (peeked_.size() < count) {
    const std::size_t known = peeked_.size();
    peeked_.resize(count);
    auto added = read_fully(file_, std::span(peeked_).subspan(known));
    peeked_.resize(known + (added.ok() ? *added : 0));
    if (!added.ok()) return while_doing(text("cannot read ", name_), std::move(added).error());
  }
  return std::span<const std::byte>(peeked_).first(std::min(count, peeked_.size()));
}

}  // namespace tensorpress::files
