// Reads NetCDF and HDF5 files through NetCDF's library.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "base/errors.h"
#include "files/bytes/byte_files.h"
#include "files/bytes/input_watch.h"
#include "files/conventions/hdf5_filter_settings.h"
#include "files/conventions/netcdf_classic_size.h"
#include "files/conventions/netcdf_conventions.h"
#include "files/conventions/netcdf_numbers.h"
#include "files/hdf5/file.h"
#include "files/netcdf/file.h"
#include "files/netcdf/handle.h"
#include "files/rewriting/provenance.h"

namespace tensorpress::files {
namespace {

constexpr std::size_t kMaxCoordinateValues = std::size_t{1} << 18;

bool is_whole_number(nc_type type) {
  return type != NC_CHAR && type != NC_FLOAT && type != NC_DOUBLE && type >= NC_BYTE &&
         type <= NC_UINT64;
}

bool has_numbers(const std::vector<NetcdfAttribute>& attributes, std::string_view name) {
  const NetcdfAttribute* const attribute = find_attribute(attributes, name);
  return attribute != nullptr && !attribute->value.numbers().empty();
}

struct Place {
  int group = 0;
  int variable = 0;
  nc_type type = NC_NAT;
};

/// How packed numbers become data: raw scale + offset, and raw fill values become NaN.
struct Packing {
  double scale = 1;
  double offset = 0;
  std::vector<std::uint64_t> fills;  // each a number of the type, cast
};

class VariableSource : public TensorSource {
 public:
  VariableSource(std::shared_ptr<const NetcdfHandle> file, const InputWatch& watch, Place place,
                 DType dtype, Shape shape, std::optional<Packing> packing, std::string name)
      : file_(std::move(file)),
        watch_(watch),
        place_(place),
        dtype_(dtype),
        shape_(shape),
        packing_(std::move(packing)),
        name_(std::move(name)) {}

  DType dtype() const override { return dtype_; }
  const Shape& shape() const override { return shape_; }
  bool random_access() const override { return true; }

  Result<TensorView> read(const Region& region, AlignedBuffer& scratch) override {
    std::array<std::size_t, kMaxRank> start{}, count{};
    for (std::size_t i = 0; i < shape_.rank(); ++i) {
      start[i] = static_cast<std::size_t>(region.origin[i]);
      count[i] = static_cast<std::size_t>(region.extent[i]);
    }
    const auto elements = static_cast<std::size_t>(region.extent.element_count());
    const auto room = scratch.reserve(elements * size_of(dtype_));
    const auto raw =
        packing_ ? raw_.reserve(elements * size_of(static_cast<NetcdfType>(place_.type))) : room;
    RETURN_IF_ERROR(
        file_->check(file_->library().nc_get_vara(place_.group, place_.variable, start.data(),
                                                  count.data(), raw.data()),
                     "cannot read variable '", name_, "'"));
    RETURN_IF_ERROR(watch_.check());
    if (packing_) unpack(raw.data(), elements, room.data());
    return TensorView::contiguous(room.data(), dtype_, region.extent);
  }

 private:
  void unpack(const std::byte* raw, std::size_t count, std::byte* room) const {
    with_number(static_cast<NetcdfType>(place_.type), [&]<class T>(T) {
      if constexpr (std::is_integral_v<T>) {
        if (dtype_ == DType::f64) {
          unpack_as<T, double>(raw, count, room);
        } else {
          unpack_as<T, float>(raw, count, room);
        }
      }
    });
  }

  /// Compares whole numbers: many of 64 bits are the same double.
  template <class T, class Float>
  void unpack_as(const std::byte* raw, std::size_t count, std::byte* room) const {
    for (std::size_t i = 0; i < count; ++i) {
      const T number = element<T>(raw, i);
      const bool missing = std::ranges::find(packing_->fills, static_cast<std::uint64_t>(number)) !=
                           packing_->fills.end();
      const double value = missing
                               ? std::numeric_limits<double>::quiet_NaN()
                               : static_cast<double>(number) * packing_->scale + packing_->offset;
      const auto stored = static_cast<Float>(value);
      std::memcpy(room + i * sizeof stored, &stored, sizeof stored);
    }
  }

  std::shared_ptr<const NetcdfHandle> file_;
  InputWatch watch_;
  Place place_;
  DType dtype_;
  Shape shape_;
  std::optional<Packing> packing_;
  std::string name_;
  AlignedBuffer raw_;
};

class OpenFile : public NetcdfFile {
 public:
  OpenFile(std::shared_ptr<const NetcdfHandle> file, std::string path, const InputWatch& watch)
      : file_(std::move(file)), path_(std::move(path)), watch_(watch) {}

  Result<void> list() {
    RETURN_IF_ERROR(list_group(file_->id(), ""));
    // What a dimension or another variable's attribute names is a coordinate.
    for (NetcdfVariable& variable : variables_) {
      const std::string name = bare_name(variable.path);
      const bool dimension = variable.dimensions.size() == 1 && variable.dimensions[0] == name;
      variable.coordinate = dimension || coordinates_.contains(name);
    }
    return {};
  }

  const std::vector<NetcdfVariable>& variables() const override { return variables_; }

  Result<std::unique_ptr<TensorSource>> source(const NetcdfVariable& variable) override {
    if (!variable.refusal.empty()) {
      return unsupported("variable '", variable.path, "' ", variable.refusal);
    }
    const Place& place = places_[index_of(variable)];
    TRY(const Shape shape, Shape::make(variable.extents));
    TRY(const auto attributes, file_->attributes(place.group, place.variable));
    DType dtype = place.type == NC_DOUBLE ? DType::f64 : DType::f32;
    std::optional<Packing> packing;
    if (variable.packed) {
      packing.emplace();
      // The type of scale_factor is that of the data (CF conventions, section 8.1).
      dtype = DType::f32;
      for (const auto& attribute : attributes) {
        if (attribute.name != "scale_factor" && attribute.name != "add_offset") continue;
        if (attribute.value.type == NetcdfType::f64) dtype = DType::f64;
        const auto numbers = attribute.value.numbers();
        (attribute.name == "scale_factor" ? packing->scale : packing->offset) = numbers.front();
      }
      packing->fills = fills_of(place, attributes).as_whole_numbers();
    }
    return std::unique_ptr<TensorSource>(std::make_unique<VariableSource>(
        file_, watch_, place, dtype, shape, std::move(packing), variable.path));
  }

  Result<std::uint64_t> stored_bytes(const NetcdfVariable& variable) override {
    if (array_format_of(path_) != ArrayFormat::hdf5) return std::uint64_t{0};
    return hdf5_stored_bytes(path_, variable.path);
  }

  Result<NetcdfNotes> notes(const NetcdfVariable& variable) override {
    const Place& place = places_[index_of(variable)];
    NetcdfNotes notes;
    notes.variable = bare_name(variable.path);
    notes.type = static_cast<NetcdfType>(place.type);
    notes.dimensions = variable.dimensions;
    TRY(notes.attributes, file_->attributes(place.group, place.variable));
    fills_of(place, notes.attributes).state_own(notes.attributes);
    TRY(notes.global, file_->attributes(file_->id(), NC_GLOBAL));
    TRY(const auto unlimited, file_->unlimited(place.group));
    for (const std::string& name : variable.dimensions) {
      if (std::ranges::find(unlimited, name) != unlimited.end()) notes.unlimited.push_back(name);
      TRY(auto coordinate, coordinate_of(name, place.group));
      if (coordinate) notes.coordinates.push_back(std::move(*coordinate));
    }
    notes.left_behind = left_behind(notes);
    return notes;
  }

 private:
  std::size_t index_of(const NetcdfVariable& variable) const {
    return static_cast<std::size_t>(&variable - variables_.data());
  }

  /// Variables with the name of a dimension, or named by the attribute `coordinates`, that the
  /// notes do not hold.
  std::vector<std::string> left_behind(const NetcdfNotes& notes) const {
    std::vector<std::string> named = notes.dimensions, missing;
    for (std::string& word : words_of(text_of(notes.attributes, "coordinates"))) {
      named.push_back(std::move(word));
    }
    for (const NetcdfVariable& variable : variables_) {
      const std::string name = bare_name(variable.path);
      const bool kept = name == notes.variable ||
                        std::ranges::find(notes.coordinates, name, &NetcdfCoordinate::name) !=
                            notes.coordinates.end();
      const bool told = std::ranges::find(missing, name) != missing.end();
      const bool wanted = std::ranges::find(named, name) != named.end();
      if (wanted && !kept && !told) missing.push_back(name);
    }
    return missing;
  }

  FillValues fills_of(const Place& place, const std::vector<NetcdfAttribute>& attributes) const {
    return {.attributes = attributes,
            .type = static_cast<NetcdfType>(place.type),
            .own = file_->fill_of(place.group, place.variable, place.type)};
  }

  Result<void> list_group(int group, const std::string& prefix) {
    TRY(const auto global, file_->attributes(group, NC_GLOBAL));
    add_coordinates_of_group(global, coordinates_);
    TRY(const auto ids, file_->variable_ids(group));
    for (const int id : ids) RETURN_IF_ERROR(list_variable(group, id, prefix));
    TRY(const auto groups, file_->groups(group));
    for (const auto& [child, name] : groups) {
      RETURN_IF_ERROR(list_group(child, text(prefix, name, "/")));
    }
    return {};
  }

  Result<void> list_variable(int group, int id, const std::string& prefix) {
    TRY(const auto shape, file_->shape_of(group, id));
    NetcdfVariable variable;
    variable.path = prefix + shape.name;
    variable.dimensions = shape.dimensions;
    variable.extents = shape.extents;
    TRY(const auto type, file_->type_of(group, shape.type));
    variable.type = type.name;
    variable.bytes = type.bytes;
    for (const auto extent : shape.extents) variable.bytes *= extent;
    TRY(const auto attributes, file_->attributes(group, id));
    add_coordinates_of_variable(attributes, coordinates_);
    const Place place{group, id, shape.type};
    variable.fill_values = fills_of(place, attributes).as_doubles();
    variable.packed = is_whole_number(shape.type) && (has_numbers(attributes, "scale_factor") ||
                                                      has_numbers(attributes, "add_offset"));
    variable.refusal = variable.packed ? refusal_of_packing(attributes) : "";
    if (variable.refusal.empty()) variable.refusal = refusal_of(variable, shape.type);
    TRY(variable.chunk_extents, file_->chunks_of(group, id, shape.extents.size()));
    TRY(variable.filters, file_->filters_of(group, id));
    read_provenance(attributes, variable);
    variables_.push_back(std::move(variable));
    places_.push_back(place);
    return {};
  }

  static std::string refusal_of_packing(const std::vector<NetcdfAttribute>& attributes) {
    for (const auto& attribute : attributes) {
      if (attribute.name != "scale_factor" && attribute.name != "add_offset") continue;
      if (attribute.value.numbers().size() != 1) {
        return text("has an attribute ", attribute.name, " that is not one number");
      }
    }
    return {};
  }

  static std::string refusal_of(const NetcdfVariable& variable, nc_type type) {
    if (variable.fill_values.size() > kMaxHdf5FillValues && !variable.packed) {
      return text("has ", variable.fill_values.size(), " fill values; up to ", kMaxHdf5FillValues,
                  " come back exactly");
    }
    const bool floats = type == NC_FLOAT || type == NC_DOUBLE;
    if (type == NC_CHAR || type == NC_STRING) return "holds text, which is not compressed";
    if (is_whole_number(type) && !variable.packed) {
      return text("holds whole numbers (", variable.type,
                  ") without scale_factor or add_offset, which are not data with an error bound");
    }
    if (!floats && !variable.packed) {
      return text("is of type ", variable.type, "; floats and packed whole numbers are compressed");
    }
    if (variable.extents.size() > kMaxRank) {
      return text("has ", variable.extents.size(), " dimensions; at most ", kMaxRank,
                  " are supported");
    }
    for (std::size_t i = 0; i < variable.extents.size(); ++i) {
      if (variable.extents[i] == 0) {
        return text("is empty: its dimension '", variable.dimensions[i], "' has length 0");
      }
    }
    return {};
  }

  /// The variable that has the dimension's name, in this group or one above.
  Result<std::optional<NetcdfCoordinate>> coordinate_of(const std::string& name, int group) {
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      const NetcdfVariable& candidate = variables_[i];
      const std::string bare = bare_name(candidate.path);
      const bool here = places_[i].group == group || candidate.path == bare;
      if (!here || bare != name || candidate.dimensions != std::vector{name}) continue;
      NetcdfCoordinate coordinate{.name = name};
      const auto type = static_cast<NetcdfType>(places_[i].type);
      const std::uint64_t count = candidate.extents[0];
      if (size_of(type) == 0 || count > kMaxCoordinateValues) break;
      coordinate.values.type = type;
      coordinate.values.bytes.resize(static_cast<std::size_t>(count) * size_of(type));
      const std::size_t start = 0, length = static_cast<std::size_t>(count);
      RETURN_IF_ERROR(
          file_->check(file_->library().nc_get_vara(places_[i].group, places_[i].variable, &start,
                                                    &length, coordinate.values.bytes.data()),
                       "cannot read coordinate '", name, "'"));
      TRY(coordinate.attributes, file_->attributes(places_[i].group, places_[i].variable));
      return std::optional(std::move(coordinate));
    }
    return std::optional<NetcdfCoordinate>();
  }

  std::shared_ptr<const NetcdfHandle> file_;
  std::string path_;
  InputWatch watch_;
  std::vector<NetcdfVariable> variables_;
  std::vector<Place> places_;
  std::set<std::string> coordinates_;  // named by attributes
};

Result<void> check_whole(const std::string& path) {
  if (array_format_of(path) != ArrayFormat::netcdf_classic) return {};
  TRY(const auto bytes, open_bytes(path));
  TRY(const std::uint64_t needed, netcdf_classic_size(*bytes));
  if (bytes->size() >= needed) return {};
  return truncated("the file is cut off: its variables need ", needed, " bytes and it has ",
                   bytes->size());
}

}  // namespace

Result<std::unique_ptr<NetcdfFile>> NetcdfFile::open(const std::string& path) {
  TRY(const InputWatch watch, InputWatch::begin(path));
  RETURN_IF_ERROR(check_whole(path));
  const bool hdf5 = array_format_of(path) == ArrayFormat::hdf5;
  // NetCDF's library would crash; our own reader reads it, or says what is wrong.
  if (hdf5 && !check_for_netcdf(path).ok()) return open_hdf5_file(path);
  auto opened = NetcdfHandle::open(path);
  if (!opened.ok()) {
    if (hdf5) return open_hdf5_file(path);
    return std::move(opened).error();
  }
  auto handle = std::move(opened).value();
  auto file = std::make_unique<OpenFile>(std::move(handle), path, watch);
  if (auto listed = file->list(); !listed.ok()) {
    // Dimension scales may be attached in ways that NetCDF's library opens and cannot describe.
    file.reset();
    if (hdf5) return open_hdf5_file(path);
    return std::move(listed).error();
  }
  return std::unique_ptr<NetcdfFile>(std::move(file));
}

Result<std::unique_ptr<TensorSource>> open_netcdf_tensor(const std::string& path,
                                                         const std::string& variable) {
  TRY(const auto file, NetcdfFile::open(path));
  const NetcdfVariable* chosen = nullptr;
  std::string listed;
  if (!variable.empty()) {
    TRY(chosen, file->find(variable));
    return file->source(*chosen);
  }
  for (const NetcdfVariable& candidate : file->variables()) {
    if (!candidate.refusal.empty() || candidate.coordinate) continue;
    chosen = &candidate;
    listed += text(listed.empty() ? "" : ", ", candidate.path);
  }
  if (chosen == nullptr) return bad_argument("the file has no variable that can be compressed");
  if (listed != chosen->path) {
    return bad_argument("the file has several variables; name one with `variable`: ", listed);
  }
  return file->source(*chosen);
}

}  // namespace tensorpress::files
