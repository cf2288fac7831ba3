// The C++ library behind C functions that ctypes can call, each of which returns the seconds of CPU
// time that one call of the library took, or a negative number if it failed. For
// bench/python_overhead.py.
#include <time.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "tensorpress/stream.h"

namespace {

using tensorpress::Bound;
using tensorpress::Codec;
using tensorpress::CompressOptions;
using tensorpress::DType;
using tensorpress::Shape;

// Of this thread, in the program and in the kernel.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// "" for codecs of a fixed rate, else as in Bound::parse.
CompressOptions options_of(const char* bound) {
  CompressOptions options;
  if (std::strlen(bound) > 0) {
    const auto parsed = Bound::parse(bound);
    if (parsed.ok()) options.bound = *parsed;
  }
  return options;
}

}  // namespace

extern "C" {

/// Into the caller's memory, which stays warm from call to call.
double seconds_to_compress(const char* codec, const char* bound, const std::byte* values,
                           std::uint64_t planes, std::uint64_t rows, std::uint64_t columns,
                           std::byte* output, std::uint64_t room, std::uint64_t* length) {
  const auto made = Codec::make(codec);
  if (!made.ok()) return -1;
  const auto view =
      tensorpress::TensorView::contiguous(values, DType::f32, Shape{planes, rows, columns});
  const double began = cpu_seconds();
  const auto done =
      tensorpress::Compressor(*made, options_of(bound)).compress(view, std::span(output, room));
  const double seconds = cpu_seconds() - began;
  *length = done.ok() ? *done : 0;
  return done.ok() ? seconds : -1;
}

/// The call for most people: memory of its own for the stream.
double seconds_to_compress_in_one_call(const char* codec, const char* bound,
                                       const std::byte* values, std::uint64_t planes,
                                       std::uint64_t rows, std::uint64_t columns) {
  const auto made = Codec::make(codec);
  if (!made.ok()) return -1;
  const auto view =
      tensorpress::TensorView::contiguous(values, DType::f32, Shape{planes, rows, columns});
  const double began = cpu_seconds();
  const auto done = tensorpress::compress(view, *made, options_of(bound));
  const double seconds = cpu_seconds() - began;
  return done.ok() ? seconds : -1;
}

double seconds_to_decompress(const std::byte* stream, std::uint64_t length, std::byte* values,
                             std::uint64_t planes, std::uint64_t rows, std::uint64_t columns) {
  const auto view =
      tensorpress::MutableTensorView::contiguous(values, DType::f32, Shape{planes, rows, columns});
  const double began = cpu_seconds();
  const auto done = tensorpress::Decompressor().decompress(std::span(stream, length), view);
  const double seconds = cpu_seconds() - began;
  return done.ok() ? seconds : -1;
}

double seconds_to_decompress_in_one_call(const std::byte* stream, std::uint64_t length) {
  const double began = cpu_seconds();
  const auto done = tensorpress::decompress(std::span(stream, length));
  const double seconds = cpu_seconds() - began;
  return done.ok() ? seconds : -1;
}

}  // extern "C"
