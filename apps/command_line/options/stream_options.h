// --chunk-shape and --attr: what a stream is to be like apart from its codec.
#pragma once

#include <string>
#include <vector>

#include "command_line/options/arguments.h"
#include "tensorpress/streaming.h"

namespace tensorpress::cli {

class StreamOptions {
 public:
  void declare(Arguments& arguments);
  bool given() const { return !chunk_shape_.empty() || !attributes_.empty(); }
  /// Sets the chunk shape and the attributes; the error says what is allowed.
  Result<void> apply_to(CompressOptions& options) const;

 private:
  std::string chunk_shape_;
  std::vector<std::string> attributes_;
};

}  // namespace tensorpress::cli
