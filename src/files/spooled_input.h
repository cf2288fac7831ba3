// A pipe for libraries that read files: copied to a temporary file that has no name, which they
// find under /proc as long as it is open here.
#pragma once

#include <string>

#include "files/file_descriptor.h"

namespace tensorpress::files {

class SpooledInput {
 public:
  /// Reads `input` to its end.
  static Result<SpooledInput> copy(FileInput input);
  /// "/proc/self/fd/5".
  const std::string& path() const { return path_; }

 private:
  SpooledInput(FileDescriptor file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  FileDescriptor file_;
  std::string path_;
};

/// Standard input, of which bytes can be looked at before they are read.
Result<FileInput> open_standard_input();

}  // namespace tensorpress::files
