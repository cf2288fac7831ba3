#include "files/tensor/raw_format.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/errors.h"

namespace tensorpress::files {
namespace {

struct NameParts {
  std::string_view stem;       // without folders, shape and extension
  std::string_view shape;      // "" if there is none
  std::string_view extension;  // without the dot
};

bool is_shape(std::string_view text) {
  const bool begins_and_ends_with_digits =
      !text.empty() && text.front() != 'x' && text.back() != 'x';
  return begins_and_ends_with_digits && text.find("xx") == std::string_view::npos &&
         text.find_first_not_of("0123456789x") == std::string_view::npos;
}

NameParts parts_of(std::string_view path) {
  const std::string_view name = path.substr(path.find_last_of('/') + 1);  // npos + 1 is 0
  const std::size_t dot = name.find_last_of('.');
  NameParts parts{.stem = name.substr(0, dot), .shape = {}, .extension = {}};
  if (dot != std::string_view::npos) parts.extension = name.substr(dot + 1);
  const std::size_t mark = parts.stem.find_last_of('_');
  if (mark != std::string_view::npos && is_shape(parts.stem.substr(mark + 1))) {
    parts.shape = parts.stem.substr(mark + 1);
    parts.stem = parts.stem.substr(0, mark);
  }
  return parts;
}

constexpr std::array<std::pair<std::string_view, DType>, 5> kNumpyCodes = {{{"f4", DType::f32},
                                                                            {"f8", DType::f64},
                                                                            {"f2", DType::f16},
                                                                            {"u1", DType::u8},
                                                                            {"i2", DType::i16}}};

/// "1x1800x3600" of the last `groups` numbers of "CLDHGH_1_1800_3600"; "" when there are not as
/// many.
std::string last_groups(std::string_view stem, std::size_t groups) {
  std::string shape;
  for (std::size_t i = 0; i < groups; ++i) {
    const std::size_t mark = stem.find_last_of('_');
    if (mark == std::string_view::npos) return {};
    const std::string_view number = stem.substr(mark + 1);
    if (number.empty() || number.find_first_not_of("0123456789") != std::string_view::npos) {
      return {};
    }
    shape = text(number, shape.empty() ? "" : "x", shape);
    stem = stem.substr(0, mark);
  }
  return shape;
}

std::string_view name_without_extension(std::string_view path) {
  const std::string_view name = path.substr(path.find_last_of('/') + 1);  // npos + 1 is 0
  return name.substr(0, name.find_last_of('.'));
}

}  // namespace

Result<StoredType> parse_stored_type(std::string_view word) {
  StoredType type;
  std::string_view name = word;
  if (!name.empty() && std::string_view("<>=|").find(name[0]) != std::string_view::npos) {
    type.big_endian = name[0] == '>';
    name.remove_prefix(1);
  }
  const auto numpy =
      std::ranges::find(kNumpyCodes, name, &std::pair<std::string_view, DType>::first);
  if (numpy != kNumpyCodes.end()) {
    type.dtype = numpy->second;
    return type;
  }
  TRY(type.dtype, parse_dtype(name));
  return type;
}

std::optional<DType> dtype_of_name(std::string_view path) {
  std::string extension(parts_of(path).extension);
  std::ranges::transform(extension, extension.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  if (extension == "d64") return DType::f64;
  const auto dtype = parse_dtype(extension);
  return dtype.ok() ? std::optional(*dtype) : std::nullopt;
}

std::optional<RawFormat> raw_format_of_name(std::string_view path) {
  const NameParts parts = parts_of(path);
  const auto dtype = dtype_of_name(path);
  if (parts.shape.empty() || !dtype) return std::nullopt;
  const auto shape = Shape::parse(parts.shape);
  return shape.ok() ? std::optional(RawFormat{*shape, *dtype}) : std::nullopt;
}

std::optional<RawFormat> raw_format_of_file(const std::string& path,
                                            const std::optional<StoredType>& type) {
  const auto named = dtype_of_name(path);
  if (!type && !named) return std::nullopt;
  const StoredType stored = type ? *type : StoredType{*named};
  std::error_code unknown;
  const std::uint64_t bytes = std::filesystem::file_size(path, unknown);
  const std::string_view stem = name_without_extension(path);
  for (std::size_t groups = kMaxRank; !unknown && groups > 0; --groups) {
    const std::string extents = last_groups(stem, groups);
    const auto shape = extents.empty() ? Result<Shape>(corrupt("")) : Shape::parse(extents);
    if (shape.ok() && shape->element_count() * size_of(stored.dtype) == bytes) {
      return RawFormat{*shape, stored.dtype, stored.big_endian};
    }
  }
  // A single number that is not the size may be anything.
  const std::string_view written = parts_of(path).shape;
  if (written.find('x') == std::string_view::npos) return std::nullopt;
  const auto shape = Shape::parse(written);
  if (!shape.ok()) return std::nullopt;
  return RawFormat{*shape, stored.dtype, stored.big_endian};
}

std::string field_name_of(std::string_view path) {
  const NameParts parts = parts_of(path);
  const bool has_format = raw_format_of_name(path).has_value();
  if (has_format) return std::string(parts.stem);
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  return std::string(name.substr(0, name.find_last_of('.')));
}

}  // namespace tensorpress::files
