#include "errors.h"

namespace nb = nanobind;

namespace tensorpress::python {
namespace {

// The classes as the module holds them, found again by name: nothing here is global.
nb::object class_named(const char* name) {
  return nb::module_::import_("tensorpress._core").attr(name);
}

nb::object class_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::bad_argument:
      return nb::borrow(PyExc_ValueError);
    case ErrorCode::unsupported:
      return class_named("UnsupportedError");
    case ErrorCode::truncated:
    case ErrorCode::corrupt:
      return class_named("CorruptError");
    case ErrorCode::too_large:
      return class_named("TooLargeError");
    case ErrorCode::io:
      return nb::borrow(PyExc_OSError);
    case ErrorCode::likely_fill:
      return class_named("LikelyFillError");
    case ErrorCode::internal:
      break;
  }
  return nb::borrow(PyExc_RuntimeError);
}

void define(nb::module_& module, const char* qualified, const char* name, const char* meaning) {
  nb::object made =
      nb::steal(PyErr_NewExceptionWithDoc(qualified, meaning, PyExc_ValueError, nullptr));
  if (!made.is_valid()) nb::raise_python_error();
  module.attr(name) = made;
}

}  // namespace

void define_errors(nb::module_& module) {
  define(module, "tensorpress.CorruptError", "CorruptError",
         "The bytes are no whole .tpz stream: cut short, changed, or something else.");
  define(module, "tensorpress.UnsupportedError", "UnsupportedError",
         "It makes sense, but this version cannot do it.");
  define(module, "tensorpress.TooLargeError", "TooLargeError",
         "More than max_bytes, or more than can be addressed.");
  define(
      module, "tensorpress.LikelyFillError", "LikelyFillError",
      "A relative bound or PSNR was asked for, and one repeated extreme makes up most of the "
      "value range.\n\nIt is likely a fill value that was not named, and a bound of such a range "
      "would allow errors\nlarger than the other values. `value` is the extreme, `count` how many "
      "elements have it, and\n`value_range` (low, high) where all others lie. Pass "
      "fill_values=, value_range= or\nwhole_range=True to compress().");
}

nb::object exception_of(const Error& error) {
  // Messages may quote hostile bytes.
  const nb::object message = nb::steal(PyUnicode_DecodeUTF8(
      error.message.data(), static_cast<Py_ssize_t>(error.message.size()), "backslashreplace"));
  if (!message.is_valid()) nb::raise_python_error();
  return class_of(error.code)(message);
}

void raise(const Error& error) {
  const nb::object exception = exception_of(error);
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
  nb::raise_python_error();
}

void raise_type_error(const std::string& message) {
  throw nb::type_error(message.c_str());
}

}  // namespace tensorpress::python
