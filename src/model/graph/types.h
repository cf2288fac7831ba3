// Types of values in a model: element type and shape. A dimension is a number or a whole multiple
// of a symbol such as the batch size N, which stays open until bytes are asked for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tensorpress::model {

enum class Element : std::uint8_t { f32, f64, f16, bf16, i64, i32, u8, boolean };

std::optional<Element> parse_element(std::string_view name);
std::string_view name_of(Element element);
/// "torch.float32"
std::string_view torch_name(Element element);
std::int64_t bytes_of(Element element);
bool is_floating(Element element);
/// Whole numbers that are computed with: i64 and i32.
bool is_whole(Element element);

/// `factor`, or `factor` times the symbol.
struct Dim {
  std::int64_t factor = 0;
  std::string symbol;

  bool known() const { return symbol.empty(); }
  friend bool operator==(const Dim&, const Dim&) = default;
};

inline Dim dim(std::int64_t extent) {
  return {extent, {}};
}
std::string to_text(const Dim& dim);

using Shape = std::vector<Dim>;
std::string to_text(const Shape& shape);
/// As a Python expression: "(N, 64, 8, 8)"; symbols are variables of the emitted code.
std::string to_python(const Shape& shape);

/// Numbers for the symbols.
using Sizes = std::map<std::string, std::int64_t>;

/// Extents and element counts above this are refused, so that products fit in 64 bits.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;

/// The product of dimensions, if it is a number or a multiple of one symbol and not too large.
std::optional<Dim> product(const Shape& shape, std::size_t first, std::size_t last);
/// `a` / `b` if that is a whole number or a whole multiple of a symbol.
std::optional<Dim> quotient(const Dim& a, const Dim& b);

std::int64_t extent(const Dim& dim, const Sizes& sizes);
std::int64_t elements(const Shape& shape, const Sizes& sizes);

struct TensorType {
  Element element = Element::f32;
  Shape shape;
  bool sparse = false;  // a matrix in compressed sparse rows
  Dim entries = {};     // of such a matrix

  friend bool operator==(const TensorType&, const TensorType&) = default;
};
/// Entries of a row of a sparse matrix, where the model does not say how many there are.
inline constexpr std::int64_t kUsualEntries = 16;

/// "f32[N, 3, 32, 32]", "csr f32[V, V] entries E"
std::string to_text(const TensorType& type);
std::int64_t bytes(const TensorType& type, const Sizes& sizes);

}  // namespace tensorpress::model
