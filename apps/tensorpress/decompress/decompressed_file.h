// The file that a stream is decompressed to, made when the stream's shape is known.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/tensor/region.h"
#include "files/tensor/tensor_files.h"
#include "tensorpress/streaming.h"

namespace tensorpress::cli {

/// What was asked for.
struct FileRequest {
  std::string path;
  std::string made_from = {};  // the input, whose permissions and times the file gets; "" for pipes
  bool raw = false;            // --raw
  bool method_given = false;   // --form or --serialize
};

class DecompressedFile {
 public:
  explicit DecompressedFile(FileRequest request) : request_(std::move(request)) {}

  /// `slice` when it is a part of the stream's tensor.
  Result<TensorSink*> create(const StreamInfo& info, const Slice* slice = nullptr);
  Result<void> finish() { return file_->finish(); }
  std::vector<std::string> remarks() const { return file_->remarks(); }

 private:
  FileRequest request_;
  std::unique_ptr<files::TensorFile> file_;
};

}  // namespace tensorpress::cli
