// HDF5's C library as a table of the functions that files and other compressors' filters need,
// opened when one does. Types come from its header; nothing is linked. Included only where that
// header is.
#pragma once

#include <hdf5.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/shared_library.h"
#include "tensorpress/result.h"

namespace tensorpress::files {

// clang-format off
#define TENSORPRESS_HDF5_FUNCTIONS(FUNCTION) \
  FUNCTION(H5Aclose) FUNCTION(H5Acreate2) FUNCTION(H5Adelete) FUNCTION(H5Aexists) \
  FUNCTION(H5Aget_name) FUNCTION(H5Aget_num_attrs) FUNCTION(H5Aget_space) FUNCTION(H5Aget_type) \
  FUNCTION(H5Aopen_by_idx) FUNCTION(H5Aread) FUNCTION(H5Awrite) FUNCTION(H5Dclose) \
  FUNCTION(H5Dcreate2) FUNCTION(H5Dflush) FUNCTION(H5Dget_create_plist) FUNCTION(H5Dget_space) \
  FUNCTION(H5Dget_storage_size) FUNCTION(H5Dget_type) FUNCTION(H5Dopen2) FUNCTION(H5Dread) \
  FUNCTION(H5Dvlen_reclaim) FUNCTION(H5Dwrite) FUNCTION(H5Ewalk2) \
  FUNCTION(H5FDregister) FUNCTION(H5Fclose) FUNCTION(H5Fcreate) FUNCTION(H5Fget_create_plist) FUNCTION(H5Fopen) \
  FUNCTION(H5Gclose) FUNCTION(H5Gcreate2) FUNCTION(H5Gget_create_plist) FUNCTION(H5Gget_info) \
  FUNCTION(H5Gget_objinfo) FUNCTION(H5Gopen2) FUNCTION(H5Iget_type) FUNCTION(H5Lcreate_external) \
  FUNCTION(H5Lcreate_hard) FUNCTION(H5Lcreate_soft) FUNCTION(H5Lget_info) \
  FUNCTION(H5Lget_name_by_idx) FUNCTION(H5Lget_val) FUNCTION(H5Literate) \
  FUNCTION(H5Ldelete) FUNCTION(H5Lunpack_elink_val) FUNCTION(H5Oclose) FUNCTION(H5Ocopy) \
  FUNCTION(H5Oopen) FUNCTION(H5PLprepend) FUNCTION(H5Pclose) FUNCTION(H5Pcreate) \
  FUNCTION(H5Pfill_value_defined) FUNCTION(H5Pget_chunk) FUNCTION(H5Pget_fill_value) \
  FUNCTION(H5Pget_filter2) FUNCTION(H5Pget_layout) FUNCTION(H5Pget_link_creation_order) \
  FUNCTION(H5Pget_nfilters) FUNCTION(H5Premove_filter) FUNCTION(H5Pset_chunk) \
  FUNCTION(H5Pset_fapl_core) FUNCTION(H5Pset_driver) \
  FUNCTION(H5Pset_fclose_degree) FUNCTION(H5Pset_filter) FUNCTION(H5Pset_obj_track_times) \
  FUNCTION(H5Pset_layout) \
  FUNCTION(H5Pset_link_creation_order) \
  FUNCTION(H5Rcreate) FUNCTION(H5Rget_name) FUNCTION(H5Sclose) FUNCTION(H5Screate) \
  FUNCTION(H5Screate_simple) \
  FUNCTION(H5Sget_simple_extent_dims) FUNCTION(H5Sget_simple_extent_ndims) \
  FUNCTION(H5Sget_simple_extent_npoints) FUNCTION(H5Sselect_hyperslab) FUNCTION(H5Tclose) \
  FUNCTION(H5Tcopy) FUNCTION(H5Tdetect_class) FUNCTION(H5Tequal) FUNCTION(H5Tget_class) \
  FUNCTION(H5Tget_native_type) FUNCTION(H5Tget_nmembers) FUNCTION(H5Tget_sign) \
  FUNCTION(H5Tget_size) FUNCTION(H5Tget_super) FUNCTION(H5Tis_variable_str) \
  FUNCTION(H5Tset_size) \
  FUNCTION(H5Zfilter_avail) FUNCTION(H5open) \
  FUNCTION(H5Tget_ebias) FUNCTION(H5Tget_member_offset) FUNCTION(H5Tget_member_type) \
  FUNCTION(H5Tget_order) FUNCTION(H5Pget_attr_creation_order) \
  FUNCTION(H5Pset_attr_creation_order) FUNCTION(H5Pset_copy_object)
// clang-format on

struct Hdf5Functions {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration
#define TENSORPRESS_MEMBER(name) decltype(&::name) name = nullptr;
  TENSORPRESS_HDF5_FUNCTIONS(TENSORPRESS_MEMBER)
#undef TENSORPRESS_MEMBER
  hid_t reference_type = -1;  // H5T_STD_REF_OBJ
  hid_t native_float = -1;
  hid_t native_double = -1;
  hid_t text = -1;              // H5T_C_S1
  hid_t file_access = -1;       // H5P_FILE_ACCESS
  hid_t dataset_creation = -1;  // H5P_DATASET_CREATE
  hid_t object_copy = -1;       // H5P_OBJECT_COPY

  /// Opens the library and switches its own printing of errors off. Plugins look for HDF5's
  /// functions among the symbols of all.
  static Result<Hdf5Functions> load(
      SharedLibrary::Symbols symbols = SharedLibrary::Symbols::hidden);

  /// The innermost sentence of HDF5's error stack.
  std::string last_error() const;
  /// What HDF5 says about the last failure, behind what was being done.
  Error failure(std::string_view doing) const;
};

/// Which object of which open file it is, whatever its name.
using Hdf5Address = std::array<unsigned long, 4>;
inline Hdf5Address address_of(const H5G_stat_t& object) {
  return {object.fileno[0], object.fileno[1], object.objno[0], object.objno[1]};
}

/// An identifier of HDF5 that is closed when it is no longer needed.
class Hdf5Id {
 public:
  Hdf5Id() = default;
  Hdf5Id(hid_t id, herr_t (*closer)(hid_t)) : id_(id), close_(closer) {}
  Hdf5Id(const Hdf5Id&) = delete;
  Hdf5Id& operator=(const Hdf5Id&) = delete;
  Hdf5Id(Hdf5Id&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Id& operator=(Hdf5Id&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Hdf5Id() { close(); }

  hid_t get() const { return id_; }
  bool valid() const { return id_ >= 0; }
  bool close() { return id_ < 0 || close_(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

}  // namespace tensorpress::files
