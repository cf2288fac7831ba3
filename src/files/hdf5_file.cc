#include "files/hdf5_file.h"

#include "base/errors.h"
#include "files/hdf5_library.h"

namespace tensorpress::files {

Result<std::uint64_t> hdf5_stored_bytes(const std::string& file, const std::string& dataset) {
  TRY(const auto hdf5, Hdf5Functions::load());
  constexpr unsigned kReadOnly = 0;  // H5F_ACC_RDONLY, whose macro calls into a linked library
  const Hdf5Id opened(hdf5.H5Fopen(file.c_str(), kReadOnly, H5P_DEFAULT), hdf5.H5Fclose);
  if (!opened.valid()) return hdf5.failure("the file cannot be opened");
  const Hdf5Id found(hdf5.H5Dopen2(opened.get(), dataset.c_str(), H5P_DEFAULT), hdf5.H5Dclose);
  if (!found.valid()) return std::uint64_t{0};
  return std::uint64_t{hdf5.H5Dget_storage_size(found.get())};
}

}  // namespace tensorpress::files
