#include "arrays.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "errors.h"

namespace nb = nanobind;

namespace tensorpress::python {
namespace {

std::optional<DType> dtype_of(const nb::dlpack::dtype& type, bool bits_of_bf16) {
  using Code = nb::dlpack::dtype_code;
  const auto is = [&](Code code, int bits) {
    return type.code == static_cast<std::uint8_t>(code) && type.bits == bits && type.lanes == 1;
  };
  if (bits_of_bf16) return is(Code::UInt, 16) ? std::optional(DType::bf16) : std::nullopt;
  if (is(Code::Float, 32)) return DType::f32;
  if (is(Code::Float, 64)) return DType::f64;
  if (is(Code::Float, 16)) return DType::f16;
  if (is(Code::Bfloat, 16)) return DType::bf16;
  if (is(Code::UInt, 8)) return DType::u8;
  if (is(Code::Int, 16)) return DType::i16;
  return std::nullopt;
}

template <class Pointer, class Array>
BasicTensorView<Pointer> make_view(const Array& array, bool bits_of_bf16) {
  const auto dtype = dtype_of(array.dtype(), bits_of_bf16);
  if (!dtype) {
    raise_type_error(
        "this element type cannot be compressed; use float32, float64, float16, bfloat16, uint8 "
        "or int16");
  }
  std::vector<std::uint64_t> extents;
  for (std::size_t axis = 0; axis < array.ndim(); ++axis) extents.push_back(array.shape(axis));
  BasicTensorView<Pointer> view;
  view.shape = value_or_raise(Shape::make(extents));
  view.dtype = *dtype;
  view.data = reinterpret_cast<Pointer>(array.data());
  const auto element_bytes = static_cast<std::int64_t>(size_of(*dtype));
  for (std::size_t axis = 0; axis < array.ndim(); ++axis) {
    view.strides[axis] = array.stride(axis) * element_bytes;
  }
  if (view.element_count() > 0 &&
      reinterpret_cast<std::uintptr_t>(view.data) % size_of(*dtype) != 0) {
    throw nb::value_error("the elements do not lie at multiples of their size; pass a copy");
  }
  return view;
}

template <class Array>
Array import_array(nb::handle object, const char* expectation) {
  Array array;
  if (!nb::try_cast(object, array, false)) {
    raise_type_error(text("a ", nb::type_name(object.type()).c_str(), " ", expectation));
  }
  if (array.device_type() != nb::device::cpu::value) {
    raise_type_error("the array is not in the memory of the CPU; move it there first (.cpu())");
  }
  return array;
}

// Each axis steps over all that the axes with shorter strides reach. Strides whose elements lie
// apart in another way exist, but slicing an array does not make them.
bool elements_lie_apart(const MutableTensorView& view) {
  if (view.element_count() == 0) return true;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> axes;  // stride, extent
  for (std::size_t axis = 0; axis < view.shape.rank(); ++axis) {
    const std::int64_t stride = view.strides[axis];
    if (view.shape[axis] > 1) axes.emplace_back(stride < 0 ? -stride : stride, view.shape[axis]);
  }
  std::ranges::sort(axes);
  std::uint64_t reach = size_of(view.dtype);
  for (const auto& [stride, extent] : axes) {
    if (stride < reach) return false;
    reach += stride * (extent - 1);
  }
  return true;
}

}  // namespace

ReadOnlyArray import_input(nb::handle object) {
  return import_array<ReadOnlyArray>(object, "is neither a DLPack tensor nor a buffer of numbers");
}

WritableArray import_output(nb::handle object) {
  return import_array<WritableArray>(object, "cannot be written to as a DLPack tensor or a buffer");
}

TensorView view_of(const ReadOnlyArray& array, bool bits_of_bf16) {
  return make_view<const std::byte*>(array, bits_of_bf16);
}

MutableTensorView view_of(const WritableArray& array, bool bits_of_bf16) {
  const auto view = make_view<std::byte*>(array, bits_of_bf16);
  if (!elements_lie_apart(view)) {
    throw nb::value_error("the elements of the output share memory; pass a copy of it");
  }
  return view;
}

void refuse_overlap(const TensorView& tensor, std::span<const std::byte> stream) {
  if (tensor.element_count() == 0 || stream.empty()) return;
  auto low = reinterpret_cast<std::intptr_t>(tensor.data);
  auto high = low + static_cast<std::intptr_t>(size_of(tensor.dtype));
  for (std::size_t axis = 0; axis < tensor.shape.rank(); ++axis) {
    const std::int64_t reach =
        static_cast<std::int64_t>(tensor.shape[axis] - 1) * tensor.strides[axis];
    (reach < 0 ? low : high) += reach;
  }
  const auto begin = reinterpret_cast<std::intptr_t>(stream.data());
  if (begin < high && low < begin + static_cast<std::intptr_t>(stream.size())) {
    throw nb::value_error("the array and the stream share memory; pass a copy of one");
  }
}

HeldBuffer::HeldBuffer(nb::handle object, Access access) {
  if (PyObject_CheckBuffer(object.ptr()) == 0) {
    raise_type_error(
        text("a stream is bytes or another buffer, not a ", nb::type_name(object.type()).c_str()));
  }
  const int flags = access == Access::write ? PyBUF_WRITABLE : PyBUF_SIMPLE;
  if (PyObject_GetBuffer(object.ptr(), &buffer_, flags) != 0) {
    PyErr_Clear();
    throw nb::value_error(
        access == Access::write
            ? "the buffer for a stream must be writable and contiguous"
            : "the bytes of a stream must be contiguous; pass bytes(...) of them");
  }
}

HeldBuffer::~HeldBuffer() {
  PyBuffer_Release(&buffer_);
}

}  // namespace tensorpress::python
