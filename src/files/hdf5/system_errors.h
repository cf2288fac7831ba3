// Why HDF5 could not read or write: it tells its callers that something failed, and the operating
// system's reason ("No space left on device") only to those who listen. NetCDF's library does not,
// so the reason is kept here. Included only where HDF5's header is.
#pragma once

#include <optional>
#include <string>

#include "base/shared_library.h"

namespace tensorpress::files {

/// Keeps the reasons of the HDF5 library that is, or is behind, `library`, which then prints
/// nothing itself. NetCDF's library ends this when it opens its first file.
void listen_to_hdf5(const SharedLibrary& library);

struct SystemError {
  bool writing = false;
  std::string reason;
};

/// What the operating system said last, and forgets it. Nothing when it did not complain.
std::optional<SystemError> take_system_error();

}  // namespace tensorpress::files
