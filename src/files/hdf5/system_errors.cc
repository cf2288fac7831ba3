#include "files/hdf5/system_errors.h"

#include <hdf5.h>

#include <cstring>
#include <string_view>
#include <utility>

namespace tensorpress::files {
namespace {

decltype(&H5Ewalk2) walk_errors = nullptr;
// HDF5 is called from one thread at a time.
std::optional<SystemError>& kept() {
  static std::optional<SystemError>& error = *new std::optional<SystemError>();
  return error;
}

/// HDF5's file driver says "file write failed: time = ..., errno = 28, error message = 'No space
/// left on device', buf = ...".
herr_t keep_system_error(unsigned /*depth*/, const H5E_error2_t* error, void* /*data*/) {
  if (error->desc == nullptr) return 0;
  const std::string_view sentence(error->desc);
  constexpr std::string_view kBefore = "error message = '";
  const std::size_t begin = sentence.find(kBefore);
  // Files that a link names need not be there; that is not what we ask about.
  const bool reading = sentence.find("file read failed") != std::string_view::npos;
  const bool writing = sentence.find("file write failed") != std::string_view::npos ||
                       sentence.find("unable to extend file") != std::string_view::npos;
  if (begin == std::string_view::npos || (!reading && !writing)) return 0;
  const std::string_view rest = sentence.substr(begin + kBefore.size());
  kept() = SystemError{.writing = writing, .reason = std::string(rest.substr(0, rest.find('\'')))};
  return 0;
}

/// Called by HDF5 whenever one of its functions fails.
herr_t on_failure(hid_t stack, void* /*data*/) {
  if (walk_errors != nullptr) walk_errors(stack, H5E_WALK_UPWARD, keep_system_error, nullptr);
  return 0;
}

}  // namespace

void listen_to_hdf5(const SharedLibrary& library) {
  decltype(&H5Eset_auto2) set_listener = nullptr;
  if (!library.find("H5Ewalk2", walk_errors).ok()) return;
  if (library.find("H5Eset_auto2", set_listener).ok()) {
    set_listener(H5E_DEFAULT, on_failure, nullptr);
  }
}

std::optional<SystemError> take_system_error() {
  return std::exchange(kept(), std::nullopt);
}

}  // namespace tensorpress::files
