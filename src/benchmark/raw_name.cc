#include "benchmark/raw_name.h"

#include <algorithm>

namespace tensorpress::benchmark {
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

}  // namespace

std::optional<files::RawFormat> raw_format_of_name(std::string_view path) {
  const NameParts parts = parts_of(path);
  if (parts.shape.empty()) return std::nullopt;
  const auto dtype = parse_dtype(parts.extension);
  const auto shape = Shape::parse(parts.shape);
  if (!dtype.ok() || !shape.ok()) return std::nullopt;
  return files::RawFormat{*shape, *dtype};
}

std::string field_name_of(std::string_view path) {
  const NameParts parts = parts_of(path);
  const bool has_format = raw_format_of_name(path).has_value();
  if (has_format) return std::string(parts.stem);
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  return std::string(name.substr(0, name.find_last_of('.')));
}

}  // namespace tensorpress::benchmark
