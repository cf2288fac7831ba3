// Where tensors come from and go to, a region at a time: memory, .npy and raw files, pipes.
#pragma once

#include <cstdint>

#include "base/aligned_buffer.h"
#include "tensorpress/result.h"
#include "tensorpress/tensor_view.h"

namespace tensorpress::stream {

class TensorSource {
 public:
  virtual ~TensorSource() = default;
  virtual DType dtype() const = 0;
  virtual const Shape& shape() const = 0;
  /// True when any region may be read at any time; false for pipes, which give regions in C order
  /// only.
  virtual bool random_access() const = 0;
  /// A view of the region, native-endian, valid until `scratch` is used again. Called from one
  /// thread at a time.
  virtual Result<TensorView> read(const Region& region, AlignedBuffer& scratch) = 0;
};

class TensorSink {
 public:
  virtual ~TensorSink() = default;
  /// Called from one thread at a time, in ascending chunk order, every region once.
  virtual Result<void> write(const Region& region, const TensorView& elements) = 0;
};

}  // namespace tensorpress::stream
