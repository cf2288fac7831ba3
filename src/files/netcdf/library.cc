#include "files/netcdf/library.h"

#include "base/shared_library.h"
#include "files/conventions/hdf5_register.h"
#include "files/hdf5/system_errors.h"

namespace tensorpress::files {

Result<NetcdfLibrary> NetcdfLibrary::load() {
  auto library = SharedLibrary::open({"libnetcdf.so.19", "libnetcdf.so.22", "libnetcdf.so"},
                                     SharedLibrary::Symbols::hidden);
  if (!library.ok()) {
    return unsupported("NetCDF and HDF5 files need NetCDF's library (", library.error().message,
                       "): apt-get install libnetcdf19");
  }
  end_hdf5_with_main(*library);
  NetcdfLibrary table;
#define TENSORPRESS_FIND(name) RETURN_IF_ERROR(library->find(#name, table.name));
  TENSORPRESS_NETCDF_FUNCTIONS(TENSORPRESS_FIND)
#undef TENSORPRESS_FIND
  table.library_ = *library;
  return table;
}

void NetcdfLibrary::listen() const {
  listen_to_hdf5(*library_);
}

Error NetcdfLibrary::failure(int status, const std::string& doing) const {
  if (const auto system = take_system_error()) return io_error(doing, ": ", system->reason);
  const std::string reason = text(doing, ": ", nc_strerror(status));
  if (status == NC_ENOMEM) return too_large(reason);
  return status > 0 ? io_error(reason) : corrupt(reason);
}

}  // namespace tensorpress::files
