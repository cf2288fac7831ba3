#include "files/hdf5/values.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/errors.h"

namespace tensorpress::files {
namespace {

/// So that what follows cannot be taken for a part of it.
void append_length(std::size_t length, std::string& to) {
  to.append(reinterpret_cast<const char*>(&length), sizeof length);
}

std::string name_of_target(const Hdf5Functions& hdf5, hid_t file, const void* reference,
                           std::size_t size) {
  std::string name(4096, '\0');
  const auto kind = size == sizeof(hobj_ref_t) ? H5R_OBJECT : H5R_DATASET_REGION;
  const ssize_t length = hdf5.H5Rget_name(file, kind, reference, name.data(), name.size());
  if (length <= 0 || static_cast<std::size_t>(length) >= name.size()) return "nothing";
  name.resize(static_cast<std::size_t>(length));
  return name;
}

}  // namespace

Result<Hdf5Elements> Hdf5Elements::make(const Hdf5Functions& hdf5, hid_t type) {
  return make(hdf5, type, 0);
}

Result<Hdf5Elements> Hdf5Elements::make(const Hdf5Functions& hdf5, hid_t type, int depth) {
  constexpr int kMostNested = 64;
  if (depth > kMostNested) return unsupported("a type is nested more than ", kMostNested, " deep");
  Hdf5Elements result;
  result.size_ = hdf5.H5Tget_size(type);
  if (result.size_ == 0) return hdf5.failure("a type cannot be read");
  const auto add = [&](hid_t member, std::size_t offset) -> Result<void> {
    const Hdf5Id id(member, hdf5.H5Tclose);
    if (!id.valid()) return hdf5.failure("a type cannot be read");
    TRY(auto elements, make(hdf5, id.get(), depth + 1));
    result.members_.push_back({offset, std::move(elements)});
    return {};
  };
  switch (hdf5.H5Tget_class(type)) {
    case H5T_STRING:
      if (hdf5.H5Tis_variable_str(type) > 0) result.kind_ = Kind::text;
      break;
    case H5T_REFERENCE:
      result.kind_ = Kind::reference;
      break;
    case H5T_VLEN:
      result.kind_ = Kind::row;
      RETURN_IF_ERROR(add(hdf5.H5Tget_super(type), 0));
      break;
    case H5T_COMPOUND: {
      result.kind_ = Kind::compound;
      const int count = hdf5.H5Tget_nmembers(type);
      for (int i = 0; i < count; ++i) {
        const auto member = static_cast<unsigned>(i);
        RETURN_IF_ERROR(
            add(hdf5.H5Tget_member_type(type, member), hdf5.H5Tget_member_offset(type, member)));
      }
      break;
    }
    case H5T_ARRAY: {
      result.kind_ = Kind::array;
      RETURN_IF_ERROR(add(hdf5.H5Tget_super(type), 0));
      result.count_ = result.size_ / std::max<std::size_t>(result.members_[0].elements.size_, 1);
      break;
    }
    default:
      break;
  }
  return result;
}

bool Hdf5Elements::flat() const {
  if (kind_ == Kind::text || kind_ == Kind::row || kind_ == Kind::reference) return false;
  return std::ranges::all_of(members_, [](const Member& member) { return member.elements.flat(); });
}

void Hdf5Elements::append(const Hdf5Functions& hdf5, hid_t file, const std::byte* element,
                          std::string& to) const {
  switch (kind_) {
    case Kind::bytes:
      to.append(reinterpret_cast<const char*>(element), size_);
      return;
    case Kind::text: {
      const char* text = nullptr;
      std::memcpy(&text, element, sizeof text);
      const std::size_t length = text != nullptr ? std::strlen(text) : 0;
      append_length(length, to);
      if (length > 0) to.append(text, length);
      return;
    }
    case Kind::row: {
      hvl_t row{};
      std::memcpy(&row, element, sizeof row);
      append_length(row.len, to);
      const Hdf5Elements& each = members_[0].elements;
      for (std::size_t i = 0; i < row.len; ++i) {
        each.append(hdf5, file, static_cast<const std::byte*>(row.p) + i * each.size_, to);
      }
      return;
    }
    case Kind::compound:
      for (const Member& member : members_) {
        member.elements.append(hdf5, file, element + member.offset, to);
      }
      return;
    case Kind::array:
      for (std::size_t i = 0; i < count_; ++i) {
        const Hdf5Elements& each = members_[0].elements;
        each.append(hdf5, file, element + i * each.size_, to);
      }
      return;
    case Kind::reference: {
      const std::string name = name_of_target(hdf5, file, element, size_);
      append_length(name.size(), to);
      to += name;
      return;
    }
  }
}

std::string hdf5_type_name(const Hdf5Functions& hdf5, hid_t type) {
  const std::size_t size = hdf5.H5Tget_size(type);
  const H5T_class_t type_class = hdf5.H5Tget_class(type);
  if (type_class == H5T_FLOAT) {
    return size == 4 ? "float" : size == 8 ? "double" : text("float", size * 8);
  }
  if (type_class == H5T_INTEGER) {
    constexpr std::array kNames = {"byte", "short", "int", "int64"};
    constexpr std::array<std::size_t, 4> kSizes = {1, 2, 4, 8};
    const auto found = std::ranges::find(kSizes, size);
    if (found == kSizes.end()) return text("int", size * 8);
    return text(hdf5.H5Tget_sign(type) == H5T_SGN_NONE ? "u" : "",
                kNames[static_cast<std::size_t>(found - kSizes.begin())]);
  }
  if (type_class == H5T_STRING && hdf5.H5Tis_variable_str(type) <= 0 && size == 1) return "char";
  constexpr std::array kClasses = {"int",      "float",     "time", "string", "bits", "opaque",
                                   "compound", "reference", "enum", "vlen",   "array"};
  const auto index = static_cast<std::size_t>(type_class);
  return type_class >= 0 && index < kClasses.size() ? kClasses[index] : "other";
}

}  // namespace tensorpress::files
