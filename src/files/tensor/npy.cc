#include "files/tensor/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/errors.h"

namespace tensorpress::files {
namespace {

// NumPy's own limit is 10000 unless the user trusts the file; real headers have about 120 bytes.
constexpr std::uint32_t kMaxDictBytes = 1 << 20;
constexpr std::size_t kAlignment = 64;
// NumPy leaves room for this many digits in the first extent so that an array can grow in place.
constexpr std::size_t kGrowthDigits = 21;

struct TypeCode {
  std::string_view code;
  DType dtype;
  std::string_view written;
};
constexpr std::array<TypeCode, 6> kTypeCodes = {{{"f4", DType::f32, "<f4"},
                                                 {"f8", DType::f64, "<f8"},
                                                 {"f2", DType::f16, "<f2"},
                                                 {"V2", DType::bf16, "<V2"},
                                                 {"u1", DType::u8, "|u1"},
                                                 {"i2", DType::i16, "<i2"}}};

// Hostile text, fit for a message: short and printable.
std::string shown(std::string_view raw) {
  constexpr std::size_t kLongest = 60;
  std::string out;
  for (const char c : raw.substr(0, kLongest)) out += c >= ' ' && c <= '~' ? c : '?';
  if (raw.size() > kLongest) out += "...";
  return out;
}

Error unsupported_type(std::string_view descr) {
  return unsupported("its element type ", shown(descr),
                     " is not supported; float32, float64, float16, bfloat16, uint8 and int16 are. "
                     "Convert it in NumPy, for example with array.astype('float32')");
}

struct ElementType {
  DType dtype = DType::f32;
  bool big_endian = false;
};

Result<ElementType> parse_descr(std::string_view descr) {
  if (descr == "bfloat16") return ElementType{DType::bf16, false};
  char order = '=';
  std::string_view code = descr;
  if (!code.empty() && std::string_view("<>=|").find(code[0]) != std::string_view::npos) {
    order = code[0];
    code.remove_prefix(1);
  }
  if (code.starts_with('c')) {
    return unsupported("its elements are complex (", shown(descr), "); save array.real and ",
                       "array.imag in files of their own and compress both");
  }
  for (const auto& known : kTypeCodes) {
    if (known.code != code) continue;
    // NumPy never swaps V2, so a big-endian one would mean nothing certain.
    if (known.dtype == DType::bf16 && order == '>') break;
    const bool native_is_big = std::endian::native == std::endian::big;
    return ElementType{known.dtype, order == '>' || (order != '<' && native_is_big)};
  }
  return unsupported_type(text("'", descr, "'"));
}

class DictParser {
 public:
  explicit DictParser(std::string_view dict) : dict_(dict) {}

  Result<NpyHeader> parse() {
    RETURN_IF_ERROR(expect('{'));
    while (!accept('}')) {
      RETURN_IF_ERROR(parse_entry());
      if (accept(',')) continue;
      RETURN_IF_ERROR(expect('}'));
      break;
    }
    skip_blanks();
    if (at_ != dict_.size()) return unexpected("nothing more");
    if (!type_) return corrupt("its header has no 'descr'");
    if (!fortran_order_) return corrupt("its header has no 'fortran_order'");
    if (!shape_) return corrupt("its header has no 'shape'");
    return NpyHeader{type_->dtype, type_->big_endian, *fortran_order_, *shape_, 0};
  }

 private:
  Result<void> parse_entry() {
    TRY(const std::string_view key, parse_string());
    RETURN_IF_ERROR(expect(':'));
    if (key == "descr" && !type_) return assign(type_, parse_type());
    if (key == "fortran_order" && !fortran_order_) return assign(fortran_order_, parse_bool());
    if (key == "shape" && !shape_) return assign(shape_, parse_shape());
    const bool known = key == "descr" || key == "fortran_order" || key == "shape";
    return corrupt("its header has ", known ? "two entries" : "an unknown entry", " '", shown(key),
                   "'; descr, fortran_order and shape are expected once each");
  }

  template <class T>
  static Result<void> assign(std::optional<T>& to, Result<T> value) {
    if (!value.ok()) return std::move(value).error();
    to = std::move(value).value();
    return {};
  }

  Result<ElementType> parse_type() {
    skip_blanks();
    // A list is a structured type, a tuple a type with a shape of its own.
    if (at_ < dict_.size() && (dict_[at_] == '[' || dict_[at_] == '(')) {
      return unsupported("its elements are structures of several fields, not numbers; save each ",
                         "field by itself: numpy.save('x.npy', array['field'])");
    }
    TRY(const std::string_view descr, parse_string());
    return parse_descr(descr);
  }

  Result<bool> parse_bool() {
    skip_blanks();
    for (const auto& [word, value] : {std::pair("True", true), std::pair("False", false)}) {
      if (!dict_.substr(at_).starts_with(word)) continue;
      at_ += std::string_view(word).size();
      return value;
    }
    return unexpected("True or False");
  }

  // "()", "(3,)", "(3, 4)", and Python 2's "(3L, 4L)". "(3)" is a number, not a tuple.
  Result<Shape> parse_shape() {
    RETURN_IF_ERROR(expect('('));
    std::vector<std::uint64_t> extents;
    bool tuple = true;
    while (!accept(')')) {
      TRY(extents.emplace_back(), parse_extent());
      tuple = accept(',');
      if (tuple) continue;
      RETURN_IF_ERROR(expect(')'));
      tuple = extents.size() > 1;
      break;
    }
    if (!tuple) return corrupt("its header has the shape (", extents[0], "), which is not a tuple");
    return Shape::make(extents);
  }

  Result<std::uint64_t> parse_extent() {
    skip_blanks();
    std::uint64_t extent = 0;
    const char* const begin = dict_.data() + at_;
    const auto [end, error] = std::from_chars(begin, dict_.data() + dict_.size(), extent);
    if (error == std::errc::result_out_of_range) {
      return too_large("its header has an extent beyond 64 bits: ", shown(dict_.substr(at_)));
    }
    if (error != std::errc{}) return unexpected("an extent");
    at_ += static_cast<std::size_t>(end - begin);
    if (at_ < dict_.size() && dict_[at_] == 'L') ++at_;
    return extent;
  }

  // Either quote, no escapes: nothing we could use needs one.
  Result<std::string_view> parse_string() {
    skip_blanks();
    if (at_ == dict_.size() || (dict_[at_] != '\'' && dict_[at_] != '"')) {
      return unexpected("a quoted text");
    }
    const std::size_t end = dict_.find(dict_[at_], at_ + 1);
    if (end == std::string_view::npos) return unexpected("a text with a closing quote");
    const std::string_view value = dict_.substr(at_ + 1, end - at_ - 1);
    if (value.find('\\') != std::string_view::npos) return unexpected("a text without escapes");
    at_ = end + 1;
    return value;
  }

  void skip_blanks() {
    while (at_ < dict_.size() && std::string_view(" \t\n\r\f").find(dict_[at_]) != dict_.npos) {
      ++at_;
    }
  }
  bool accept(char wanted) {
    skip_blanks();
    if (at_ == dict_.size() || dict_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  Result<void> expect(char wanted) {
    if (!accept(wanted)) return unexpected(text("'", wanted, "'"));
    return {};
  }
  Error unexpected(std::string_view wanted) const {
    const std::string found =
        at_ == dict_.size() ? "its end" : text("'", shown(dict_.substr(at_, 1)), "'");
    return corrupt("its header is damaged: ", wanted, " expected at byte ", at_,
                   " of the description, ", found, " found");
  }

  std::string_view dict_;
  std::size_t at_ = 0;
  std::optional<ElementType> type_;
  std::optional<bool> fortran_order_;
  std::optional<Shape> shape_;
};

Error not_npy(std::span<const std::byte> start) {
  constexpr std::string_view kZip = "PK\x03\x04";
  const std::string_view seen(reinterpret_cast<const char*>(start.data()), start.size());
  if (seen.empty()) return truncated("it is empty");
  if (kNpyMagic.starts_with(seen)) {
    return truncated("it ends after ", seen.size(), " bytes, inside the .npy header");
  }
  if (seen.starts_with(kZip)) {
    return unsupported(
        "it is an archive (.npz), not one array; save the array by itself with numpy.save");
  }
  if (seen.starts_with("\x89TPZ")) {
    return unsupported("it is a .tpz stream and compressed already; decompress gets it back");
  }
  if (seen.starts_with("\x89HDF\r\n") || seen.starts_with("CDF\x01") ||
      seen.starts_with("CDF\x02") || seen.starts_with("CDF\x05")) {
    return unsupported("it is a NetCDF or HDF5 file, which is not read from a pipe; name the file");
  }
  return corrupt(
      "it is not a .npy file; for raw numbers give their shape and type (`shape`, `dtype`)");
}

}  // namespace

Result<NpyHeader> parse_npy_dict(std::string_view dict) {
  return DictParser(dict).parse();
}

Result<NpyHeader> read_npy_header(ByteInput& input) {
  std::array<std::byte, 12> prefix{};
  TRY(const std::size_t magic_bytes, input.read(std::span(prefix).first(kNpyMagic.size())));
  const auto magic = std::span(prefix).first(magic_bytes);
  if (!std::ranges::equal(magic, std::as_bytes(std::span(kNpyMagic)))) return not_npy(magic);

  const auto missing = [](std::uint64_t needed) {
    return truncated("it ends inside the .npy header, which needs ", needed, " bytes");
  };
  const auto version = std::span(prefix).subspan(6, 2);
  TRY(const std::size_t version_bytes, input.read(version));
  if (version_bytes < version.size()) return missing(prefix.size());
  const auto major = std::to_integer<unsigned>(version[0]);
  const auto minor = std::to_integer<unsigned>(version[1]);
  if (major < 1 || major > 3 || minor != 0) {
    return unsupported("it has .npy version ", major, ".", minor, "; 1.0, 2.0 and 3.0 are known");
  }

  const auto length = std::span(prefix).subspan(8, major == 1 ? 2 : 4);
  const std::size_t prefix_bytes = 8 + length.size();
  TRY(const std::size_t length_bytes, input.read(length));
  if (length_bytes < length.size()) return missing(prefix_bytes);
  const std::uint32_t dict_bytes = load_le<std::uint32_t>(length.data());  // zeros follow 2 bytes
  if (dict_bytes > kMaxDictBytes) {
    return too_large("its header claims ", dict_bytes, " bytes; the limit is ", kMaxDictBytes);
  }

  std::string dict(dict_bytes, '\0');
  TRY(const std::size_t read_bytes, input.read(std::as_writable_bytes(std::span(dict))));
  if (read_bytes < dict.size()) return missing(prefix_bytes + dict.size());
  TRY(NpyHeader header, parse_npy_dict(dict));
  header.bytes = prefix_bytes + dict.size();
  return header;
}

std::string npy_header(DType dtype, const Shape& shape) {
  std::string dict = "{'descr': '";
  for (const auto& known : kTypeCodes) {
    if (known.dtype == dtype) dict += known.written;
  }
  dict += "', 'fortran_order': False, 'shape': (";
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    dict += text(axis > 0 ? " " : "", shape[axis],
                 axis + 1 < shape.rank() || shape.rank() == 1 ? "," : "");
  }
  dict += "), }";
  if (shape.rank() > 0) {
    const std::size_t digits = text(shape[0]).size();
    dict.append(kGrowthDigits - digits, ' ');
  }
  const std::size_t unpadded = kNpyMagic.size() + 4 + dict.size() + 1;
  dict.append(kAlignment - unpadded % kAlignment, ' ');  // 64 rather than none, as NumPy
  dict += '\n';

  std::string header(kNpyMagic);
  header += {'\x01', '\x00'};
  header += {static_cast<char>(dict.size() & 0xFF), static_cast<char>(dict.size() >> 8)};
  return header + dict;
}

}  // namespace tensorpress::files
