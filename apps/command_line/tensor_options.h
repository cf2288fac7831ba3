// Arguments that several verbs share: --shape and --dtype of raw input, and --threads.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "files/tensor_files.h"
#include "verb.h"

namespace tensorpress::cli {

class RawFormatOptions {
 public:
  void declare(CLI::App& app);
  /// Absent when neither was given: the file describes itself. One without the other is an error.
  Result<std::optional<files::RawFormat>> format() const;

 private:
  std::optional<std::string> shape_;
  std::optional<std::string> dtype_;
};

class ThreadsOption {
 public:
  /// `threads` 0: as many as there are cores.
  void declare(CLI::App& app, std::size_t threads = 0);
  std::size_t threads() const { return threads_; }

 private:
  std::size_t threads_ = 0;
};

}  // namespace tensorpress::cli
