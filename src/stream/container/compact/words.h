// Texts of a stream of version 2. Names that most streams have cost a byte:
//
//   0 to 127     so many bytes of UTF-8 follow
//   128 to 253   word number 0 to 125 of the list in words.cc
//   254          an f64 follows: the shortest decimal number that gives it
//   255          a u16 follows, and so many bytes of UTF-8
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace tensorpress::stream::compact {

/// Part of the format: words are added at the end, and none is changed.
std::span<const std::string_view> words();

/// At most 65535 bytes.
Result<void> write_word(ByteWriter& writer, std::string_view value);
Result<std::string> read_word(ByteReader& reader);

}  // namespace tensorpress::stream::compact
