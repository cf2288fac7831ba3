#include "files/hdf5_register.h"

#include "base/errors.h"
#include "files/shared_library.h"

namespace tensorpress::files {

Result<void> register_hdf5_filter(const void* filter_class) {
  // The one that NetCDF's library uses: the dynamic linker opens a library once.
  const auto library = SharedLibrary::open(
      {"libhdf5_serial.so.103", "libhdf5.so.103", "libhdf5_serial.so", "libhdf5.so"},
      SharedLibrary::Symbols::hidden);
  if (!library.ok()) {
    return unsupported("NetCDF and HDF5 files need HDF5's library (", library.error().message,
                       "): apt-get install libhdf5-103-1");
  }
  int (*enroll)(const void*) = nullptr;
  RETURN_IF_ERROR(library->find("H5Zregister", enroll));
  if (enroll(filter_class) < 0) return unsupported("HDF5 does not take our filter");
  return {};
}

}  // namespace tensorpress::files
