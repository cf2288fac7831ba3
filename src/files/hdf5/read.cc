#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "base/errors.h"
#include "files/bytes/input_watch.h"
#include "files/conventions/netcdf_conventions.h"
#include "files/hdf5/dataset.h"
#include "files/hdf5/file.h"
#include "files/hdf5/library.h"
#include "files/rewriting/provenance.h"

namespace tensorpress::files {
namespace {

constexpr unsigned kReadOnly = 0;  // H5F_ACC_RDONLY, whose macro calls into a linked library
constexpr std::size_t kMostAttributeBytes = std::size_t{1} << 24;

/// The library and an open file; sources share it.
struct OpenHdf5 {
  Hdf5Functions hdf5;
  Hdf5Id file;
  InputWatch watch;
};

std::optional<NetcdfType> number_type(const Hdf5Functions& hdf5, hid_t type) {
  const std::size_t size = hdf5.H5Tget_size(type);
  const H5T_class_t type_class = hdf5.H5Tget_class(type);
  if (type_class == H5T_FLOAT) {
    if (size == 8) return NetcdfType::f64;
    if (size == 4 || size == 2) return NetcdfType::f32;
    return std::nullopt;
  }
  if (type_class != H5T_INTEGER) return std::nullopt;
  const bool with_sign = hdf5.H5Tget_sign(type) == H5T_SGN_2;
  switch (size) {
    case 1:
      return with_sign ? NetcdfType::i8 : NetcdfType::u8;
    case 2:
      return with_sign ? NetcdfType::i16 : NetcdfType::u16;
    case 4:
      return with_sign ? NetcdfType::i32 : NetcdfType::u32;
    case 8:
      return with_sign ? NetcdfType::i64 : NetcdfType::u64;
    default:
      return std::nullopt;
  }
}

class DatasetSource : public stream::TensorSource {
 public:
  DatasetSource(std::shared_ptr<const OpenHdf5> open, Hdf5Id dataset, DType dtype, Shape shape,
                std::string name)
      : open_(std::move(open)),
        dataset_(std::move(dataset)),
        dtype_(dtype),
        shape_(shape),
        name_(std::move(name)) {}

  DType dtype() const override { return dtype_; }
  const Shape& shape() const override { return shape_; }
  bool random_access() const override { return true; }

  Result<TensorView> read(const Region& region, AlignedBuffer& scratch) override {
    const Hdf5Functions& hdf5 = open_->hdf5;
    const auto room =
        scratch.reserve(static_cast<std::size_t>(region.extent.element_count()) * size_of(dtype_));
    const hid_t type = dtype_ == DType::f64 ? hdf5.native_double : hdf5.native_float;
    std::array<hsize_t, kMaxRank> start{}, count{};
    for (std::size_t i = 0; i < shape_.rank(); ++i) {
      start[i] = region.origin[i];
      count[i] = region.extent[i];
    }
    const Hdf5Id space(hdf5.H5Dget_space(dataset_.get()), hdf5.H5Sclose);
    const Hdf5Id memory(shape_.rank() == 0 ? hdf5.H5Dget_space(dataset_.get())
                                           : hdf5.H5Screate_simple(static_cast<int>(shape_.rank()),
                                                                   count.data(), nullptr),
                        hdf5.H5Sclose);
    const bool selected =
        shape_.rank() == 0 || hdf5.H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(),
                                                       nullptr, count.data(), nullptr) >= 0;
    if (!selected || hdf5.H5Dread(dataset_.get(), type, memory.get(), space.get(), H5P_DEFAULT,
                                  room.data()) < 0) {
      return hdf5.failure(text("dataset '", name_, "' cannot be read"));
    }
    RETURN_IF_ERROR(open_->watch.check());
    return TensorView::contiguous(room.data(), dtype_, region.extent);
  }

 private:
  std::shared_ptr<const OpenHdf5> open_;
  Hdf5Id dataset_;
  DType dtype_;
  Shape shape_;
  std::string name_;
};

class Hdf5ArrayFile : public NetcdfFile {
 public:
  explicit Hdf5ArrayFile(std::shared_ptr<const OpenHdf5> open) : open_(std::move(open)) {}

  Result<void> list() {
    RETURN_IF_ERROR(list_group("/", ""));
    for (NetcdfVariable& variable : variables_) {
      if (coordinates_.contains(bare_name(variable.path))) variable.coordinate = true;
    }
    return {};
  }

  const std::vector<NetcdfVariable>& variables() const override { return variables_; }

  Result<std::unique_ptr<stream::TensorSource>> source(const NetcdfVariable& variable) override {
    if (!variable.refusal.empty()) {
      return unsupported("dataset '", variable.path, "' ", variable.refusal);
    }
    TRY(const Shape shape, Shape::make(variable.extents));
    Hdf5Id dataset = open_dataset(variable.path);
    if (!dataset.valid()) return hdf5().failure(text("'", variable.path, "' cannot be opened"));
    const DType dtype = variable.type == "double" ? DType::f64 : DType::f32;
    return std::unique_ptr<stream::TensorSource>(
        std::make_unique<DatasetSource>(open_, std::move(dataset), dtype, shape, variable.path));
  }

  Result<std::uint64_t> stored_bytes(const NetcdfVariable& variable) override {
    const Hdf5Id dataset = open_dataset(variable.path);
    return std::uint64_t{dataset.valid() ? hdf5().H5Dget_storage_size(dataset.get()) : 0};
  }

  Result<NetcdfNotes> notes(const NetcdfVariable& variable) override {
    NetcdfNotes notes;
    notes.variable = bare_name(variable.path);
    notes.type = variable.type == "double" ? NetcdfType::f64 : NetcdfType::f32;
    notes.dimensions = variable.dimensions;
    const Hdf5Id dataset = open_dataset(variable.path);
    if (!dataset.valid()) return hdf5().failure(text("'", variable.path, "' cannot be opened"));
    notes.attributes = attributes_of(dataset);
    fills_of(dataset, notes.type, notes.attributes).state_own(notes.attributes);
    return notes;
  }

 private:
  const Hdf5Functions& hdf5() const { return open_->hdf5; }
  Hdf5Id open_dataset(const std::string& path) const {
    return {hdf5().H5Dopen2(open_->file.get(), path.c_str(), H5P_DEFAULT), hdf5().H5Dclose};
  }

  Result<void> list_group(const std::string& path, const std::string& prefix) {
    const Hdf5Id group(hdf5().H5Gopen2(open_->file.get(), path.c_str(), H5P_DEFAULT),
                       hdf5().H5Gclose);
    H5G_info_t info{};
    if (!group.valid() || hdf5().H5Gget_info(group.get(), &info) < 0) {
      return hdf5().failure(text("group '", path, "' cannot be listed"));
    }
    add_coordinates_of_group(attributes_of(group), coordinates_);
    for (hsize_t i = 0; i < info.nlinks; ++i) {
      const ssize_t length = hdf5().H5Lget_name_by_idx(group.get(), ".", H5_INDEX_NAME, H5_ITER_INC,
                                                       i, nullptr, 0, H5P_DEFAULT);
      if (length < 0) return hdf5().failure(text("group '", path, "' cannot be listed"));
      std::string name(static_cast<std::size_t>(length), '\0');
      hdf5().H5Lget_name_by_idx(group.get(), ".", H5_INDEX_NAME, H5_ITER_INC, i, name.data(),
                                name.size() + 1, H5P_DEFAULT);
      H5L_info_t link{};
      if (hdf5().H5Lget_info(group.get(), name.c_str(), &link, H5P_DEFAULT) < 0) {
        return hdf5().failure(text("'", prefix, name, "' cannot be read"));
      }
      if (link.type != H5L_TYPE_HARD) continue;
      const Hdf5Id object(hdf5().H5Oopen(group.get(), name.c_str(), H5P_DEFAULT), hdf5().H5Oclose);
      if (!object.valid()) return hdf5().failure(text("'", prefix, name, "' cannot be opened"));
      const H5I_type_t kind = hdf5().H5Iget_type(object.get());
      if (kind == H5I_GROUP) RETURN_IF_ERROR(list_group(prefix + name, text(prefix, name, "/")));
      if (kind == H5I_DATASET) add_variable(object, prefix + name);
    }
    return {};
  }

  void add_variable(const Hdf5Id& dataset, const std::string& path) {
    NetcdfVariable variable;
    variable.path = path;
    const Hdf5Id type(hdf5().H5Dget_type(dataset.get()), hdf5().H5Tclose);
    const Hdf5Space space = space_of(hdf5(), dataset);
    variable.extents = space.extents;
    variable.bytes = hdf5().H5Tget_size(type.get());
    for (const std::uint64_t extent : variable.extents) {
      variable.dimensions.push_back(text("dim_", variable.dimensions.size()));
      variable.bytes *= extent;
    }
    const bool floats = hdf5().H5Tget_class(type.get()) == H5T_FLOAT;
    const auto number = number_type(hdf5(), type.get());
    variable.type = !number                      ? "other"
                    : *number == NetcdfType::f64 ? "double"
                    : *number == NetcdfType::f32 ? "float"
                                                 : std::string(name_of(*number));
    if (!floats || !number) {
      variable.refusal = number ? text("holds whole numbers (", variable.type, "), not floats")
                                : "holds no floats of 2, 4 or 8 bytes";
    } else if (space.empty) {
      variable.refusal = "is empty";
    } else if (variable.extents.size() > kMaxRank) {
      variable.refusal = text("has ", variable.extents.size(), " dimensions; at most ", kMaxRank,
                              " are supported");
    }
    variable.chunk_extents = chunk_of(hdf5(), dataset);
    const auto attributes = attributes_of(dataset);
    add_coordinates_of_variable(attributes, coordinates_);
    if (floats && number) {
      variable.fill_values = fills_of(dataset, *number, attributes).as_doubles();
    }
    // A scale of other datasets' dimensions.
    variable.coordinate = text_of(attributes, "CLASS") == "DIMENSION_SCALE";
    variable.filters = filters_of(hdf5(), dataset);
    read_provenance(attributes, variable);
    variables_.push_back(std::move(variable));
  }

  /// Of a dataset of floats.
  FillValues fills_of(const Hdf5Id& dataset, NetcdfType type,
                      const std::vector<NetcdfAttribute>& attributes) const {
    FillValues fills{.attributes = attributes, .type = type};
    const Hdf5Id creation(hdf5().H5Dget_create_plist(dataset.get()), hdf5().H5Pclose);
    H5D_fill_value_t filled = H5D_FILL_VALUE_UNDEFINED;
    NetcdfArray own{.type = type, .bytes = std::vector<std::byte>(size_of(type))};
    const hid_t native = type == NetcdfType::f64 ? hdf5().native_double : hdf5().native_float;
    if (hdf5().H5Pfill_value_defined(creation.get(), &filled) >= 0 &&
        filled == H5D_FILL_VALUE_USER_DEFINED &&
        hdf5().H5Pget_fill_value(creation.get(), native, own.bytes.data()) >= 0) {
      fills.own = std::move(own);
    }
    return fills;
  }

  std::vector<NetcdfAttribute> attributes_of(const Hdf5Id& object) const {
    std::vector<NetcdfAttribute> attributes;
    const int count = hdf5().H5Aget_num_attrs(object.get());
    for (int i = 0; i < count; ++i) add_attribute(object, i, attributes);
    return attributes;
  }

  /// Numbers and strings; others stay behind.
  void add_attribute(const Hdf5Id& dataset, int index, std::vector<NetcdfAttribute>& to) const {
    const Hdf5Id attribute(
        hdf5().H5Aopen_by_idx(dataset.get(), ".", H5_INDEX_NAME, H5_ITER_INC,
                              static_cast<hsize_t>(index), H5P_DEFAULT, H5P_DEFAULT),
        hdf5().H5Aclose);
    if (!attribute.valid()) return;
    const Hdf5Id type(hdf5().H5Aget_type(attribute.get()), hdf5().H5Tclose);
    const Hdf5Id space(hdf5().H5Aget_space(attribute.get()), hdf5().H5Sclose);
    const hssize_t count = hdf5().H5Sget_simple_extent_npoints(space.get());
    const ssize_t length = hdf5().H5Aget_name(attribute.get(), 0, nullptr);
    // A damaged or hostile file may declare any number of elements.
    const auto most =
        kMostAttributeBytes / std::max<std::size_t>(hdf5().H5Tget_size(type.get()), 1);
    if (count <= 0 || length <= 0 || static_cast<std::size_t>(count) > most) return;
    NetcdfAttribute result;
    result.name.resize(static_cast<std::size_t>(length));
    hdf5().H5Aget_name(attribute.get(), result.name.size() + 1, result.name.data());
    const auto number = number_type(hdf5(), type.get());
    if (hdf5().H5Tget_class(type.get()) == H5T_STRING) {
      if (!read_text(attribute, type, space, static_cast<std::size_t>(count), result.value)) return;
    } else if (number) {
      result.value.type = *number;
      result.value.bytes.resize(static_cast<std::size_t>(count) * size_of(*number));
      const Hdf5Id native(number == NetcdfType::f32 ? hdf5().H5Tcopy(hdf5().native_float)
                          : number == NetcdfType::f64
                              ? hdf5().H5Tcopy(hdf5().native_double)
                              : hdf5().H5Tget_native_type(type.get(), H5T_DIR_ASCEND),
                          hdf5().H5Tclose);
      if (hdf5().H5Aread(attribute.get(), native.get(), result.value.bytes.data()) < 0) return;
    } else {
      return;
    }
    to.push_back(std::move(result));
  }

  bool read_text(const Hdf5Id& attribute, const Hdf5Id& type, const Hdf5Id& space,
                 std::size_t count, NetcdfArray& value) const {
    std::vector<std::string> strings;
    if (hdf5().H5Tis_variable_str(type.get()) > 0) {
      std::vector<char*> pointers(count, nullptr);
      if (hdf5().H5Aread(attribute.get(), type.get(), pointers.data()) < 0) return false;
      for (const char* const each : pointers) strings.emplace_back(each != nullptr ? each : "");
      hdf5().H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, pointers.data());
    } else {
      const std::size_t size = hdf5().H5Tget_size(type.get());
      std::string all(count * size, '\0');
      if (hdf5().H5Aread(attribute.get(), type.get(), all.data()) < 0) return false;
      for (std::size_t i = 0; i < count; ++i) {
        const std::string each = all.substr(i * size, size);
        strings.push_back(each.substr(0, each.find('\0')));
      }
    }
    if (count == 1) {
      value.bytes.resize(strings[0].size());
      std::memcpy(value.bytes.data(), strings[0].data(), strings[0].size());
    } else {
      value.type = NetcdfType::string;
      value.strings = std::move(strings);
    }
    return true;
  }

  std::shared_ptr<const OpenHdf5> open_;
  std::vector<NetcdfVariable> variables_;
  std::set<std::string> coordinates_;  // named by attributes
};

}  // namespace

Result<std::unique_ptr<NetcdfFile>> open_hdf5_file(const std::string& path) {
  RETURN_IF_ERROR(check_hdf5_groups(path));
  TRY(const auto hdf5, Hdf5Functions::load());
  TRY(const InputWatch watch, InputWatch::begin(path));
  auto open = std::make_shared<OpenHdf5>(
      OpenHdf5{.hdf5 = hdf5,
               .file = Hdf5Id(hdf5.H5Fopen(path.c_str(), kReadOnly, H5P_DEFAULT), hdf5.H5Fclose),
               .watch = watch});
  if (!open->file.valid()) return hdf5.failure("the file cannot be opened");
  auto file = std::make_unique<Hdf5ArrayFile>(std::move(open));
  RETURN_IF_ERROR(file->list());
  return std::unique_ptr<NetcdfFile>(std::move(file));
}

}  // namespace tensorpress::files
