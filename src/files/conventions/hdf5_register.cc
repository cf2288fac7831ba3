#include "files/conventions/hdf5_register.h"

#include "base/errors.h"

namespace tensorpress::files {

Result<SharedLibrary> open_hdf5_library(SharedLibrary::Symbols symbols) {
  // Debian's names first. NetCDF's library uses the same: the dynamic linker opens a library once.
  auto library = SharedLibrary::open(
      {"libhdf5_serial.so.103", "libhdf5.so.103", "libhdf5_serial.so", "libhdf5.so"}, symbols);
  if (library.ok()) {
    end_hdf5_with_main(*library);
    return library;
  }
  return unsupported("HDF5's library cannot be opened (", library.error().message,
                     "): apt-get install libhdf5-103-1");
}

void end_hdf5_with_main(const SharedLibrary& library) {
  int (*without_exit)() = nullptr;
  // Once HDF5 has started it refuses, and was asked before.
  if (library.find("H5dont_atexit", without_exit).ok()) without_exit();
}

Result<void> register_hdf5_filter(const void* filter_class) {
  TRY(const auto library, open_hdf5_library(SharedLibrary::Symbols::hidden));
  int (*enroll)(const void*) = nullptr;
  RETURN_IF_ERROR(library.find("H5Zregister", enroll));
  if (enroll(filter_class) < 0) return unsupported("HDF5 does not take our filter");
  return {};
}

}  // namespace tensorpress::files
