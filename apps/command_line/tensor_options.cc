#include "tensor_options.h"

#include <algorithm>
#include <thread>

#include "base/errors.h"

namespace tensorpress::cli {
namespace {

constexpr std::size_t kMaxThreads = 1024;

}  // namespace

void RawFormatOptions::declare(CLI::App& app) {
  app.add_option_function<std::string>(
         "--shape", [this](const std::string& value) { shape_ = value; },
         "shape of a raw file, slowest axis first")
      ->option_text("20x180x360")
      ->group("Raw input");
  app.add_option_function<std::string>(
         "--dtype", [this](const std::string& value) { dtype_ = value; },
         "element type of a raw file (little-endian)")
      ->option_text("f32|f64|f16|bf16|u8|i16")
      ->group("Raw input");
}

Result<std::optional<files::RawFormat>> RawFormatOptions::format() const {
  if (!shape_ && !dtype_) return std::optional<files::RawFormat>();
  if (!shape_)
    return bad_argument("--dtype needs --shape beside it: a raw file does not say its own");
  if (!dtype_)
    return bad_argument("--shape needs --dtype beside it: a raw file does not say its own");
  TRY(const Shape shape, *shape_ == "scalar" ? Result<Shape>(Shape()) : Shape::parse(*shape_));
  TRY(const DType dtype, parse_dtype(*dtype_));
  return std::optional(files::RawFormat{shape, dtype});
}

void ThreadsOption::declare(CLI::App& app, std::size_t threads) {
  threads_ = threads > 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
  app.add_option("--threads", threads_, "how many threads work; the bytes are the same")
      ->check(CLI::Range(std::size_t{1}, kMaxThreads))
      ->option_text(threads > 0 ? text("N (", threads, ")") : "N (all cores)");
}

}  // namespace tensorpress::cli
