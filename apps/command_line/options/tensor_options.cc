#include "command_line/options/tensor_options.h"

#include <algorithm>
#include <thread>

#include "base/errors.h"
#include "command_line/inputs/paths.h"
#include "command_line/inputs/stream_file.h"
#include "files/tensor/raw_format.h"

namespace tensorpress::cli {
namespace {

constexpr std::size_t kMaxThreads = 1024;

Result<Shape> parsed_shape(const std::string& text) {
  return text == "scalar" ? Result<Shape>(Shape()) : Shape::parse(text);
}

}  // namespace

void RawFormatOptions::declare(Arguments& arguments) {
  arguments
      .word(
          "--shape", [this](const std::string& value) { shape_ = value; },
          "shape of a raw file, slowest axis first")
      .shown_as("20x180x360")
      .group("Raw input");
  arguments
      .word(
          "--dtype", [this](const std::string& value) { dtype_ = value; },
          "element type of a raw file; also as NumPy has it, '>f4' for big-endian")
      .shown_as("f32|f64|f16|bf16|u8|i16")
      .group("Raw input");
}

Result<std::optional<files::RawFormat>> RawFormatOptions::format() const {
  if (!shape_ && !dtype_) return std::optional<files::RawFormat>();
  if (!shape_)
    return bad_argument("--dtype needs --shape beside it: a raw file does not say its own, unless ",
                        "its name does (field_20x180x360.f32)");
  if (!dtype_)
    return bad_argument("--shape needs --dtype beside it: a raw file does not say its own, unless ",
                        "its name does (field.f32)");
  TRY(const Shape shape, parsed_shape(*shape_));
  TRY(const auto type, files::parse_stored_type(*dtype_));
  return std::optional(files::RawFormat{shape, type.dtype, type.big_endian});
}

Result<std::optional<files::RawFormat>> RawFormatOptions::format_of(const std::string& path) const {
  if (is_pipe(path) || (shape_ && dtype_) || is_npy_file(path)) return format();
  if (shape_) {
    const auto dtype = files::dtype_of_name(path);
    if (!dtype) return format();
    TRY(const Shape shape, parsed_shape(*shape_));
    return std::optional(files::RawFormat{shape, *dtype});
  }
  std::optional<files::StoredType> type;
  if (dtype_) {
    TRY(type, files::parse_stored_type(*dtype_));
  }
  auto named = files::raw_format_of_file(path, type);
  return named ? named : format();
}

void ThreadsOption::declare(Arguments& arguments, std::size_t threads) {
  threads_ = threads > 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
  arguments.option("--threads", threads_, "how many threads work; the bytes are the same")
      .count_between(1, kMaxThreads)
      .shown_as(threads > 0 ? text("N (", threads, ")") : "N (all cores)");
}

}  // namespace tensorpress::cli
