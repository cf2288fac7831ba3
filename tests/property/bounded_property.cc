// Properties of every error-bounded codec over hostile values: the bound holds for every element in
// its own type, special values and fill values come back bit for bit, zeros as zeros, and bytes
// depend on nothing but the input. 100 arrays a case: a thousand cases are 10^5 arrays.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/tensor/elements.h"
#include "property/with_isa.h"
#include "tensorpress/stream.h"

namespace tensorpress {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kArraysPerCase = 2;
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr int kArraysPerCase = 2;
#  else
constexpr int kArraysPerCase = 100;
#  endif
#else
constexpr int kArraysPerCase = 100;
#endif

class Hostile {
 public:
  explicit Hostile(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  double symmetric() { return 2 * unit() - 1; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

  Shape shape() {
    static constexpr std::uint64_t kLengths[] = {0,  1,  2,   15,  16,  17,  31,   32,   33,
                                                 63, 97, 127, 211, 509, 997, 2048, 4093, 4096};
    // Long arrays are rare, so that 10^5 of them take minutes and not hours.
    const std::uint64_t length = kLengths[below(one_in(12) ? std::size(kLengths) : 13)];
    switch (below(4)) {
      case 0: {
        const std::uint64_t rows = 1 + below(12);
        return Shape{rows, length / rows};
      }
      case 1: {
        const std::uint64_t planes = 1 + below(5), rows = 1 + below(7);
        return Shape{planes, rows, length / planes / rows};
      }
      case 2:
        return one_in(10) ? Shape{} : Shape{1, length, 1, 1};
      default:
        return Shape{length};
    }
  }

  // Values of one of the distributions that break compressors.
  std::vector<double> values(std::size_t count) {
    std::vector<double> out(count);
    const std::uint64_t kind = below(14);
    const double scale = std::pow(10.0, 30 * symmetric());
    double walk = symmetric();
    for (std::size_t i = 0; i < count; ++i) {
      const auto x = static_cast<double>(i);
      walk += symmetric();
      out[i] = distribution(kind, x, scale, walk);
    }
    if (one_in(3)) sprinkle(out);
    return out;
  }

 private:
  double distribution(std::uint64_t kind, double x, double scale, double walk) {
    switch (kind) {
      case 0:
        return scale;
      case 1:
        return x * scale;
      case 2:
        return one_in(20) ? 1e6 * symmetric() : 0;
      case 3:
        return one_in(2) ? 1e30 * symmetric() : 1e-30 * symmetric();
      case 4:
        return symmetric() * static_cast<double>(std::numeric_limits<float>::denorm_min()) * 1e3;
      case 5:
        return (one_in(2) ? 1 : -1) * std::pow(10.0, 38 * symmetric());
      case 6:
        return 287 + 2 * unit();
      case 7:
        return walk * scale;
      case 8:
        return scale * std::sin(x / 7) * std::cos(x / 131);
      case 9:
        return one_in(2) ? 0.0 : (one_in(2) ? -0.0 : symmetric());
      case 10:
        return 1e8 + x;
      case 11:
        return std::fmod(x, 40) < 20 ? 0 : 300 + std::sin(x / 9);
      case 12:
        return std::floor(8 * unit());
      default:
        return symmetric() * scale;
    }
  }

  void sprinkle(std::vector<double>& out) {
    const std::uint64_t rarity = 1 + below(40);
    const bool fills = one_in(2), runs = one_in(2);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (!one_in(rarity)) continue;
      const double special = fills       ? -1e34
                             : one_in(3) ? std::numeric_limits<double>::infinity()
                             : one_in(2) ? -std::numeric_limits<double>::infinity()
                                         : std::numeric_limits<double>::quiet_NaN();
      const std::size_t length = runs ? below(60) : 1;
      for (std::size_t j = 0; j < length && i < out.size(); ++j) out[i++] = special;
    }
  }

  std::mt19937_64 random_;
};

struct Sample {
  Tensor tensor;
  Codec codec;
  CompressOptions options;
};

// NaNs get payloads, so that a decoder that makes its own is found out.
void give_nan_payloads(Tensor& tensor, Hostile& hostile) {
  if (tensor.dtype != DType::f32) return;
  for (std::size_t i = 0; i < tensor.bytes.size(); i += 4) {
    float value;
    std::memcpy(&value, tensor.bytes.data() + i, 4);
    if (!std::isnan(value)) continue;
    const std::uint32_t bits = 0x7fc00000u | static_cast<std::uint32_t>(hostile.below(1 << 20));
    std::memcpy(tensor.bytes.data() + i, &bits, 4);
  }
}

std::vector<Codec> bounded_codecs() {
  std::vector<Codec> all;
  for (const CodecInfo& info : codecs()) {
    if (!info.error_bounded) continue;
    all.push_back(Codec::make(info.name).value());
    for (const ParameterInfo& parameter : info.parameters) {
      if (parameter.name == "effort") {
        const Parameter fast[] = {{"effort", "fast"}};
        all.push_back(Codec::make(info.name, fast).value());
      }
    }
  }
  return all;
}

Sample make_sample(std::uint64_t seed) {
  static const std::vector<Codec> kCodecs = bounded_codecs();
  Hostile hostile(seed);
  const DType dtype = std::array{DType::f32, DType::f32, DType::f32,
                                 DType::f64, DType::f16, DType::bf16}[hostile.below(6)];
  const Shape shape = hostile.shape();
  const auto values = hostile.values(static_cast<std::size_t>(shape.element_count()));
  Tensor tensor{std::vector<std::byte>(values.size() * size_of(dtype)), dtype, shape};
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::byte* const to = tensor.bytes.data() + i * size_of(dtype);
    if (dtype == DType::f64) {
      std::memcpy(to, &values[i], sizeof(double));
    } else {
      const float value = narrowed(values[i]);
      store_elements(dtype, &value, to, 0, 1);
    }
  }
  give_nan_payloads(tensor, hostile);
  Sample sample{std::move(tensor), kCodecs[hostile.below(kCodecs.size())], {}};
  // Making a codebook takes longer than all the rest.
  if (sample.codec.name() == "ceresz2" && hostile.one_in(50)) {
    const Parameter dynamic[] = {{"codebook", "dynamic"}};
    sample.codec = Codec::make("ceresz2", dynamic).value();
  }
  const double error = std::pow(10.0, -12 * hostile.unit());
  switch (hostile.below(8)) {
    case 0:
      sample.options.bound = Bound::absolute(hostile.one_in(8) ? 0 : error);
      break;
    case 1:
      sample.options.bound = Bound::absolute(std::pow(10.0, 40 * hostile.symmetric()));
      break;
    case 2:
      sample.options.bound = Bound::pointwise_relative(error * 0.99);
      break;
    default:
      sample.options.bound = Bound::relative(std::pow(10.0, -6 * hostile.unit()));
  }
  if (hostile.one_in(2)) sample.options.fill_values = {-1e34};
  sample.options.whole_range = true;  // half of the samples leave their fill value unnamed
  return sample;
}

template <class T>
T element(const Tensor& tensor, std::size_t i) {
  T value;
  std::memcpy(&value, tensor.bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

// "" or what is wrong with the copy.
template <class T>
std::string fault(const Sample& sample, const Tensor& copy, double limit) {
  const bool pointwise = sample.options.bound->kind() == Bound::Kind::pointwise_relative;
  for (std::size_t i = 0; i < sample.tensor.shape.element_count(); ++i) {
    const T before = element<T>(sample.tensor, i), after = element<T>(copy, i);
    const double x = to_double(before), y = to_double(after);
    bool exact = !std::isfinite(x);
    for (const double fill : sample.options.fill_values) {
      T stored;
      if constexpr (std::is_same_v<T, double>) {
        stored = fill;
      } else {
        from_float(narrowed(fill), stored);
      }
      exact = exact || x == to_double(stored);
    }
    if (exact) {
      if (std::memcmp(&before, &after, sizeof(T)) != 0) return "a special value changed";
      continue;
    }
    if (x == 0 && y != 0) return "a zero did not stay zero";
    const double allowed = pointwise ? sample.options.bound->value() * std::fabs(x) : limit;
    if (!(std::fabs(x - y) <= allowed)) {
      return "element " + std::to_string(i) + ": " + std::to_string(x) + " came back as " +
             std::to_string(y) + ", allowed " + std::to_string(allowed);
    }
  }
  return "";
}

std::string fault_of(const Sample& sample, const Tensor& copy, double limit) {
  switch (sample.tensor.dtype) {
    case DType::f64:
      return fault<double>(sample, copy, limit);
    case DType::f16:
      return fault<F16Bits>(sample, copy, limit);
    case DType::bf16:
      return fault<Bf16Bits>(sample, copy, limit);
    default:
      return fault<float>(sample, copy, limit);
  }
}

std::string described(std::uint64_t seed, const Sample& sample) {
  return "seed " + std::to_string(seed) + ", " + sample.codec.name() + " " +
         std::string(sample.codec.parameter("effort")) + ", " +
         std::string(name_of(sample.tensor.dtype)) + " " + sample.tensor.shape.to_string() + ", " +
         sample.options.bound->to_string() + ": ";
}

RC_GTEST_PROP(BoundedProperty, TheBoundHoldsForEveryElementAndSpecialValuesAreExact, ()) {
  const auto first = *rc::gen::arbitrary<std::uint32_t>();
  for (int i = 0; i < kArraysPerCase; ++i) {
    const std::uint64_t seed = (std::uint64_t{first} << 8) + static_cast<std::uint64_t>(i);
    const Sample sample = make_sample(seed);
    const std::string name = described(seed, sample);
    const auto stream = compress(sample.tensor.view(), sample.codec, sample.options);
    if (!stream.ok()) RC_FAIL(name + stream.error().message);
    const auto again = compress(sample.tensor.view(), sample.codec, sample.options);
    if (!again.ok() || *again != *stream) RC_FAIL(name + "a second compression differs");
    const auto copy = decompress(*stream);
    if (!copy.ok()) RC_FAIL(name + copy.error().message);
    const auto info = read_info(*stream);
    const double limit = std::strtod(std::string(info->codec.parameter("limit")).c_str(), nullptr);
    const std::string wrong = fault_of(sample, *copy, limit);
    if (!wrong.empty()) RC_FAIL(name + wrong);
    if (info->payload_bytes > sample.tensor.bytes.size()) RC_FAIL(name + "it grew");
  }
}

RC_GTEST_PROP(BoundedProperty, BytesDependOnNothingButTheInput, ()) {
  const std::uint64_t seed = *rc::gen::arbitrary<std::uint32_t>();
  Sample sample = make_sample(seed);
  Shape chunk = sample.tensor.shape;
  for (std::size_t axis = 0; axis < chunk.rank(); ++axis) {
    chunk[axis] = std::clamp<std::uint64_t>(chunk[axis] / 2, 1, 700);
  }
  sample.options.chunk_shape = chunk;
  const auto bytes_with = [&](std::size_t threads) {
    sample.options.threads = threads;
    const auto bytes = compress(sample.tensor.view(), sample.codec, sample.options);
    RC_ASSERT(bytes.ok());
    return *bytes;
  };
  const auto expected = bytes_with(1);
  RC_ASSERT(bytes_with(2) == expected);
  RC_ASSERT(bytes_with(7) == expected);
  const auto decoded = decompress(expected)->bytes;
  RC_ASSERT(decompress(expected, {.threads = 7})->bytes == decoded);
  for (const Isa isa : usable_isas()) {
    const WithIsa capped(isa);
    if (bytes_with(1) != expected) RC_FAIL(described(seed, sample) + std::string(name_of(isa)));
    RC_ASSERT(decompress(expected)->bytes == decoded);
  }
}

}  // namespace
}  // namespace tensorpress
