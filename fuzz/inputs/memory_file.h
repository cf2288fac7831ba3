// Bytes under a path, for functions that open files: no disk is involved.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <span>
#include <string>

#include "inputs/must.h"

namespace tensorpress::fuzz {

class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::byte> bytes) : descriptor_(memfd_create("fuzz", 0)) {
    must(descriptor_ >= 0, "there is memory for a file");
    const auto written = write(descriptor_, bytes.data(), bytes.size());
    must(written == static_cast<ssize_t>(bytes.size()), "a file in memory takes all bytes");
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace tensorpress::fuzz
