// The tensor inside a stream as a source: what it takes to compress again what was compressed
// before.
#pragma once

#include <memory>

#include "stream/container/byte_io.h"
#include "stream/reader.h"
#include "stream/tensor_io.h"

namespace tensorpress::stream {

class StreamTensor : public TensorSource {
 public:
  /// Checks everything but the chunks, which are decoded as they are read.
  static Result<std::unique_ptr<StreamTensor>> open(std::unique_ptr<ByteSource> bytes,
                                                    std::size_t threads);

  const StreamInfo& info() const { return reader_.info(); }
  DType dtype() const override { return info().dtype; }
  const Shape& shape() const override { return info().shape; }
  bool random_access() const override { return true; }
  Result<TensorView> read(const Region& region, AlignedBuffer& scratch) override;

 private:
  StreamTensor(std::unique_ptr<ByteSource> bytes, StreamReader reader, std::size_t threads)
      : bytes_(std::move(bytes)), reader_(std::move(reader)), threads_(threads) {}

  std::unique_ptr<ByteSource> bytes_;
  StreamReader reader_;
  std::size_t threads_;
};

}  // namespace tensorpress::stream
