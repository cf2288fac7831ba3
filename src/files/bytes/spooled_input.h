// A pipe for libraries that read files: copied to a temporary file. It has no name while it grows,
// so that nothing stays behind if the copy is interrupted, and then gets one, because HDF5 opens no
// file without.
#pragma once

#include <string>

#include "files/bytes/file_descriptor.h"
#include "files/bytes/temporary_file.h"

namespace tensorpress::files {

class SpooledInput {
 public:
  /// Reads `input` to its end.
  static Result<SpooledInput> copy(FileInput input);
  /// There is a file as long as this object lives.
  const std::string& path() const { return path_; }

 private:
  SpooledInput(TemporaryFile file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  TemporaryFile file_;
  std::string path_;
};

/// Standard input, of which bytes can be looked at before they are read.
Result<FileInput> open_standard_input();

}  // namespace tensorpress::files
