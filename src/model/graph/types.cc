#include "model/graph/types.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace tensorpress::model {
namespace {

struct ElementRow {
  Element element;
  std::string_view name;
  std::string_view torch;
  std::int64_t bytes;
  bool floating;
};
constexpr std::array<ElementRow, 8> kElements = {{
    {Element::f32, "f32", "torch.float32", 4, true},
    {Element::f64, "f64", "torch.float64", 8, true},
    {Element::f16, "f16", "torch.float16", 2, true},
    {Element::bf16, "bf16", "torch.bfloat16", 2, true},
    {Element::i64, "i64", "torch.int64", 8, false},
    {Element::i32, "i32", "torch.int32", 4, false},
    {Element::u8, "u8", "torch.uint8", 1, false},
    {Element::boolean, "bool", "torch.bool", 1, false},
}};

const ElementRow& row(Element element) {
  return kElements[static_cast<std::size_t>(element)];
}

}  // namespace

std::optional<Element> parse_element(std::string_view name) {
  for (const ElementRow& each : kElements) {
    if (each.name == name) return each.element;
  }
  return std::nullopt;
}

std::string_view name_of(Element element) {
  return row(element).name;
}

std::string_view torch_name(Element element) {
  return row(element).torch;
}

std::int64_t bytes_of(Element element) {
  return row(element).bytes;
}

bool is_floating(Element element) {
  return row(element).floating;
}

bool is_whole(Element element) {
  return element == Element::i64 || element == Element::i32;
}

std::string to_text(const Dim& dim) {
  if (dim.known()) return text(dim.factor);
  return dim.factor == 1 ? dim.symbol : text(dim.factor, " * ", dim.symbol);
}

std::string to_text(const Shape& shape) {
  std::string out = "[";
  for (const Dim& dim : shape) out += text(out.size() > 1 ? ", " : "", to_text(dim));
  return out + "]";
}

std::string to_python(const Shape& shape) {
  std::string out = "(";
  for (const Dim& dim : shape) out += text(out.size() > 1 ? ", " : "", to_text(dim));
  return out + (shape.size() == 1 ? ",)" : ")");
}

std::optional<Dim> product(const Shape& shape, std::size_t first, std::size_t last) {
  Dim result = dim(1);
  for (std::size_t i = first; i < last; ++i) {
    const Dim& next = shape[i];
    if (!next.known() && !result.known()) return std::nullopt;
    if (next.factor != 0 && result.factor > kMaxElements / next.factor) return std::nullopt;
    result.factor *= next.factor;
    if (!next.known()) result.symbol = next.symbol;
  }
  return result;
}

std::optional<Dim> quotient(const Dim& a, const Dim& b) {
  if (b.factor == 0 || a.factor % b.factor != 0) return std::nullopt;
  if (a.symbol == b.symbol) return dim(a.factor / b.factor);
  if (b.known()) return Dim{a.factor / b.factor, a.symbol};
  return std::nullopt;
}

std::int64_t extent(const Dim& dim, const Sizes& sizes) {
  if (dim.known()) return dim.factor;
  const auto found = sizes.find(dim.symbol);
  const std::int64_t size = found == sizes.end() ? 1 : found->second;
  if (size != 0 && dim.factor > kMaxElements / size) return kMaxElements;
  return dim.factor * size;
}

std::int64_t elements(const Shape& shape, const Sizes& sizes) {
  std::int64_t count = 1;
  for (const Dim& each : shape) {
    const std::int64_t size = extent(each, sizes);
    if (size != 0 && count > kMaxElements / size) return kMaxElements;
    count *= size;
  }
  return count;
}

std::string to_text(const TensorType& type) {
  return text(type.sparse ? "csr " : "", name_of(type.element), to_text(type.shape),
              type.sparse ? text(" entries ", to_text(type.entries)) : std::string());
}

std::int64_t bytes(const TensorType& type, const Sizes& sizes) {
  if (type.sparse) {  // values and columns, and where each row begins; PyTorch's indices are i64
    const std::int64_t index = bytes_of(Element::i64);
    return extent(type.entries, sizes) * (bytes_of(type.element) + index) +
           (extent(type.shape[0], sizes) + 1) * index;
  }
  return elements(type.shape, sizes) * bytes_of(type.element);
}

}  // namespace tensorpress::model
