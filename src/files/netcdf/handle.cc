#include "files/netcdf/handle.h"

#include <array>
#include <cstring>

#include "files/conventions/netcdf_conventions.h"
#include "files/hdf5/library.h"

namespace tensorpress::files {
namespace {

using Name = std::array<char, NC_MAX_NAME + 1>;

}  // namespace

Result<std::shared_ptr<const NetcdfHandle>> NetcdfHandle::open(const std::string& path) {
  TRY(const auto library, NetcdfLibrary::load());
  int id = 0;
  RETURN_IF_ERROR(
      library.check(library.nc_open(path.c_str(), NC_NOWRITE, &id), "the file cannot be opened"));
  library.listen();
  return std::shared_ptr<const NetcdfHandle>(std::make_shared<NetcdfHandle>(library, id));
}

Result<std::shared_ptr<NetcdfHandle>> NetcdfHandle::create(const std::string& path, int mode) {
  TRY(const auto library, NetcdfLibrary::load());
  int id = 0;
  int status = library.nc_create(path.c_str(), mode, &id);
  library.listen();
  // Whatever the reason, NetCDF says that permission is denied; now we hear the true one.
  if (status != NC_NOERR) status = library.nc_create(path.c_str(), mode, &id);
  RETURN_IF_ERROR(library.check(status, "a NetCDF file cannot be made"));
  auto handle = std::make_shared<NetcdfHandle>(library, id);
  if ((mode & NC_NETCDF4) != 0) handle->new_hdf5_file_ = path;
  return handle;
}

NetcdfHandle::~NetcdfHandle() {
  if (open_) library_.nc_close(id_);
}

Result<void> NetcdfHandle::close() {
  open_ = false;
  // NetCDF does not tell of everything that it cannot write while it closes a file.
  RETURN_IF_ERROR(check(library_.nc_sync(id_), "the NetCDF file cannot be completed"));
  if (!new_hdf5_file_.empty()) return close_hdf5();
  return check(library_.nc_close(id_), "the NetCDF file cannot be completed");
}

/// NetCDF 4.9 crashes when HDF5 cannot write while it closes a file. So closing the
/// file is left to us: NetCDF is not the last to have it open.
Result<void> NetcdfHandle::close_hdf5() {
  constexpr const char* kDoing = "the NetCDF file cannot be completed";
  TRY(const auto hdf5, Hdf5Functions::load());
  Hdf5Id file;
  // HDF5 wants to be asked as NetCDF asked it, which depends on how NetCDF was built.
  for (const auto degree : {H5F_CLOSE_WEAK, H5F_CLOSE_SEMI, H5F_CLOSE_STRONG}) {
    const Hdf5Id access(hdf5.H5Pcreate(hdf5.file_access), hdf5.H5Pclose);
    hdf5.H5Pset_fclose_degree(access.get(), degree);
    constexpr unsigned kReadAndWrite = 1;  // H5F_ACC_RDWR, whose macro calls into a library
    file = Hdf5Id(hdf5.H5Fopen(new_hdf5_file_.c_str(), kReadAndWrite, access.get()), hdf5.H5Fclose);
    if (file.valid()) break;
  }
  RETURN_IF_ERROR(check(library_.nc_close(id_), kDoing));
  if (!file.close()) return hdf5.failure(kDoing);
  return {};
}

Result<std::vector<int>> NetcdfHandle::variable_ids(int group) const {
  int count = 0;
  RETURN_IF_ERROR(check(library_.nc_inq_varids(group, &count, nullptr), "cannot list variables"));
  std::vector<int> ids(static_cast<std::size_t>(count));
  if (count > 0) {
    RETURN_IF_ERROR(
        check(library_.nc_inq_varids(group, &count, ids.data()), "cannot list variables"));
  }
  return ids;
}

Result<std::vector<std::pair<int, std::string>>> NetcdfHandle::groups(int group) const {
  std::vector<std::pair<int, std::string>> result;
  int count = 0;
  // Classic files have none and say so.
  if (library_.nc_inq_grps(group, &count, nullptr) != NC_NOERR || count == 0) return result;
  std::vector<int> ids(static_cast<std::size_t>(count));
  RETURN_IF_ERROR(check(library_.nc_inq_grps(group, &count, ids.data()), "cannot list groups"));
  for (const int id : ids) {
    Name name{};
    RETURN_IF_ERROR(check(library_.nc_inq_grpname(id, name.data()), "cannot read a group's name"));
    result.emplace_back(id, name.data());
  }
  return result;
}

Result<NetcdfHandle::VariableShape> NetcdfHandle::shape_of(int group, int variable) const {
  VariableShape shape;
  Name name{};
  int rank = 0, attributes = 0;
  std::vector<int> dimensions(NC_MAX_VAR_DIMS);
  RETURN_IF_ERROR(check(library_.nc_inq_var(group, variable, name.data(), &shape.type, &rank,
                                            dimensions.data(), &attributes),
                        "cannot read a variable's description"));
  shape.name = name.data();
  for (int i = 0; i < rank; ++i) {
    std::size_t length = 0;
    const int id = dimensions[static_cast<std::size_t>(i)];
    RETURN_IF_ERROR(check(library_.nc_inq_dim(group, id, name.data(), &length),
                          "cannot read a dimension of variable '", shape.name, "'"));
    shape.dimension_ids.push_back(id);
    shape.dimensions.emplace_back(name.data());
    shape.extents.push_back(length);
  }
  return shape;
}

Result<NetcdfHandle::TypeInfo> NetcdfHandle::type_of(int group, nc_type type) const {
  Name name{};
  TypeInfo info;
  RETURN_IF_ERROR(check(library_.nc_inq_type(group, type, name.data(), &info.bytes),
                        "cannot read the description of a type"));
  info.name = name.data();
  return info;
}

Result<std::vector<NetcdfAttribute>> NetcdfHandle::attributes(int group, int variable) const {
  int count = 0;
  if (variable == NC_GLOBAL) {
    RETURN_IF_ERROR(check(library_.nc_inq_natts(group, &count), "cannot list attributes"));
  } else {
    Name name{};
    nc_type type = NC_NAT;
    int rank = 0;
    std::vector<int> dimensions(NC_MAX_VAR_DIMS);
    RETURN_IF_ERROR(check(
        library_.nc_inq_var(group, variable, name.data(), &type, &rank, dimensions.data(), &count),
        "cannot list a variable's attributes"));
  }
  std::vector<NetcdfAttribute> attributes;
  for (int i = 0; i < count; ++i) {
    Name name{};
    nc_type type = NC_NAT;
    std::size_t length = 0;
    RETURN_IF_ERROR(check(library_.nc_inq_attname(group, variable, i, name.data()),
                          "cannot read an attribute's name"));
    RETURN_IF_ERROR(check(library_.nc_inq_att(group, variable, name.data(), &type, &length),
                          "cannot read attribute '", name.data(), "'"));
    NetcdfAttribute attribute{.name = name.data()};
    attribute.value.type = static_cast<NetcdfType>(type);
    if (type == NC_STRING) {
      std::vector<char*> strings(length);
      RETURN_IF_ERROR(check(library_.nc_get_att(group, variable, name.data(), strings.data()),
                            "cannot read attribute '", name.data(), "'"));
      for (const char* const string : strings) {
        attribute.value.strings.emplace_back(string != nullptr ? string : "");
      }
      library_.nc_free_string(length, strings.data());
    } else if (const std::size_t size = size_of(attribute.value.type); size != 0) {
      attribute.value.bytes.resize(length * size);
      RETURN_IF_ERROR(
          check(library_.nc_get_att(group, variable, name.data(), attribute.value.bytes.data()),
                "cannot read attribute '", name.data(), "'"));
    } else {
      continue;  // a type of the file's own
    }
    attributes.push_back(std::move(attribute));
  }
  return attributes;
}

Result<void> NetcdfHandle::put_attribute(int group, int variable,
                                         const NetcdfAttribute& attribute) const {
  const auto type = static_cast<nc_type>(attribute.value.type);
  std::vector<const char*> strings;
  const void* values = attribute.value.bytes.data();
  if (attribute.value.type == NetcdfType::string) {
    for (const auto& string : attribute.value.strings) strings.push_back(string.c_str());
    values = strings.data();
  }
  return check(library_.nc_put_att(group, variable, attribute.name.c_str(), type,
                                   attribute.value.count(), values),
               "cannot write attribute '", attribute.name, "'");
}

Result<std::vector<std::string>> NetcdfHandle::unlimited(int group) const {
  std::vector<std::string> names;
  int count = 0;
  if (library_.nc_inq_unlimdims(group, &count, nullptr) != NC_NOERR) return names;
  std::vector<int> ids(static_cast<std::size_t>(count));
  if (count > 0) library_.nc_inq_unlimdims(group, &count, ids.data());
  for (const int id : ids) {
    Name name{};
    std::size_t length = 0;
    if (library_.nc_inq_dim(group, id, name.data(), &length) == NC_NOERR) {
      names.emplace_back(name.data());
    }
  }
  return names;
}

std::optional<NetcdfArray> NetcdfHandle::fill_of(int group, int variable, nc_type type) const {
  NetcdfArray fill{.type = static_cast<NetcdfType>(type)};
  if (!default_fill(fill.type)) return std::nullopt;
  fill.bytes.resize(size_of(fill.type));
  int unfilled = 1;
  const int status = library_.nc_inq_var_fill(group, variable, &unfilled, fill.bytes.data());
  if (status != NC_NOERR || unfilled != 0) return std::nullopt;
  return fill;
}

Result<std::vector<std::uint64_t>> NetcdfHandle::chunks_of(int group, int variable,
                                                           std::size_t rank) const {
  int storage = NC_CONTIGUOUS;
  std::vector<std::size_t> extents(std::max<std::size_t>(rank, 1));
  // Classic files have no chunks and say so.
  const int status = library_.nc_inq_var_chunking(group, variable, &storage, extents.data());
  if (status != NC_NOERR || storage != NC_CHUNKED || rank == 0) return std::vector<std::uint64_t>();
  return std::vector<std::uint64_t>(extents.begin(), extents.end());
}

Result<std::vector<StoredFilter>> NetcdfHandle::filters_of(int group, int variable) const {
  std::vector<StoredFilter> filters;
  std::size_t count = 0;
  if (library_.nc_inq_var_filter_ids(group, variable, &count, nullptr) != NC_NOERR) return filters;
  std::vector<unsigned> ids(count);
  if (count > 0) library_.nc_inq_var_filter_ids(group, variable, &count, ids.data());
  for (const unsigned id : ids) {
    std::size_t values = 0;
    StoredFilter filter{.id = id};
    if (library_.nc_inq_var_filter_info(group, variable, id, &values, nullptr) == NC_NOERR) {
      filter.values.resize(values);
      library_.nc_inq_var_filter_info(group, variable, id, &values, filter.values.data());
    }
    filters.push_back(std::move(filter));
  }
  return filters;
}

}  // namespace tensorpress::files
