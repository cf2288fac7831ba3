// Memory as the source or the target of a stream or a tensor. None of these own the memory.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/errors.h"
#include "stream/container/byte_io.h"
#include "stream/tensor_io.h"

namespace tensorpress::stream {

class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<void> read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    if (offset > bytes_.size() || into.size() > bytes_.size() - offset) {
      return truncated(into.size(), " bytes are needed at byte ", offset, " of ", bytes_.size());
    }
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
    return {};
  }
  std::span<const std::byte> in_memory() const override { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

/// Memory of a fixed size, filled from its start.
class MemorySink : public ByteSink {
 public:
  explicit MemorySink(std::span<std::byte> room) : room_(room) {}
  Result<void> append(std::span<const std::byte> bytes) override {
    if (bytes.size() > room_.size() - used_) {
      return bad_argument("the output has room for ", room_.size(),
                          " bytes, too few; bound_on_output_size says how many always suffice");
    }
    if (bytes.data() != room_.data() + used_) {
      std::copy(bytes.begin(), bytes.end(), room_.begin() + static_cast<std::ptrdiff_t>(used_));
    }
    used_ += bytes.size();
    return {};
  }
  std::span<std::byte> room() override { return room_.subspan(used_); }
  bool can_rewind() const override { return true; }
  Result<void> rewind() override {
    used_ = 0;
    return {};
  }
  std::size_t used() const { return used_; }

 private:
  std::span<std::byte> room_;
  std::size_t used_ = 0;
};

/// A tensor in memory, given out region by region without a copy.
class ViewSource : public TensorSource {
 public:
  explicit ViewSource(const TensorView& view) : view_(view) {}
  DType dtype() const override { return view_.dtype; }
  const Shape& shape() const override { return view_.shape; }
  bool random_access() const override { return true; }
  Result<TensorView> read(const Region& region, AlignedBuffer& /*scratch*/) override {
    return view_.part(region);
  }

 private:
  TensorView view_;
};

/// A tensor in memory that is written region by region.
class ViewSink : public TensorSink {
 public:
  explicit ViewSink(const MutableTensorView& view) : view_(view) {}
  Result<void> write(const Region& region, const TensorView& elements) override {
    copy_elements(elements, view_.part(region));
    return {};
  }

 private:
  MutableTensorView view_;
};

}  // namespace tensorpress::stream
