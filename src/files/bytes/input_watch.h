// A file that another program writes to while it is read would become a mixture of old and new
// values. Who reads one looks at its size and time of change before and after.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <utility>

#include "files/bytes/file_descriptor.h"
#include "tensorpress/result.h"

namespace tensorpress::files {

/// Which file it is, how long, and when it was written to.
struct FileState {
  std::uint64_t device = 0;
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  friend bool operator==(const FileState&, const FileState&) = default;

  static FileState of(const struct stat& status);
};

/// Of an open file, whatever becomes of its name.
class OpenFileWatch {
 public:
  explicit OpenFileWatch(const FileDescriptor& file);
  /// An error that names the file if it has changed since.
  Result<void> check(const FileDescriptor& file, const std::string& name) const;

 private:
  FileState state_;
};

/// Of a file that libraries open by its path, perhaps several times: another file under the same
/// name is a change as well.
class InputWatch {
 public:
  static Result<InputWatch> begin(const std::string& path);
  Result<void> check() const;

 private:
  InputWatch(std::string path, const FileState& state) : path_(std::move(path)), state_(state) {}

  std::string path_;
  FileState state_;
};

}  // namespace tensorpress::files
