// Bytes as text (RFC 4648, section 4), for pictures inside a page.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tensorpress::report {

std::string base64(std::span<const std::uint8_t> bytes);

}  // namespace tensorpress::report
