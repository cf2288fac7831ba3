// Bytes of a fuzzer as something to compress: element type, shape, codec with its parameters,
// bound, fill values, chunk shape, and elements that range from smooth to any bits at all.
#pragma once

#include <string>

#include "inputs/byte_taker.h"
#include "tensorpress/stream.h"

namespace tensorpress::fuzz {

struct TensorCase {
  Tensor tensor;
  Codec codec;
  CompressOptions options;
  std::string to_string() const;
};

/// At most a few thousand elements; what codec and bound refuse is also made.
TensorCase take_tensor_case(ByteTaker& bytes);

}  // namespace tensorpress::fuzz
