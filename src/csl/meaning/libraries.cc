// The libraries that are part of the compiler: src/csl/libraries, embedded.
#include <span>

#include "base/embedded.h"
#include "csl/meaning/compilation.h"

namespace tensorpress::csl {

extern const std::span<const EmbeddedFile> kLibraryFiles;

const char* library_text(std::string_view name) {
  for (const EmbeddedFile& file : kLibraryFiles) {
    if (file.name == name) return file.text.data();
  }
  return nullptr;
}

}  // namespace tensorpress::csl
