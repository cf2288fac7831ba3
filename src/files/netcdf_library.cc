#include "files/netcdf_library.h"

#include "files/shared_library.h"

namespace tensorpress::files {

Result<NetcdfLibrary> NetcdfLibrary::load() {
  auto library = SharedLibrary::open({"libnetcdf.so.19", "libnetcdf.so.22", "libnetcdf.so"},
                                     SharedLibrary::Symbols::hidden);
  if (!library.ok()) {
    return unsupported("NetCDF and HDF5 files need NetCDF's library (", library.error().message,
                       "): apt-get install libnetcdf19");
  }
  NetcdfLibrary table;
#define TENSORPRESS_FIND(name) RETURN_IF_ERROR(library->find(#name, table.name));
  TENSORPRESS_NETCDF_FUNCTIONS(TENSORPRESS_FIND)
#undef TENSORPRESS_FIND
  return table;
}

}  // namespace tensorpress::files
