// Bytes that come in order only, as from a pipe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "stream/container/byte_io.h"

namespace tensorpress::fuzz {

class PipeLike : public stream::ByteInput {
 public:
  explicit PipeLike(std::span<const std::byte> bytes) : left_(bytes) {}
  Result<std::size_t> read(std::span<std::byte> into) override {
    const std::size_t count = std::min(into.size(), left_.size());
    std::copy_n(left_.begin(), count, into.begin());
    left_ = left_.subspan(count);
    return count;
  }

 private:
  std::span<const std::byte> left_;
};

}  // namespace tensorpress::fuzz
