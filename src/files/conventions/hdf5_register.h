// The HDF5 library of this process, and our filter made known to it, so that files with it can be
// read and written without a plugin in HDF5's path. Needs no header of HDF5.
#pragma once

#include "base/shared_library.h"
#include "tensorpress/result.h"

namespace tensorpress::files {

Result<SharedLibrary> open_hdf5_library(SharedLibrary::Symbols symbols);

/// The HDF5 library that is, or is behind, `library` then writes nothing after `main` has ended:
/// what is to be kept is closed by then, and a file that could not be written must not be touched
/// again, nor our filter be called. To be called before anything else reaches HDF5.
void end_hdf5_with_main(const SharedLibrary& library);

/// `filter_class` is an H5Z_class2_t that lives as long as the program.
Result<void> register_hdf5_filter(const void* filter_class);

}  // namespace tensorpress::files
