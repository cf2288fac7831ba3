#include "inputs/tensor_case.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>

#include "base/errors.h"
#include "base/tensor/elements.h"

namespace tensorpress::fuzz {
namespace {

constexpr std::uint64_t kMostElements = 4096;

/// How elements follow from the bytes that are left.
enum class Texture : std::uint8_t { bits, small_steps, waves, constant_runs, count };

class Elements {
 public:
  Elements(Texture texture, std::span<const std::byte> bytes, double scale, double offset)
      : texture_(texture), bytes_(bytes), scale_(scale), offset_(offset) {}

  double next(std::size_t i) {
    const double byte = bytes_.empty() ? 0 : std::to_integer<int>(bytes_[i % bytes_.size()]);
    switch (texture_) {
      case Texture::small_steps:
        walk_ += byte - 128;
        return offset_ + walk_ * scale_;
      case Texture::waves:
        return offset_ + scale_ * (300 * std::sin(static_cast<double>(i) / 17) + byte / 64);
      default:
        if (i % 29 == 0) walk_ = byte;
        return offset_ + walk_ * scale_;
    }
  }
  /// The bytes themselves, over and over.
  void raw(std::span<std::byte> into) const {
    for (std::size_t i = 0; i < into.size(); ++i) {
      into[i] = bytes_.empty() ? std::byte{0} : bytes_[i % bytes_.size()];
    }
  }

 private:
  Texture texture_;
  std::span<const std::byte> bytes_;
  double scale_, offset_, walk_ = 0;
};

double finite_or(double value, double other) {
  return std::isfinite(value) ? value : other;
}

/// A number at which things happen: any float, or a power of ten.
double take_number(ByteTaker& bytes) {
  if (bytes.flag()) return static_cast<double>(bytes.take<float>());
  return std::pow(10.0, bytes.take<std::int8_t>() / 4.0);
}

Tensor take_tensor(ByteTaker& bytes, DType dtype, const Shape& shape, double fill) {
  Tensor tensor{.dtype = dtype, .shape = shape};
  const auto count = static_cast<std::size_t>(shape.element_count());
  tensor.bytes.resize(count * size_of(dtype));
  const auto texture = static_cast<Texture>(bytes.below(static_cast<std::size_t>(Texture::count)));
  const std::size_t fills_every = bytes.below(64), specials_every = bytes.below(128);
  const double scale = finite_or(take_number(bytes), 1), offset = finite_or(take_number(bytes), 0);
  Elements elements(texture, bytes.rest(), scale, offset);
  if (texture == Texture::bits || dtype == DType::u8 || dtype == DType::i16) {
    elements.raw(tensor.bytes);
    return tensor;
  }
  for (std::size_t i = 0; i < count; ++i) {
    double value = elements.next(i);
    if (fills_every > 32 && i % fills_every == 0) value = fill;
    if (specials_every > 96 && i % specials_every == 0)
      value = i % 2 == 0 ? HUGE_VAL : std::nan("");
    std::byte* const to = tensor.bytes.data() + i * size_of(dtype);
    if (dtype == DType::f64) {
      std::memcpy(to, &value, sizeof value);
    } else {
      const float narrow = narrowed(value);
      store_elements(dtype, &narrow, to, 0, 1);
    }
  }
  return tensor;
}

std::string take_choice(ByteTaker& bytes, const ParameterInfo& info) {
  // Small tables by hand where `choices` is a range and not a list.
  if (info.name == "cf") return std::to_string(1 + bytes.below(8));
  if (info.name == "serialize") return std::to_string(1 + bytes.below(3));
  if (info.name == "group") return std::to_string(32 * (1 + bytes.below(64)));
  if (info.name == "seed") return std::to_string(bytes.take<std::uint64_t>());
  if (info.name == "codebook") return bytes.below(16) == 0 ? "dynamic" : "default";
  std::array<std::string_view, 8> options{};
  std::size_t count = 0;
  for (std::string_view left = info.choices; count < options.size();) {
    const std::size_t end = left.find('|');
    options[count++] = left.substr(0, end);
    if (end == std::string_view::npos) break;
    left = left.substr(end + 1);
  }
  return std::string(options[bytes.below(count)]);
}

Bound take_bound(ByteTaker& bytes) {
  constexpr std::array kKinds = {Bound::Kind::absolute,           Bound::Kind::relative,
                                 Bound::Kind::pointwise_relative, Bound::Kind::psnr,
                                 Bound::Kind::relative,           Bound::Kind::ratio};
  const auto kind = bytes.one_of(kKinds);
  if (kind == Bound::Kind::psnr)
    return Bound::psnr(static_cast<double>(bytes.take<std::uint8_t>()));
  if (kind == Bound::Kind::ratio) return Bound::ratio(1 + bytes.take<std::uint8_t>() / 4.0);
  return {kind, take_number(bytes)};
}

DType take_dtype(ByteTaker& bytes) {
  constexpr std::array kTypes = {DType::f32, DType::f64, DType::f16, DType::bf16,
                                 DType::u8,  DType::i16, DType::f32};
  return bytes.one_of(kTypes);
}

Shape take_shape(ByteTaker& bytes, std::uint64_t most) {
  std::array<std::uint64_t, kMaxRank> extents{};
  const std::size_t rank = bytes.below(kMaxRank + 1);
  std::uint64_t count = 1;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    // The extents of real tensors: some long, many short.
    const std::uint64_t wanted =
        bytes.flag() ? bytes.take<std::uint16_t>() % 2048 : bytes.below(24);
    extents[axis] = std::min(wanted, most / std::max<std::uint64_t>(count, 1));
    count *= std::max<std::uint64_t>(extents[axis], 1);
  }
  return Shape::make(std::span(extents).first(rank)).value();
}

Codec take_codec(ByteTaker& bytes) {
  const auto all = codecs();
  const CodecInfo& info = all[bytes.below(all.size())];
  std::vector<Parameter> parameters;
  for (const ParameterInfo& parameter : info.parameters) {
    if (!parameter.from_data && bytes.flag()) {
      parameters.push_back({std::string(parameter.name), take_choice(bytes, parameter)});
    }
  }
  auto codec = Codec::make(info.name, parameters);  // not all combinations are allowed
  return codec.ok() ? std::move(*codec) : Codec::make(info.name).value();
}

}  // namespace

TensorCase take_tensor_case(ByteTaker& bytes) {
  const DType dtype = take_dtype(bytes);
  const Shape shape = take_shape(bytes, kMostElements);
  Codec codec = take_codec(bytes);
  CompressOptions options;
  if (bytes.flag()) {
    Shape chunk = shape;
    for (std::size_t axis = 0; axis < chunk.rank(); ++axis) {
      chunk[axis] = 1 + bytes.take<std::uint16_t>() % std::max<std::uint64_t>(chunk[axis], 1);
    }
    options.chunk_shape = chunk;
  }
  const auto all = codecs();
  const auto info = std::ranges::find(all, std::string_view(codec.name()), &CodecInfo::name);
  if (info->error_bounded) options.bound = take_bound(bytes);
  const double fill = bytes.flag() ? -1e34 : take_number(bytes);
  if (bytes.flag()) options.fill_values = {fill};
  options.whole_range = true;  // an unnamed fill value is an ordinary number here
  return {take_tensor(bytes, dtype, shape, fill), std::move(codec), std::move(options)};
}

std::string TensorCase::to_string() const {
  std::string parameters;
  for (const Parameter& parameter : codec.parameters()) {
    parameters += text(" ", parameter.name, "=", parameter.value.substr(0, 40));
  }
  return text(codec.name(), parameters, ", ", name_of(tensor.dtype), " ", tensor.shape.to_string(),
              ", ", options.bound ? options.bound->to_string() : std::string("no bound"), ", ",
              options.fill_values.size(), " fill values, chunks ",
              options.chunk_shape ? options.chunk_shape->to_string() : std::string("chosen"));
}

}  // namespace tensorpress::fuzz
