#include "stream/container/format.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/errors.h"
#include "base/utf8.h"
#include "tensorpress/version.h"

namespace tensorpress::stream {
namespace {

// As PNG's: a byte above 127, the name, and line ends that a text-mode copy would change.
constexpr std::array<unsigned char, 8> kMagic = {0x89, 'T', 'P', 'Z', 0x0D, 0x0A, 0x1A, 0x0A};

}  // namespace

Result<unsigned> parse_prologue(std::span<const std::byte, kPrologueBytes> bytes) {
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return corrupt("this is not a .tpz stream: it does not begin with \\x89TPZ");
  }
  const auto version = load_le<std::uint32_t>(bytes.data() + kMagic.size());
  if (version < 1 || version > kFormatVersion) {
    return unsupported("this stream has format version ", version,
                       "; this program reads version 1 to version ", kFormatVersion);
  }
  return unsigned{version};
}

void encode_prologue(std::span<std::byte, kPrologueBytes> to) {
  std::memcpy(to.data(), kMagic.data(), kMagic.size());
  store_le(to.data() + kMagic.size(), std::uint32_t{kFormatVersion});
}

Result<Codec> codec_of_header(const std::string& name, std::span<const Parameter> parameters) {
  auto codec = Codec::make(name, parameters);
  if (!codec.ok()) return unsupported("its codec is of no use here: ", codec.error().message);
  return codec;
}

Result<void> check_tensor_size(const Shape& shape, DType dtype) {
  std::uint64_t elements = 1;
  for (const auto extent : shape.extents()) elements *= std::max<std::uint64_t>(extent, 1);
  if (elements > (std::uint64_t{1} << 62) / size_of(dtype)) {
    return too_large("a tensor of shape ", shape.to_string(), " and type ", name_of(dtype),
                     " has more than 2^62 bytes");
  }
  return {};
}

Result<void> expect_end(const ByteReader& reader) {
  if (reader.remaining() == 0) return {};
  return corrupt(reader.remaining(), " bytes too many");
}

Error in_section(std::string_view what, const Error& error) {
  const ErrorCode code = error.code == ErrorCode::truncated ? ErrorCode::corrupt : error.code;
  return {code, text("the ", what, " is not readable: ", error.message)};
}

Error no_end_mark() {
  return truncated(
      "the stream does not end with its end mark: it was cut off or never finished, or "
      "something follows its end");
}

Result<void> check_storable(std::string_view value) {
  if (is_utf8(value)) return {};
  return bad_argument("'", value, "' cannot be stored: it is not UTF-8");
}

Result<std::string> checked_text(std::string value, const ByteReader& reader) {
  if (!is_utf8(value)) return corrupt("a text before byte ", reader.position(), " is not UTF-8");
  return value;
}

}  // namespace tensorpress::stream
