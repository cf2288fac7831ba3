// Arguments that several verbs share: --shape and --dtype of raw input, and --threads.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "command_line/options/arguments.h"
#include "files/tensor/tensor_files.h"

namespace tensorpress::cli {

class RawFormatOptions {
 public:
  void declare(Arguments& arguments);
  /// What was said of raw files in general; absent when nothing was. One without the other is an
  /// error.
  Result<std::optional<files::RawFormat>> format() const;
  /// Of the file at `path`: what was said, completed by what its name says
  /// (files/tensor/raw_format.h). Absent when the file describes itself or nothing is known.
  Result<std::optional<files::RawFormat>> format_of(const std::string& path) const;

 private:
  std::optional<std::string> shape_;
  std::optional<std::string> dtype_;
};

class ThreadsOption {
 public:
  /// `threads` 0: as many as there are cores.
  void declare(Arguments& arguments, std::size_t threads = 0);
  std::size_t threads() const { return threads_; }

 private:
  std::size_t threads_ = 0;
};

}  // namespace tensorpress::cli
