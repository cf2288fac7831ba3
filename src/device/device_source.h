// A tensor on a device as the host reads it, region by region: for what the host does.
#pragma once

#include "device/backend.h"
#include "tensorpress/streaming.h"

namespace tensorpress::device {

/// What is passed by reference must outlive this.
class DeviceSource final : public TensorSource {
 public:
  DeviceSource(Backend& backend, const DeviceTensor& tensor) : backend_(backend), tensor_(tensor) {}

  DType dtype() const override { return tensor_.dtype; }
  const Shape& shape() const override { return tensor_.shape; }
  bool random_access() const override { return true; }
  Result<TensorView> read(const Region& region, AlignedBuffer& scratch) override;

 private:
  Backend& backend_;
  const DeviceTensor& tensor_;
};

/// The reverse: what the host decoded goes to its place.
class DeviceSink final : public TensorSink {
 public:
  DeviceSink(Backend& backend, const DeviceTensor& tensor) : backend_(backend), tensor_(tensor) {}

  Result<void> write(const Region& region, const TensorView& elements) override;

 private:
  Backend& backend_;
  const DeviceTensor& tensor_;
};

}  // namespace tensorpress::device
