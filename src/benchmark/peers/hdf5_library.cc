#include "benchmark/peers/hdf5_library.h"

#include "base/errors.h"
#include "files/shared_library.h"

namespace tensorpress::benchmark {
namespace {

herr_t keep_first(unsigned /*depth*/, const H5E_error2_t* error, void* sentence) {
  auto& text = *static_cast<std::string*>(sentence);
  if (text.empty() && error->desc != nullptr) text = error->desc;
  return 0;
}

}  // namespace

Result<Hdf5Library> Hdf5Library::load() {
  // Debian's names first. Plugins look for HDF5's functions among the symbols of all.
  TRY(const auto library,
      files::SharedLibrary::open(
          {"libhdf5_serial.so.103", "libhdf5.so.103", "libhdf5_serial.so", "libhdf5.so"},
          files::SharedLibrary::Symbols::shared_with_plugins));
  Hdf5Library table{};
  RETURN_IF_ERROR(library.find("H5open", table.open));
  RETURN_IF_ERROR(library.find("H5Dclose", table.dataset_close));
  RETURN_IF_ERROR(library.find("H5Dcreate2", table.dataset_create));
  RETURN_IF_ERROR(library.find("H5Dget_storage_size", table.dataset_storage_size));
  RETURN_IF_ERROR(library.find("H5Dopen2", table.dataset_open));
  RETURN_IF_ERROR(library.find("H5Dread", table.dataset_read));
  RETURN_IF_ERROR(library.find("H5Dwrite", table.dataset_write));
  RETURN_IF_ERROR(library.find("H5Eset_auto2", table.error_set_auto));
  RETURN_IF_ERROR(library.find("H5Ewalk2", table.error_walk));
  RETURN_IF_ERROR(library.find("H5Fclose", table.file_close));
  RETURN_IF_ERROR(library.find("H5Fcreate", table.file_create));
  RETURN_IF_ERROR(library.find("H5PLprepend", table.plugin_prepend));
  RETURN_IF_ERROR(library.find("H5Pclose", table.properties_close));
  RETURN_IF_ERROR(library.find("H5Pcreate", table.properties_create));
  RETURN_IF_ERROR(library.find("H5Pset_chunk", table.set_chunk));
  RETURN_IF_ERROR(library.find("H5Pset_fapl_core", table.set_core_driver));
  RETURN_IF_ERROR(library.find("H5Pset_filter", table.set_filter));
  RETURN_IF_ERROR(library.find("H5Sclose", table.space_close));
  RETURN_IF_ERROR(library.find("H5Screate_simple", table.space_create));
  RETURN_IF_ERROR(library.find("H5Zfilter_avail", table.filter_available));
  RETURN_IF_ERROR(library.find("H5P_CLS_FILE_ACCESS_ID_g", table.file_access));
  RETURN_IF_ERROR(library.find("H5P_CLS_DATASET_CREATE_ID_g", table.dataset_creation));
  RETURN_IF_ERROR(library.find("H5T_NATIVE_FLOAT_g", table.native_float));
  RETURN_IF_ERROR(library.find("H5T_NATIVE_DOUBLE_g", table.native_double));
  if (table.open() < 0) return unsupported("HDF5's library does not start");
  table.error_set_auto(H5E_DEFAULT, nullptr, nullptr);
  return table;
}

std::string Hdf5Library::last_error() const {
  std::string sentence;
  error_walk(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &sentence);
  return sentence.empty() ? "HDF5 gives no reason" : sentence;
}

}  // namespace tensorpress::benchmark
