// What both versions of the .tpz format (docs/format.md) share: the first bytes, what a header
// says, and the caps on what a reader allocates. `compact/` is version 2, which is written;
// `framed/` is version 1, which is read. Parsers take hostile bytes: they check every size before
// they allocate and never read past the span they are given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "tensorpress/codec.h"
#include "tensorpress/result.h"
#include "tensorpress/stream.h"

namespace tensorpress::stream {

/// Magic and version; version 1 has four zeros behind them.
inline constexpr std::size_t kPrologueBytes = 12;

// Caps on what a reader allocates on a stream's word alone.
inline constexpr std::uint64_t kMaxHeadBytes = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kMaxAttributeBytes = std::uint64_t{1} << 24;
inline constexpr std::uint64_t kMaxStatisticsBytes = std::uint64_t{1} << 20;

struct Header {
  Codec codec;
  DType dtype = DType::f32;
  Shape shape;
  Shape chunk_shape;
};

/// The version of the stream that begins like this: 1 or 2.
Result<unsigned> parse_prologue(std::span<const std::byte, kPrologueBytes> bytes);
/// Of version 2.
void encode_prologue(std::span<std::byte, kPrologueBytes> to);

/// A codec as a header names it.
Result<Codec> codec_of_header(const std::string& name, std::span<const Parameter> parameters);
/// Strides of an empty tensor must fit in 63 bits too, so a zero extent counts as one.
Result<void> check_tensor_size(const Shape& shape, DType dtype);
Result<void> expect_end(const ByteReader& reader);
/// The checksum was right, so a part of a stream that ends too early contradicts itself.
Error in_section(std::string_view what, const Error& error);
/// For a stream whose last bytes are not its end mark.
Error no_end_mark();
/// What is stored must be UTF-8, and what is read.
Result<void> check_storable(std::string_view value);
Result<std::string> checked_text(std::string value, const ByteReader& reader);

}  // namespace tensorpress::stream
