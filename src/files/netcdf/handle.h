// An open NetCDF file and questions about it, with every status looked at. Included only where
// NetCDF's header is.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "files/netcdf/file.h"
#include "files/netcdf/library.h"

namespace tensorpress::files {

class NetcdfHandle {
 public:
  static Result<std::shared_ptr<const NetcdfHandle>> open(const std::string& path);
  /// For writing; `mode` as for nc_create.
  static Result<std::shared_ptr<NetcdfHandle>> create(const std::string& path, int mode);
  NetcdfHandle(const NetcdfLibrary& library, int id) : library_(library), id_(id) {}
  NetcdfHandle(const NetcdfHandle&) = delete;
  NetcdfHandle& operator=(const NetcdfHandle&) = delete;
  ~NetcdfHandle();

  const NetcdfLibrary& library() const { return library_; }
  int id() const { return id_; }
  template <class... Parts>
  Result<void> check(int status, const Parts&... doing) const {
    return library_.check(status, doing...);
  }
  /// For what could not be written: it stays open until the process ends.
  void abandon() { open_ = false; }
  /// Writes what is not written yet; only then is the file whole.
  Result<void> close();

  struct VariableShape {
    std::string name;
    nc_type type = NC_NAT;
    std::vector<int> dimension_ids;
    std::vector<std::string> dimensions;
    std::vector<std::uint64_t> extents;
  };
  struct TypeInfo {
    std::string name;
    std::size_t bytes = 0;
  };
  Result<std::vector<int>> variable_ids(int group) const;
  Result<std::vector<std::pair<int, std::string>>> groups(int group) const;
  Result<VariableShape> shape_of(int group, int variable) const;
  Result<TypeInfo> type_of(int group, nc_type type) const;
  /// Those of the types that we know; NC_GLOBAL for the file's.
  Result<std::vector<NetcdfAttribute>> attributes(int group, int variable) const;
  Result<void> put_attribute(int group, int variable, const NetcdfAttribute& attribute) const;
  /// Names of the dimensions that grow.
  Result<std::vector<std::string>> unlimited(int group) const;
  /// What HDF5 or NetCDF fills a variable of numbers with; nothing where it does not.
  std::optional<NetcdfArray> fill_of(int group, int variable, nc_type type) const;
  Result<std::vector<std::uint64_t>> chunks_of(int group, int variable, std::size_t rank) const;
  Result<std::vector<StoredFilter>> filters_of(int group, int variable) const;

 private:
  Result<void> close_hdf5();

  NetcdfLibrary library_;
  int id_;
  bool open_ = true;
  std::string new_hdf5_file_ = {};  // its path; "" for others
};

}  // namespace tensorpress::files
