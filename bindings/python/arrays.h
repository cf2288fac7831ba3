// Python's arrays as tensor views, without a copy: NumPy, PyTorch and other DLPack tensors on the
// CPU, and buffers.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <span>

#include "tensorpress/tensor_view.h"

namespace tensorpress::python {

using ReadOnlyArray = nanobind::ndarray<nanobind::ro>;
using WritableArray = nanobind::ndarray<>;

/// NumPy has no bfloat16: with `bits_of_bf16` an array of uint16 is taken for one. The arrays own
/// what the views look at.
ReadOnlyArray import_input(nanobind::handle object);
WritableArray import_output(nanobind::handle object);
TensorView view_of(const ReadOnlyArray& array, bool bits_of_bf16);
MutableTensorView view_of(const WritableArray& array, bool bits_of_bf16);

/// A stream and the tensor it is made from or decoded to must not share memory: ValueError.
void refuse_overlap(const TensorView& tensor, std::span<const std::byte> stream);

/// The contiguous bytes of any object with the buffer protocol, as long as this lives. To be made
/// and destroyed with the GIL held.
class HeldBuffer {
 public:
  enum class Access { read, write };
  HeldBuffer(nanobind::handle object, Access access);
  ~HeldBuffer();
  HeldBuffer(const HeldBuffer&) = delete;
  HeldBuffer& operator=(const HeldBuffer&) = delete;

  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(buffer_.buf), static_cast<std::size_t>(buffer_.len)};
  }
  /// Only with Access::write.
  std::span<std::byte> writable_bytes() const {
    return {static_cast<std::byte*>(buffer_.buf), static_cast<std::size_t>(buffer_.len)};
  }

 private:
  Py_buffer buffer_{};
};

}  // namespace tensorpress::python
