#include "base/shared_library.h"

#include <dlfcn.h>

#include "base/errors.h"

namespace tensorpress {

Result<SharedLibrary> SharedLibrary::open(std::initializer_list<const char*> names,
                                          Symbols symbols) {
  std::string first_error;
  for (const char* name : names) {
    const int scope = symbols == Symbols::shared_with_plugins ? RTLD_GLOBAL : RTLD_LOCAL;
    if (void* const handle = dlopen(name, RTLD_NOW | scope)) return SharedLibrary(handle);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc keeps an error for each thread
    if (first_error.empty()) first_error = dlerror();
  }
  return unsupported(first_error);
}

Result<void*> SharedLibrary::address(const char* name) const {
  if (void* const found = dlsym(handle_, name)) return found;
  return unsupported("a library has no ", name, "; it may be too old");
}

}  // namespace tensorpress
