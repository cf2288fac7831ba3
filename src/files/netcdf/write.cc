// Writes one tensor as a variable of a new NetCDF file, with what its notes say about it.
#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "base/errors.h"
#include "base/tensor/contiguous.h"
#include "base/tensor/region.h"
#include "files/bytes/byte_files.h"
#include "files/bytes/file_descriptor.h"
#include "files/conventions/netcdf_packing.h"
#include "files/hdf5/system_errors.h"
#include "files/netcdf/file.h"
#include "files/netcdf/handle.h"
#include "files/rewriting/provenance.h"

namespace tensorpress::files {
namespace {

Result<nc_type> netcdf_type_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return NC_FLOAT;
    case DType::f64:
      return NC_DOUBLE;
    case DType::u8:
      return NC_UBYTE;
    case DType::i16:
      return NC_SHORT;
    case DType::f16:
    case DType::bf16:
      break;
  }
  return unsupported("NetCDF has no type for ", name_of(dtype), "; write .npy or raw instead");
}

/// Classic files know the types up to f64.
bool is_too_new(NetcdfType type) {
  return type > NetcdfType::f64;
}

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += text(list.empty() ? "" : ", ", name);
  return list;
}

/// NetCDF's complaints come without the name of the file, and are not about the data.
Result<void> about_output(const std::string& path, Result<void> done) {
  if (done.ok() || done.error().code == ErrorCode::unsupported) return done;
  Error error = while_doing(text("cannot write ", output_name(path)), std::move(done).error());
  if (error.code == ErrorCode::corrupt) error.code = ErrorCode::io;
  return error;
}

class NetcdfTensorFile : public TensorFile {
 public:
  NetcdfTensorFile(std::unique_ptr<SharedFile> file, std::shared_ptr<NetcdfHandle> handle,
                   DType dtype, const Shape& shape, std::string name)
      : file_(std::move(file)),
        handle_(std::move(handle)),
        dtype_(dtype),
        shape_(shape),
        name_(std::move(name)) {}

  Result<void> define(const NetcdfNotes& notes, bool classic, std::optional<double> error) {
    TRY(nc_type type, netcdf_type_of(dtype_));
    if (notes.packed()) {
      TRY(packing_, NetcdfPacking::make(notes, dtype_, error));
      type = static_cast<nc_type>(notes.type);
    }
    if (classic && is_too_new(static_cast<NetcdfType>(type))) {
      return unsupported("classic NetCDF files (.cdf) have no type ",
                         name_of(static_cast<NetcdfType>(type)), "; name the output .nc");
    }
    left_behind_ = notes.left_behind;
    variable_name_ = notes.variable;
    const NetcdfLibrary& library = handle_->library();
    const int id = handle_->id();
    std::vector<int> dimensions;
    for (std::size_t i = 0; i < shape_.rank(); ++i) {
      const auto& name = notes.dimensions[i];
      // Classic files can only grow along the first axis.
      const bool grows =
          std::ranges::find(notes.unlimited, name) != notes.unlimited.end() && (!classic || i == 0);
      int dimension = 0;
      RETURN_IF_ERROR(handle_->check(
          library.nc_def_dim(id, name.c_str(),
                             grows ? NC_UNLIMITED : static_cast<std::size_t>(shape_[i]),
                             &dimension),
          "cannot make dimension '", name, "'"));
      dimensions.push_back(dimension);
    }
    for (const auto& attribute : notes.global) {
      // Written by the library itself.
      if (attribute.name == "_NCProperties") continue;
      RETURN_IF_ERROR(handle_->put_attribute(id, NC_GLOBAL, attribute));
    }
    std::vector<int> coordinates;
    for (const auto& coordinate : notes.coordinates) {
      const auto axis = std::ranges::find(notes.dimensions, coordinate.name);
      int variable = 0;
      RETURN_IF_ERROR(handle_->check(
          library.nc_def_var(
              id, coordinate.name.c_str(), static_cast<nc_type>(coordinate.values.type), 1,
              &dimensions[static_cast<std::size_t>(axis - notes.dimensions.begin())], &variable),
          "cannot make variable '", coordinate.name, "'"));
      for (const auto& attribute : coordinate.attributes) {
        RETURN_IF_ERROR(handle_->put_attribute(id, variable, attribute));
      }
      coordinates.push_back(variable);
    }
    RETURN_IF_ERROR(handle_->check(
        library.nc_def_var(id, notes.variable.c_str(), type, static_cast<int>(shape_.rank()),
                           dimensions.data(), &variable_),
        "cannot make variable '", notes.variable, "'"));
    for (const auto& attribute : notes.attributes) {
      RETURN_IF_ERROR(handle_->put_attribute(id, variable_, attribute));
    }
    // Every element is written; filling first would write everything twice.
    int before = 0;
    library.nc_set_fill(id, NC_NOFILL, &before);
    RETURN_IF_ERROR(
        written(handle_->check(library.nc_enddef(id), "cannot write the NetCDF header")));
    for (std::size_t i = 0; i < coordinates.size(); ++i) {
      const auto& values = notes.coordinates[i].values;
      const std::size_t start = 0, count = values.count();
      RETURN_IF_ERROR(written(handle_->check(
          library.nc_put_vara(id, coordinates[i], &start, &count, values.bytes.data()),
          "cannot write '", notes.coordinates[i].name, "'")));
    }
    return {};
  }

  Result<void> write(const Region& region, const TensorView& elements) override {
    RETURN_IF_ERROR(check_region(shape_, region));
    const std::byte* data = contiguous_elements(elements, contiguous_);
    std::array<std::size_t, kMaxRank> start{}, count{};
    for (std::size_t i = 0; i < shape_.rank(); ++i) {
      start[i] = static_cast<std::size_t>(region.origin[i]);
      count[i] = static_cast<std::size_t>(region.extent[i]);
    }
    if (packing_) {
      const auto elements_here = static_cast<std::size_t>(elements.element_count());
      const auto packed = packed_.reserve(elements_here * packing_->element_bytes());
      packing_->pack(data, elements_here, packed.data());
      data = packed.data();
    }
    return about_output(
        name_, handle_->check(handle_->library().nc_put_vara(handle_->id(), variable_, start.data(),
                                                             count.data(), data),
                              "variable '", variable_name_, "'"));
  }

  /// Unless it is finished it is not wanted, and may not be writable.
  ~NetcdfTensorFile() override { handle_->abandon(); }

  Result<void> finish() override {
    RETURN_IF_ERROR(about_output(name_, handle_->close()));
    return file_->finish();
  }

  std::vector<std::string> remarks() const override {
    std::vector<std::string> remarks;
    if (!left_behind_.empty()) {
      remarks.push_back(text("a .cdf keeps no strings and no unsigned or 64-bit whole numbers: ",
                             listed(left_behind_)));
    }
    if (packing_) std::ranges::move(packing_->remarks(), std::back_inserter(remarks));
    return remarks;
  }

 private:
  // NetCDF has one number for all that HDF5 may say, and nothing that is written is corrupt.
  static Result<void> written(Result<void> done) {
    if (done.ok() || done.error().code != ErrorCode::corrupt) return done;
    return io_error(done.error().message, "; the disk may be full");
  }

  std::unique_ptr<SharedFile> file_;
  std::shared_ptr<NetcdfHandle> handle_;
  DType dtype_;
  Shape shape_;
  std::string name_;
  std::string variable_name_;
  int variable_ = 0;
  std::optional<NetcdfPacking> packing_;
  std::vector<std::string> left_behind_;
  AlignedBuffer contiguous_, packed_;
};

/// Attributes as NetCDF's text form names them: "lat:units", and ":title" for the file's.
void leave_behind_what_is_too_new(NetcdfNotes& notes) {
  std::erase_if(notes.coordinates, [&](const NetcdfCoordinate& coordinate) {
    const bool too_new = is_too_new(coordinate.values.type);
    if (too_new) notes.left_behind.push_back(coordinate.name);
    return too_new;
  });
  const auto keep_known = [&](std::vector<NetcdfAttribute>& attributes, const std::string& owner) {
    std::erase_if(attributes, [&](const NetcdfAttribute& attribute) {
      const bool too_new = is_too_new(attribute.value.type);
      if (too_new) notes.left_behind.push_back(text(owner, ":", attribute.name));
      return too_new;
    });
  };
  for (auto& coordinate : notes.coordinates) keep_known(coordinate.attributes, coordinate.name);
  keep_known(notes.attributes, notes.variable);
  keep_known(notes.global, "");
}

/// Notes that fit the tensor, whatever a stream says.
Result<NetcdfNotes> fitting_notes(const std::optional<NetcdfNotes>& given, DType dtype,
                                  const Shape& shape, bool classic) {
  NetcdfNotes notes;
  if (given) {
    notes = *given;
    if (notes.dimensions.size() != shape.rank()) {
      return corrupt("the attribute 'netcdf' of the stream names ", notes.dimensions.size(),
                     " dimensions for a tensor of rank ", shape.rank());
    }
    if (notes.packed() && dtype != DType::f32 && dtype != DType::f64) {
      return corrupt("the attribute 'netcdf' of the stream says that numbers of type ",
                     name_of(dtype), " were packed as ", name_of(notes.type),
                     "; only f32 and f64 are");
    }
  } else {
    notes.variable = "data";
    for (std::size_t i = 0; i < shape.rank(); ++i) notes.dimensions.push_back(text("dim_", i));
  }
  // A variable may use one dimension twice; here each axis gets its own.
  std::set<std::string> names;
  for (std::string& name : notes.dimensions) {
    while (!names.insert(name).second) name += "_2";
  }
  std::erase_if(notes.coordinates, [&](const NetcdfCoordinate& coordinate) {
    const auto axis = std::ranges::find(notes.dimensions, coordinate.name);
    return axis == notes.dimensions.end() || coordinate.name == notes.variable ||
           coordinate.values.type == NetcdfType::string ||
           coordinate.values.count() !=
               shape[static_cast<std::size_t>(axis - notes.dimensions.begin())];
  });
  if (classic) leave_behind_what_is_too_new(notes);
  return notes;
}

}  // namespace

Result<std::unique_ptr<TensorFile>> create_netcdf_tensor(const std::string& path, DType dtype,
                                                         const Shape& shape,
                                                         const std::optional<NetcdfNotes>& notes,
                                                         std::optional<double> error,
                                                         const stream::History& history,
                                                         const std::string& made_from) {
  const bool classic = is_classic_file_name(path);
  TRY(NetcdfNotes fitting, fitting_notes(notes, dtype, shape, classic));
  erase_own_attributes(fitting.attributes);
  for (auto& attribute : history_attributes(history_when_packed(history, fitting, dtype))) {
    fitting.attributes.push_back(std::move(attribute));
  }
  TRY([[maybe_unused]] const nc_type type, netcdf_type_of(dtype));
  TRY(auto file, SharedFile::create(path, made_from));
  const std::string place = file->temporary_path();
  take_system_error();  // an earlier file's
  auto created = NetcdfHandle::create(place, classic ? NC_64BIT_OFFSET : NC_NETCDF4);
  if (!created.ok()) return about_output(path, std::move(created).error()).error();
  auto handle = std::move(created).value();
  auto tensor =
      std::make_unique<NetcdfTensorFile>(std::move(file), std::move(handle), dtype, shape, path);
  RETURN_IF_ERROR(about_output(path, tensor->define(fitting, classic, error)));
  return std::unique_ptr<TensorFile>(std::move(tensor));
}

}  // namespace tensorpress::files
