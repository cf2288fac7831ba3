// A Python process that runs the compressor of a Python package (worker.py) and shares memory with
// us. It works only while an answer of it is awaited, so that its turns alternate with others'.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "tensorpress/result.h"

namespace tensorpress::benchmark {

class PythonWorker {
 public:
  /// Starts `python` without waiting for it.
  static Result<std::unique_ptr<PythonWorker>> start(const std::string& python);
  PythonWorker(const PythonWorker&) = delete;
  PythonWorker& operator=(const PythonWorker&) = delete;
  /// The process ends by itself when the socket is closed.
  ~PythonWorker();

  /// Sends one line and waits for the line that answers it. "cannot ..." comes back as an error.
  Result<std::string> ask(const std::string& command);
  /// Memory that both see, at least `size` bytes; what was there before is lost.
  Result<std::span<std::byte>> share(std::size_t size);

 private:
  PythonWorker(pid_t process, int socket, int memory)
      : process_(process), socket_(socket), memory_(memory) {}
  void unmap();

  pid_t process_;
  int socket_;
  int memory_;  // its descriptor
  std::span<std::byte> mapped_;
};

}  // namespace tensorpress::benchmark
