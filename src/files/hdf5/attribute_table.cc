#include "files/hdf5/attribute_table.h"

#include <algorithm>

#include "base/errors.h"
#include "files/hdf5/values.h"
#include "files/rewriting/file_comparison.h"

namespace tensorpress::files {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 28;

Result<Hdf5AttributeValue> value_of(const Hdf5Functions& hdf5, hid_t file, const Hdf5Id& attribute,
                                    const std::string& name) {
  Hdf5AttributeValue value{.type = Hdf5Id(hdf5.H5Aget_type(attribute.get()), hdf5.H5Tclose)};
  const Hdf5Id space(hdf5.H5Aget_space(attribute.get()), hdf5.H5Sclose);
  const int rank = std::max(hdf5.H5Sget_simple_extent_ndims(space.get()), 0);
  value.extents.resize(static_cast<std::size_t>(rank));
  hdf5.H5Sget_simple_extent_dims(space.get(), value.extents.data(), nullptr);
  const auto count = static_cast<std::size_t>(
      std::max<hssize_t>(hdf5.H5Sget_simple_extent_npoints(space.get()), 0));
  if (count == 0) return value;
  TRY(const auto elements, Hdf5Elements::make(hdf5, value.type.get()));
  if (count > kMostBytes / elements.size()) {
    return too_large("attribute '", name, "' declares ", count, " elements");
  }
  std::vector<std::byte> bytes(count * elements.size());
  if (hdf5.H5Aread(attribute.get(), value.type.get(), bytes.data()) < 0) {
    return hdf5.failure(text("attribute '", name, "' cannot be read"));
  }
  for (std::size_t i = 0; i < count; ++i) {
    elements.append(hdf5, file, bytes.data() + i * elements.size(), value.values.emplace_back());
  }
  hdf5.H5Dvlen_reclaim(value.type.get(), space.get(), H5P_DEFAULT, bytes.data());
  return value;
}

std::string name_of(const Hdf5Functions& hdf5, const Hdf5Id& attribute) {
  const ssize_t length = hdf5.H5Aget_name(attribute.get(), 0, nullptr);
  if (length <= 0) return {};
  std::string name(static_cast<std::size_t>(length), '\0');
  hdf5.H5Aget_name(attribute.get(), name.size() + 1, name.data());
  return name;
}

}  // namespace

Result<std::map<std::string, Hdf5AttributeValue>> hdf5_attribute_table(const Hdf5Functions& hdf5,
                                                                       hid_t file, hid_t object) {
  std::map<std::string, Hdf5AttributeValue> table;
  const int count = hdf5.H5Aget_num_attrs(object);
  for (int i = 0; i < count; ++i) {
    const Hdf5Id attribute(hdf5.H5Aopen_by_idx(object, ".", H5_INDEX_NAME, H5_ITER_INC,
                                               static_cast<hsize_t>(i), H5P_DEFAULT, H5P_DEFAULT),
                           hdf5.H5Aclose);
    if (!attribute.valid()) return hdf5.failure("an attribute cannot be opened");
    const std::string name = name_of(hdf5, attribute);
    if (may_differ(name)) continue;
    TRY(auto value, value_of(hdf5, file, attribute, name));
    table.emplace(name, std::move(value));
  }
  return table;
}

std::string hdf5_text_attribute(const Hdf5Functions& hdf5, hid_t object, std::string_view name) {
  const int count = hdf5.H5Aget_num_attrs(object);
  for (int i = 0; i < count; ++i) {
    const Hdf5Id attribute(hdf5.H5Aopen_by_idx(object, ".", H5_INDEX_NAME, H5_ITER_INC,
                                               static_cast<hsize_t>(i), H5P_DEFAULT, H5P_DEFAULT),
                           hdf5.H5Aclose);
    if (!attribute.valid() || name_of(hdf5, attribute) != name) continue;
    const Hdf5Id type(hdf5.H5Aget_type(attribute.get()), hdf5.H5Tclose);
    const Hdf5Id space(hdf5.H5Aget_space(attribute.get()), hdf5.H5Sclose);
    constexpr std::size_t kLongest = std::size_t{1} << 16;
    const std::size_t size = hdf5.H5Tget_size(type.get());
    if (hdf5.H5Tget_class(type.get()) != H5T_STRING || size > kLongest ||
        hdf5.H5Sget_simple_extent_npoints(space.get()) != 1) {
      return {};
    }
    std::string text;
    if (hdf5.H5Tis_variable_str(type.get()) > 0) {
      char* words = nullptr;
      if (hdf5.H5Aread(attribute.get(), type.get(), static_cast<void*>(&words)) < 0) return {};
      if (words != nullptr) text = words;
      hdf5.H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, static_cast<void*>(&words));
    } else {
      text.resize(size);
      if (hdf5.H5Aread(attribute.get(), type.get(), text.data()) < 0) return {};
      text.resize(std::min(text.find('\0'), text.size()));
    }
    return text;
  }
  return {};
}

}  // namespace tensorpress::files
