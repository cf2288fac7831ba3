// The device files of data/, which the build puts into the program (src/CMakeLists.txt).
#pragma once

#include <span>

#include "base/embedded.h"

namespace tensorpress::devices {

extern const std::span<const EmbeddedFile> kDeviceFiles;

}  // namespace tensorpress::devices
