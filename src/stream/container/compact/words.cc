#include "stream/container/compact/words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/errors.h"
#include "stream/container/format.h"

namespace tensorpress::stream::compact {
namespace {

constexpr std::uint8_t kFirstWord = 128, kNumber = 254, kLongText = 255;
constexpr std::size_t kNumberBytes = 8;

// clang-format off
constexpr std::array<std::string_view, 50> kWords = {
    // codecs
    "dense", "ceresz2", "ceresz", "dct-chop", "quantize", "cast", "mask",
    // their parameters
    "bound", "limit", "fill", "effort", "codebook", "cf", "layout", "transform", "coefficients", "form", "serialize",
    "bits", "group", "rounding", "seed", "to",
    // values of these
    "normal", "best", "fast", "default", "square", "triangle", "dct", "zfp", "f32", "bf16", "f16", "e4m3", "e5m2", "block", "matmul",
    "nearest", "stochastic", "1", "2", "4", "8",
    // statistics, attributes
    "l2_error", "raw_chunks", "netcdf", "tensorpress_history", "units", "long_name"};
// clang-format on
static_assert(kWords.size() <= kNumber - kFirstWord);

// Where the text is exactly what we write for a number.
std::optional<double> number_of(std::string_view value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) return std::nullopt;
  if (!std::isfinite(number) || text(number) != value) return std::nullopt;
  return number;
}

}  // namespace

std::span<const std::string_view> words() {
  return kWords;
}

Result<void> write_word(ByteWriter& writer, std::string_view value) {
  if (const auto word = std::ranges::find(kWords, value); word != kWords.end()) {
    writer.write(static_cast<std::uint8_t>(kFirstWord + (word - kWords.begin())));
    return {};
  }
  if (value.size() > kNumberBytes) {
    if (const auto number = number_of(value)) {
      writer.write(kNumber);
      writer.write_f64(*number);
      return {};
    }
  }
  RETURN_IF_ERROR(check_storable(value));
  if (value.size() >= kFirstWord) {
    writer.write(kLongText);
    return writer.write_string(value);
  }
  writer.write(static_cast<std::uint8_t>(value.size()));
  writer.append(std::as_bytes(std::span(value)));
  return {};
}

Result<std::string> read_word(ByteReader& reader) {
  TRY(const auto first, reader.read<std::uint8_t>());
  if (first == kLongText) {
    TRY(auto value, reader.read_string());
    return checked_text(std::move(value), reader);
  }
  if (first == kNumber) {
    TRY(const double number, reader.read_f64());
    return text(number);
  }
  if (first >= kFirstWord) {
    const std::size_t word = first - kFirstWord;
    if (word >= kWords.size()) {
      return unsupported("it has word ", word, ", and this version knows ", kWords.size());
    }
    return std::string(kWords[word]);
  }
  TRY(const auto bytes, reader.take(first));
  return checked_text(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                      reader);
}

}  // namespace tensorpress::stream::compact
