// HDF5's C library as a table of the functions that we call. Types come from its header; nothing is
// linked. Included only where that header is.
#pragma once

#include <hdf5.h>

#include "tensorpress/result.h"

namespace tensorpress::benchmark {

struct Hdf5Library {
  decltype(&::H5open) open;
  decltype(&::H5Dclose) dataset_close;
  decltype(&::H5Dcreate2) dataset_create;
  decltype(&::H5Dget_storage_size) dataset_storage_size;
  decltype(&::H5Dopen2) dataset_open;
  decltype(&::H5Dread) dataset_read;
  decltype(&::H5Dwrite) dataset_write;
  decltype(&::H5Eset_auto2) error_set_auto;
  decltype(&::H5Ewalk2) error_walk;
  decltype(&::H5Fclose) file_close;
  decltype(&::H5Fcreate) file_create;
  decltype(&::H5PLprepend) plugin_prepend;
  decltype(&::H5Pclose) properties_close;
  decltype(&::H5Pcreate) properties_create;
  decltype(&::H5Pset_chunk) set_chunk;
  decltype(&::H5Pset_fapl_core) set_core_driver;
  decltype(&::H5Pset_filter) set_filter;
  decltype(&::H5Sclose) space_close;
  decltype(&::H5Screate_simple) space_create;
  decltype(&::H5Zfilter_avail) filter_available;
  // Variables that hold identifiers; they have their values once `open` was called.
  hid_t* file_access;
  hid_t* dataset_creation;
  hid_t* native_float;
  hid_t* native_double;

  /// Opens the library once for all of the program and switches its own printing of errors off.
  static Result<Hdf5Library> load();

  /// What HDF5 says about the last failure: the innermost sentence of its error stack.
  std::string last_error() const;
};

}  // namespace tensorpress::benchmark
