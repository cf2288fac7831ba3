// The style sheet of every page: page.css, which the build puts into the program.
#pragma once

#include <string_view>

namespace tensorpress::report {

extern const std::string_view kPageStyle;

}  // namespace tensorpress::report
