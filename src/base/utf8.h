// Texts in streams and files are UTF-8: checked when written and when read, so that nothing
// downstream (JSON, terminals, other languages) has to.
#pragma once

#include <string_view>

namespace tensorpress {

/// Well-formed UTF-8 (Unicode 15, Table 3-7): no overlong forms, no surrogates, up to U+10FFFF.
bool is_utf8(std::string_view text);

}  // namespace tensorpress
