// levels.toml: what the levels mean, which the build puts into the program (src/CMakeLists.txt).
// tensorpress.torch reads the same file.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/embedded.h"
#include "model/policy/policy.h"

namespace tensorpress::model {

/// levels.toml.
extern const std::span<const EmbeddedFile> kLevelFiles;

struct Levels {
  std::vector<Policy> policies;  // one a level, in the order of the file
  Storing small_planes;          // instead of dct-chop
  std::vector<Storing> ladder;   // from mild to strong
  std::vector<Storing> between;  // the steps of the ladder
  Storing one_bit;               // only on request
};

Result<Levels> parse_levels(std::string_view text);
/// Those of levels.toml.
const Levels& levels();

}  // namespace tensorpress::model
