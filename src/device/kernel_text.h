// The text of kernels as a driver compiles it.
#pragma once

#include <string>
#include <string_view>

namespace tensorpress::device {

/// `source` names a file of kernels/, without its ending; what all files share comes before it.
std::string kernel_text(std::string_view source);

}  // namespace tensorpress::device
