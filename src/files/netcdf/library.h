// NetCDF's C library as a table of the functions that we call, opened when a file needs it. Types
// come from its header; nothing is linked, so that other verbs start as fast as before. Included
// only where that header is.
#pragma once

#include <netcdf.h>
#include <netcdf_filter.h>

#include <optional>
#include <string>

#include "base/errors.h"
#include "base/shared_library.h"
#include "tensorpress/result.h"

namespace tensorpress::files {

// clang-format off
#define TENSORPRESS_NETCDF_FUNCTIONS(FUNCTION) \
  FUNCTION(nc_close) FUNCTION(nc_copy_att) FUNCTION(nc_create) FUNCTION(nc_def_dim) \
  FUNCTION(nc_def_var) FUNCTION(nc_def_var_chunking) FUNCTION(nc_def_var_deflate) \
  FUNCTION(nc_def_var_filter) FUNCTION(nc_enddef) FUNCTION(nc_free_string) FUNCTION(nc_get_att) \
  FUNCTION(nc_get_vara) \
  FUNCTION(nc_inq_att) FUNCTION(nc_inq_attname) FUNCTION(nc_inq_dim) FUNCTION(nc_inq_dimids) \
  FUNCTION(nc_inq_grpname) FUNCTION(nc_inq_grps) FUNCTION(nc_inq_natts) \
  FUNCTION(nc_inq_type) FUNCTION(nc_inq_unlimdims) FUNCTION(nc_inq_var) \
  FUNCTION(nc_inq_var_chunking) FUNCTION(nc_inq_var_fill) FUNCTION(nc_inq_var_filter_ids) \
  FUNCTION(nc_inq_var_filter_info) FUNCTION(nc_inq_varids) \
  FUNCTION(nc_open) FUNCTION(nc_put_att) FUNCTION(nc_put_vara) \
  FUNCTION(nc_set_fill) FUNCTION(nc_strerror) FUNCTION(nc_sync)
// clang-format on

struct NetcdfLibrary {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration
#define TENSORPRESS_MEMBER(name) decltype(&::name) name = nullptr;
  TENSORPRESS_NETCDF_FUNCTIONS(TENSORPRESS_MEMBER)
#undef TENSORPRESS_MEMBER

  static Result<NetcdfLibrary> load();

  /// Has HDF5's reasons kept; to be called when a file is open.
  void listen() const;
  /// "NetCDF: Variable not found" behind what was being done, or the operating system's reason.
  template <class... Parts>
  Result<void> check(int status, const Parts&... doing) const {
    if (status == NC_NOERR) return {};
    return failure(status, text(doing...));
  }

 private:
  Error failure(int status, const std::string& doing) const;
  std::optional<SharedLibrary> library_;
};

}  // namespace tensorpress::files
