// A tensor, a codec and a bound from a fuzzer's bytes. What compresses decompresses, in every way
// of reading; the bound holds for every element in its own type, special and fill values come back
// bit for bit, zeros stay zeros, the stream tells no smaller error than there is, and compressing
// again gives the same bytes.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/stored_value.h"
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

struct Difference {
  double squared = 0;    // over finite elements
  bool unknown = false;  // something is not finite, or the sum is not
};

template <class T>
Difference compare(const TensorCase& made, const Tensor& copy, double limit) {
  const auto& bound = made.options.bound;
  const bool pointwise = bound && bound->kind() == Bound::Kind::pointwise_relative;
  Difference difference;
  for (std::size_t i = 0; i < made.tensor.shape.element_count(); ++i) {
    const T before = element<T>(made.tensor, i), after = element<T>(copy, i);
    const double x = to_double(before), y = to_double(after);
    const bool same_bits = std::memcmp(&before, &after, sizeof(T)) == 0;
    const bool fill = std::ranges::any_of(made.options.fill_values, [&](double each) {
      return x == as_stored(each, made.tensor.dtype);
    });
    if (!std::isfinite(x) || !std::isfinite(y))
      difference.unknown = difference.unknown || !same_bits;
    else
      difference.squared += (x - y) * (x - y);
    if (!bound && !fill) continue;
    const auto where = [&] {
      return text(made.to_string(), ": element ", i, ", ", x, " came back as ", y);
    };
    if (fill || !std::isfinite(x)) {
      must(same_bits, [&] { return where() + ", a special value"; });
      continue;
    }
    must(x != 0 || y == 0, where);
    const double allowed = pointwise ? bound->value() * std::fabs(x) : limit;
    must(std::fabs(x - y) <= allowed, [&] { return text(where(), ", allowed ", allowed); });
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

  const double limit = std::strtod(std::string(info->codec.parameter("limit")).c_str(), nullptr);
  const Difference difference = compare_elements(made, *copy, limit);
  const auto told = info->statistic("l2_error");
  must(told.has_value(), made.to_string() + ": no l2_error");
  if (difference.unknown || !std::isfinite(difference.squared)) return;
  must(std::sqrt(difference.squared) <= *told * (1 + 1e-9) + 1e-300,
       text(made.to_string(), ": l2_error ", *told, " is told, ", std::sqrt(difference.squared),
            " is measured"));
}

}  // namespace
}  // namespace tensorpress::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tensorpress::fuzz::ByteTaker bytes(data, size);
  tensorpress::fuzz::check(tensorpress::fuzz::take_tensor_case(bytes));
  return 0;
}
