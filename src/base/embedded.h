// A file of the tree that is part of the program: tensorpress_embed of cmake/TensorpressEmbed.cmake
// makes these.
#pragma once

#include <string_view>

namespace tensorpress {

struct EmbeddedFile {
  std::string_view name;  // without its folder and ending, or with the folder: portable/storing
  std::string_view text;
};

}  // namespace tensorpress
