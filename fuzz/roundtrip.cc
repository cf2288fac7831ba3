// A tensor, a codec and a bound from a fuzzer's bytes. What compresses decompresses, in every way
// of reading; the bound holds for every element in its own type, special and fill values come back
// bit for bit, zeros stay zeros, the stream tells no smaller error than there is, and compressing
// again gives the same bytes. The bound is worked out here again from the elements alone: a limit
// that the library got wrong, and keeps, is found too.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/tensor/stored_value.h"
#include "base/text.h"
#include "inputs/must.h"
#include "inputs/streams.h"
#include "inputs/tensor_case.h"

namespace tensorpress::fuzz {
namespace {

template <class T>
T element(const Tensor& tensor, std::size_t i) {
  T value;
  std::memcpy(&value, tensor.bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

bool is_fill(const TensorCase& made, double value) {
  return std::ranges::any_of(made.options.fill_values, [&](double each) {
    return value == as_stored(each, made.tensor.dtype);
  });
}

/// What the bound means for these elements, up to the rounding of long doubles.
template <class T>
struct Promise {
  Promise(const TensorCase& made, double stored_limit) : bound(made.options.bound) {
    long double low = HUGE_VALL, high = -HUGE_VALL;
    for (std::size_t i = 0; i < made.tensor.shape.element_count(); ++i) {
      const double x = to_double(element<T>(made.tensor, i));
      if (!std::isfinite(x) || is_fill(made, x)) continue;
      low = std::min<long double>(low, x);
      high = std::max<long double>(high, x);
    }
    range = high > low ? high - low : 0;
    limit = stored_limit;
    if (!bound) return;
    if (bound->kind() == Bound::Kind::absolute) limit = bound->value();
    if (bound->kind() == Bound::Kind::relative) limit = bound->value() * range * (1 + 0x1p-61L);
  }

  long double allowed(double x) const {
    const bool pointwise = bound->kind() == Bound::Kind::pointwise_relative;
    return pointwise ? static_cast<long double>(bound->value()) * std::fabs(x) : limit;
  }
  /// Of the mean square of errors, each over the range.
  bool keeps_psnr(long double mean_square) const {
    if (!bound || bound->kind() != Bound::Kind::psnr || mean_square == 0) return true;
    return range > 0 && -10 * std::log10(mean_square) >= bound->value() - 1e-9L;
  }

  std::optional<Bound> bound;
  long double range = 0, limit = 0;
};

struct Difference {
  long double squared = 0;  // over finite elements
  bool unknown = false;     // something is not finite, or the sum is not
};

template <class T>
Difference compare(const TensorCase& made, const Tensor& copy, double stored_limit) {
  const Promise<T> promise(made, stored_limit);
  Difference difference;
  long double squares_of_range = 0, ordinary = 0;
  for (std::size_t i = 0; i < made.tensor.shape.element_count(); ++i) {
    const T before = element<T>(made.tensor, i), after = element<T>(copy, i);
    const double x = to_double(before), y = to_double(after);
    const long double error = std::fabs(static_cast<long double>(x) - y);
    const bool same_bits = std::memcmp(&before, &after, sizeof(T)) == 0, fill = is_fill(made, x);
    if (!std::isfinite(x) || !std::isfinite(y))
      difference.unknown = difference.unknown || !same_bits;
    else
      difference.squared += error * error;
    if (!promise.bound && !fill) continue;
    const auto where = [&] {
      return text(made.to_string(), ": element ", i, ", ", x, " came back as ", y);
    };
    if (fill || !std::isfinite(x)) {
      must(same_bits, [&] { return where() + ", a special value"; });
      continue;
    }
    must(x != 0 || y == 0, where);
    must(error <= promise.allowed(x),
         [&] { return text(where(), ", allowed ", static_cast<double>(promise.allowed(x))); });
    const long double share = promise.range > 0 ? error / promise.range : error;
    squares_of_range += share * share;
    ++ordinary;
  }
  if (ordinary > 0) {
    must(promise.keeps_psnr(squares_of_range / ordinary),
         [&] { return made.to_string() + ": its PSNR is lower than that"; });
  }
  return difference;
}

Difference compare_elements(const TensorCase& made, const Tensor& copy, double limit) {
  switch (made.tensor.dtype) {
    case DType::f64:
      return compare<double>(made, copy, limit);
    case DType::f16:
      return compare<F16Bits>(made, copy, limit);
    case DType::bf16:
      return compare<Bf16Bits>(made, copy, limit);
    case DType::u8:
      return compare<std::uint8_t>(made, copy, limit);
    case DType::i16:
      return compare<std::int16_t>(made, copy, limit);
    default:
      return compare<float>(made, copy, limit);
  }
}

void check(const TensorCase& made) {
  const auto stream = compress(made.tensor.view(), made.codec, made.options);
  if (!stream.ok()) return must_explain(stream.error());
  const auto again = compress(made.tensor.view(), made.codec, made.options);
  must(again.ok() && *again == *stream, made.to_string() + ": a second compression differs");

  const auto info = read_info(*stream);
  must(info.ok(), made.to_string() + ": its stream has no header");
  must(info->shape == made.tensor.shape && info->dtype == made.tensor.dtype,
       made.to_string() + ": another header");
  const auto copy = read_in_memory(*stream);
  must(copy.ok(), made.to_string() + ": " + (copy.ok() ? "" : copy.error().message));
  const auto as_file = read_as_file(*stream), as_pipe = read_as_pipe(*stream);
  must(as_file.ok() && as_file->bytes == copy->bytes,
       made.to_string() + ": a file reads otherwise");
  must(as_pipe.ok() && as_pipe->bytes == copy->bytes,
       made.to_string() + ": a pipe reads otherwise");

  const double limit = info->codec.kept_bound() ? info->codec.kept_bound()->limit : 0;
  const Difference difference = compare_elements(made, *copy, limit);
  const auto told = info->statistic("l2_error");
  must(told.has_value(), made.to_string() + ": no l2_error");
  if (difference.unknown || !std::isfinite(difference.squared)) return;
  const auto measured = static_cast<double>(std::sqrt(difference.squared));
  must(measured <= *told * (1 + 1e-9), [&] {
    return text(made.to_string(), ": l2_error ", *told, " told, ", measured, " measured");
  });
}

}  // namespace
}  // namespace tensorpress::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tensorpress::fuzz::ByteTaker bytes(data, size);
  tensorpress::fuzz::check(tensorpress::fuzz::take_tensor_case(bytes));
  return 0;
}
