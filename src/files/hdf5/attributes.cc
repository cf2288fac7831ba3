#include "files/hdf5/attributes.h"

#include <algorithm>
#include <functional>

#include "base/errors.h"
#include "files/rewriting/provenance.h"

namespace tensorpress::files {
namespace {

/// How the dimension scales' REFERENCE_LIST looks in memory.
struct ScaleUse {
  hobj_ref_t dataset;
  unsigned dimension;
};

Result<void> for_each_attribute(
    const Hdf5Functions& hdf5, hid_t object,
    const std::function<Result<void>(const Hdf5Id&, const std::string&)>& work) {
  const int count = hdf5.H5Aget_num_attrs(object);
  if (count < 0) return hdf5.failure("attributes cannot be listed");
  // In the order in which they were made, where that is known.
  for (const auto order : {H5_INDEX_CRT_ORDER, H5_INDEX_NAME}) {
    bool known = true;
    for (int i = 0; i < count; ++i) {
      const Hdf5Id attribute(hdf5.H5Aopen_by_idx(object, ".", order, H5_ITER_INC,
                                                 static_cast<hsize_t>(i), H5P_DEFAULT, H5P_DEFAULT),
                             hdf5.H5Aclose);
      if (!attribute.valid()) {
        if (i == 0 && order == H5_INDEX_CRT_ORDER) {
          known = false;
          break;
        }
        return hdf5.failure("an attribute cannot be opened");
      }
      const ssize_t length = hdf5.H5Aget_name(attribute.get(), 0, nullptr);
      if (length < 0) return hdf5.failure("an attribute has no name");
      std::string name(static_cast<std::size_t>(length), '\0');
      hdf5.H5Aget_name(attribute.get(), name.size() + 1, name.data());
      RETURN_IF_ERROR(work(attribute, name));
    }
    if (known) return {};
  }
  return {};
}

}  // namespace

bool Hdf5AttributeCopy::holds_references(hid_t type) const {
  return hdf5_.H5Tdetect_class(type, H5T_REFERENCE) > 0;
}

Result<void> Hdf5AttributeCopy::copy_plain(hid_t from, hid_t to) const {
  return for_each_attribute(hdf5_, from,
                            [&](const Hdf5Id& attribute, const std::string& name) -> Result<void> {
                              const Hdf5Id type(hdf5_.H5Aget_type(attribute.get()), hdf5_.H5Tclose);
                              if (holds_references(type.get())) return {};
                              return copy_values(attribute, name, to);
                            });
}

Result<void> Hdf5AttributeCopy::copy_plain(hid_t from, hid_t to,
                                           const std::vector<NetcdfAttribute>& own) const {
  RETURN_IF_ERROR(for_each_attribute(
      hdf5_, from, [&](const Hdf5Id& attribute, const std::string& name) -> Result<void> {
        const Hdf5Id type(hdf5_.H5Aget_type(attribute.get()), hdf5_.H5Tclose);
        if (holds_references(type.get()) || is_own_attribute(name)) return {};
        return copy_values(attribute, name, to);
      }));
  for (const NetcdfAttribute& attribute : own) RETURN_IF_ERROR(put(to, attribute));
  return {};
}

Result<void> Hdf5AttributeCopy::copy_plain_with_history(hid_t from, hid_t to,
                                                        const std::string& line) const {
  bool found = line.empty();
  RETURN_IF_ERROR(for_each_attribute(
      hdf5_, from, [&](const Hdf5Id& attribute, const std::string& name) -> Result<void> {
        const Hdf5Id type(hdf5_.H5Aget_type(attribute.get()), hdf5_.H5Tclose);
        if (holds_references(type.get())) return {};
        if (name == kFileHistory && !line.empty()) {
          found = true;
          TRY(const bool put, put_history(attribute, line, to));
          if (put) return {};
        }
        return copy_values(attribute, name, to);
      }));
  return found ? Result<void>() : put(to, text_attribute(std::string(kFileHistory), line));
}

Result<void> Hdf5AttributeCopy::put(hid_t to, const NetcdfAttribute& attribute) const {
  if (attribute.value.type == NetcdfType::text) {
    const std::string value(reinterpret_cast<const char*>(attribute.value.bytes.data()),
                            attribute.value.bytes.size());
    const Hdf5Id type(hdf5_.H5Tcopy(hdf5_.text), hdf5_.H5Tclose);
    const Hdf5Id space(hdf5_.H5Screate(H5S_SCALAR), hdf5_.H5Sclose);
    return put_text(to, attribute.name, value, type, space);
  }
  ENSURE(attribute.value.type == NetcdfType::f64);
  const hsize_t count = attribute.value.count();
  const Hdf5Id space(hdf5_.H5Screate_simple(1, &count, nullptr), hdf5_.H5Sclose);
  const Hdf5Id made(hdf5_.H5Acreate2(to, attribute.name.c_str(), hdf5_.native_double, space.get(),
                                     H5P_DEFAULT, H5P_DEFAULT),
                    hdf5_.H5Aclose);
  if (!made.valid() ||
      hdf5_.H5Awrite(made.get(), hdf5_.native_double, attribute.value.bytes.data()) < 0) {
    return hdf5_.failure(text("attribute '", attribute.name, "' cannot be written"));
  }
  return {};
}

/// False where the attribute is not one text, or its text would be longer than a header takes.
Result<bool> Hdf5AttributeCopy::put_history(const Hdf5Id& attribute, const std::string& line,
                                            hid_t to) const {
  const Hdf5Id type(hdf5_.H5Aget_type(attribute.get()), hdf5_.H5Tclose);
  const Hdf5Id space(hdf5_.H5Aget_space(attribute.get()), hdf5_.H5Sclose);
  if (hdf5_.H5Tget_class(type.get()) != H5T_STRING ||
      hdf5_.H5Sget_simple_extent_npoints(space.get()) != 1) {
    return false;
  }
  const Hdf5Id own(hdf5_.H5Tcopy(type.get()), hdf5_.H5Tclose);
  std::string before;
  if (hdf5_.H5Tis_variable_str(type.get()) > 0) {
    char* pointer = nullptr;
    if (hdf5_.H5Aread(attribute.get(), own.get(), &pointer) < 0) return false;
    if (pointer != nullptr) before = pointer;
    hdf5_.H5Dvlen_reclaim(own.get(), space.get(), H5P_DEFAULT, &pointer);
  } else {
    before.resize(hdf5_.H5Tget_size(type.get()));
    if (hdf5_.H5Aread(attribute.get(), own.get(), before.data()) < 0) return false;
    before.resize(std::min(before.find('\0'), before.size()));
    constexpr std::size_t kMostInHeader = 64000;
    if (before.size() + line.size() + 1 > kMostInHeader) return false;
  }
  RETURN_IF_ERROR(put_text(to, std::string(kFileHistory), history_text(line, before), own, space));
  return true;
}

/// `type` is of text, of a fixed length (which is set here) or of any.
Result<void> Hdf5AttributeCopy::put_text(hid_t to, const std::string& name,
                                         const std::string& value, const Hdf5Id& type,
                                         const Hdf5Id& space) const {
  const bool any_length = hdf5_.H5Tis_variable_str(type.get()) > 0;
  if (!any_length) hdf5_.H5Tset_size(type.get(), std::max<std::size_t>(value.size(), 1));
  const Hdf5Id made(
      hdf5_.H5Acreate2(to, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
      hdf5_.H5Aclose);
  const char* const characters = value.c_str();
  const void* const values = any_length ? static_cast<const void*>(&characters) : characters;
  if (!made.valid() || hdf5_.H5Awrite(made.get(), type.get(), values) < 0) {
    return hdf5_.failure(text("attribute '", name, "' cannot be written"));
  }
  return {};
}

Result<void> Hdf5AttributeCopy::copy_references(hid_t from, hid_t to,
                                                const std::string& path) const {
  return for_each_attribute(
      hdf5_, from, [&](const Hdf5Id& attribute, const std::string& name) -> Result<void> {
        const Hdf5Id type(hdf5_.H5Aget_type(attribute.get()), hdf5_.H5Tclose);
        if (!holds_references(type.get())) return {};
        if (hdf5_.H5Aexists(to, name.c_str()) > 0 && hdf5_.H5Adelete(to, name.c_str()) < 0) {
          return hdf5_.failure(text("attribute '", name, "' cannot be replaced"));
        }
        auto done = translate(attribute, name, to);
        if (!done.ok()) {
          return Error{done.error().code, text("'", path, "': ", done.error().message)};
        }
        return {};
      });
}

Result<void> Hdf5AttributeCopy::copy_values(const Hdf5Id& attribute, const std::string& name,
                                            hid_t to) const {
  const Hdf5Id type(hdf5_.H5Aget_type(attribute.get()), hdf5_.H5Tclose);
  const Hdf5Id space(hdf5_.H5Aget_space(attribute.get()), hdf5_.H5Sclose);
  // A type with a name belongs to the old file; its copy has none.
  const Hdf5Id own(hdf5_.H5Tcopy(type.get()), hdf5_.H5Tclose);
  const Hdf5Id made(
      hdf5_.H5Acreate2(to, name.c_str(), own.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
      hdf5_.H5Aclose);
  if (!made.valid()) return hdf5_.failure(text("attribute '", name, "' cannot be made"));
  const hssize_t count = hdf5_.H5Sget_simple_extent_npoints(space.get());
  if (count <= 0) return {};
  std::vector<std::byte> values(static_cast<std::size_t>(count) * hdf5_.H5Tget_size(own.get()));
  if (hdf5_.H5Aread(attribute.get(), own.get(), values.data()) < 0) {
    return hdf5_.failure(text("attribute '", name, "' cannot be read"));
  }
  const bool written = hdf5_.H5Awrite(made.get(), own.get(), values.data()) >= 0;
  // Does nothing where no element has a length of its own.
  hdf5_.H5Dvlen_reclaim(own.get(), space.get(), H5P_DEFAULT, values.data());
  if (!written) return hdf5_.failure(text("attribute '", name, "' cannot be written"));
  return {};
}

Result<hobj_ref_t> Hdf5AttributeCopy::translated(const hobj_ref_t& reference) const {
  if (reference == 0) return reference;
  std::string name(4096, '\0');
  const ssize_t length =
      hdf5_.H5Rget_name(from_file_, H5R_OBJECT, &reference, name.data(), name.size());
  if (length <= 0 || static_cast<std::size_t>(length) >= name.size()) {
    return hdf5_.failure("a reference leads nowhere");
  }
  name.resize(static_cast<std::size_t>(length));
  hobj_ref_t result{};
  if (hdf5_.H5Rcreate(&result, to_file_, name.c_str(), H5R_OBJECT, -1) < 0) {
    return hdf5_.failure(text("a reference to '", name, "' cannot be made"));
  }
  return result;
}

Result<void> Hdf5AttributeCopy::translate(const Hdf5Id& attribute, const std::string& name,
                                          hid_t to) const {
  const Hdf5Id type(hdf5_.H5Aget_type(attribute.get()), hdf5_.H5Tclose);
  const Hdf5Id space(hdf5_.H5Aget_space(attribute.get()), hdf5_.H5Sclose);
  const auto count = static_cast<std::size_t>(
      std::max<hssize_t>(hdf5_.H5Sget_simple_extent_npoints(space.get()), 0));
  const H5T_class_t type_class = hdf5_.H5Tget_class(type.get());
  const bool plain = hdf5_.H5Tequal(type.get(), hdf5_.reference_type) > 0;
  const bool uses = name == "REFERENCE_LIST" && type_class == H5T_COMPOUND &&
                    hdf5_.H5Tget_nmembers(type.get()) == 2;
  bool rows = false;
  if (type_class == H5T_VLEN) {
    const Hdf5Id element(hdf5_.H5Tget_super(type.get()), hdf5_.H5Tclose);
    rows = hdf5_.H5Tequal(element.get(), hdf5_.reference_type) > 0;
  }
  if (!plain && !uses && !rows) {
    return unsupported(
        "attribute '", name,
        "' holds references of a kind that a copy would break; use h5repack with the "
        "line of `tensorpress hdf5 args`");
  }
  const Hdf5Id made(
      hdf5_.H5Acreate2(to, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
      hdf5_.H5Aclose);
  if (!made.valid()) return hdf5_.failure(text("attribute '", name, "' cannot be made"));
  const std::size_t size = hdf5_.H5Tget_size(type.get());
  std::vector<std::byte> values(count * size);
  if (hdf5_.H5Aread(attribute.get(), type.get(), values.data()) < 0) {
    return hdf5_.failure(text("attribute '", name, "' cannot be read"));
  }
  Result<void> outcome;
  const auto replace = [&](hobj_ref_t& reference) {
    if (!outcome.ok()) return;
    auto found = translated(reference);
    if (found.ok()) {
      reference = *found;
    } else {
      outcome = std::move(found).error();
    }
  };
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* const element = values.data() + i * size;
    if (rows) {
      const auto& row = *reinterpret_cast<const hvl_t*>(element);
      for (std::size_t k = 0; k < row.len; ++k) replace(static_cast<hobj_ref_t*>(row.p)[k]);
    } else if (uses) {
      replace(reinterpret_cast<ScaleUse*>(element)->dataset);
    } else {
      replace(*reinterpret_cast<hobj_ref_t*>(element));
    }
  }
  if (outcome.ok() && hdf5_.H5Awrite(made.get(), type.get(), values.data()) < 0) {
    outcome = hdf5_.failure(text("attribute '", name, "' cannot be written"));
  }
  if (rows) hdf5_.H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, values.data());
  return outcome;
}

}  // namespace tensorpress::files
