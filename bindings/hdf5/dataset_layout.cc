#include "dataset_layout.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/errors.h"
#include "base/tensor/elements.h"

namespace tensorpress::hdf5 {
namespace {

struct FloatLayout {
  DType dtype;
  std::size_t bytes, sign, exponent, exponent_bits, mantissa, mantissa_bits, bias;
};

constexpr std::array kLayouts = {FloatLayout{DType::f16, 2, 15, 10, 5, 0, 10, 15},
                                 FloatLayout{DType::bf16, 2, 15, 7, 8, 0, 7, 127},
                                 FloatLayout{DType::f32, 4, 31, 23, 8, 0, 23, 127},
                                 FloatLayout{DType::f64, 8, 63, 52, 11, 0, 52, 1023}};

const char* class_in_words(int type_class) {
  constexpr std::array kNames = {
      "integers",     "floats",    "times",      "strings",      "bit fields",
      "opaque bytes", "compounds", "references", "enumerations", "variable-length rows",
      "arrays"};
  const auto index = static_cast<std::size_t>(type_class);
  return type_class >= 0 && index < kNames.size() ? kNames[index] : "elements of an unknown class";
}

template <class T>
double element_as_double(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return to_double(value);
}

Result<std::optional<double>> fill_value(const Host& host, abi::hid_t creation, abi::hid_t type,
                                         const ElementType& element) {
  abi::H5Pfill_value_defined* defined = nullptr;
  RETURN_IF_ERROR(host.find("H5Pfill_value_defined", defined));
  abi::H5Pget_fill_value* get = nullptr;
  RETURN_IF_ERROR(host.find("H5Pget_fill_value", get));
  int status = 0;
  if (defined(creation, &status) < 0) return internal_error("HDF5 does not say the fill value");
  if (status != abi::kFillUserDefined) return std::optional<double>();
  std::array<std::byte, 8> bytes{};
  if (get(creation, type, bytes.data()) < 0) {
    return internal_error("HDF5 does not give the fill value");
  }
  if (element.big_endian != (std::endian::native == std::endian::big)) {
    std::reverse(bytes.begin(),
                 bytes.begin() + static_cast<std::ptrdiff_t>(size_of(element.dtype)));
  }
  const double value = with_type(
      element.dtype, [&](auto kind) { return element_as_double<decltype(kind)>(bytes.data()); });
  if (value == 0) return std::optional<double>();
  return std::optional(value);
}

}  // namespace

Result<ElementType> element_type(const Host& host, abi::hid_t type) {
  abi::H5Tget_class* get_class = nullptr;
  RETURN_IF_ERROR(host.find("H5Tget_class", get_class));
  const int type_class = get_class(type);
  if (type_class != abi::kClassFloat) {
    return unsupported("the tensorpress filter takes floats; this dataset has ",
                       class_in_words(type_class));
  }
  abi::H5Tget_size* get_size = nullptr;
  RETURN_IF_ERROR(host.find("H5Tget_size", get_size));
  abi::H5Tget_order* get_order = nullptr;
  RETURN_IF_ERROR(host.find("H5Tget_order", get_order));
  abi::H5Tget_fields* get_fields = nullptr;
  RETURN_IF_ERROR(host.find("H5Tget_fields", get_fields));
  abi::H5Tget_ebias* get_bias = nullptr;
  RETURN_IF_ERROR(host.find("H5Tget_ebias", get_bias));
  FloatLayout found{};
  found.bytes = get_size(type);
  const int order = get_order(type);
  if (get_fields(type, &found.sign, &found.exponent, &found.exponent_bits, &found.mantissa,
                 &found.mantissa_bits) < 0) {
    return internal_error("HDF5 does not say how its floats are laid out");
  }
  found.bias = get_bias(type);
  for (const FloatLayout& known : kLayouts) {
    const bool same = known.bytes == found.bytes && known.sign == found.sign &&
                      known.exponent == found.exponent &&
                      known.exponent_bits == found.exponent_bits &&
                      known.mantissa == found.mantissa &&
                      known.mantissa_bits == found.mantissa_bits && known.bias == found.bias;
    if (same && (order == abi::kOrderLittle || order == abi::kOrderBig)) {
      return ElementType{known.dtype, order == abi::kOrderBig};
    }
  }
  return unsupported(
      "the tensorpress filter takes f16, bf16, f32 and f64; this dataset has floats of ",
      found.bytes, " bytes with ", found.exponent_bits, " bits of exponent and ",
      found.mantissa_bits, " of mantissa");
}

Result<files::Hdf5Chunk> dataset_chunk(const Host& host, abi::hid_t creation, abi::hid_t type) {
  constexpr int kMaxHdf5Rank = 32;
  files::Hdf5Chunk chunk;
  TRY(const ElementType element, element_type(host, type));
  chunk.dtype = element.dtype;
  chunk.big_endian = element.big_endian;
  TRY(chunk.fill_value, fill_value(host, creation, type, element));
  abi::H5Pget_chunk* get_chunk = nullptr;
  RETURN_IF_ERROR(host.find("H5Pget_chunk", get_chunk));
  std::array<abi::hsize_t, kMaxHdf5Rank> extents{};
  const int rank = get_chunk(creation, kMaxHdf5Rank, extents.data());
  if (rank < 1 || rank > kMaxHdf5Rank) {
    return bad_argument("the dataset has no chunks, and only chunks can be compressed");
  }
  const std::vector<std::uint64_t> wide(extents.begin(), extents.begin() + rank);
  TRY(chunk.shape, files::hdf5_chunk_shape(wide));
  return chunk;
}

Result<StoredValues> stored_values(const Host& host, abi::hid_t creation) {
  abi::H5Pget_filter_by_id2* get = nullptr;
  RETURN_IF_ERROR(host.find("H5Pget_filter_by_id2", get));
  StoredValues values;
  values.words.resize(files::kMaxHdf5Words);
  std::size_t count = values.words.size();
  if (get(creation, files::kHdf5FilterId, &values.flags, &count, values.words.data(), 0, nullptr,
          nullptr) < 0) {
    return internal_error("HDF5 does not give the filter's values");
  }
  if (count > values.words.size()) {
    return too_large("the HDF5 filter has ", count, " values; at most ", files::kMaxHdf5Words,
                     " mean something");
  }
  values.words.resize(count);
  return values;
}

Result<void> replace_values(const Host& host, abi::hid_t creation, const StoredValues& values) {
  abi::H5Pmodify_filter* modify = nullptr;
  RETURN_IF_ERROR(host.find("H5Pmodify_filter", modify));
  if (modify(creation, files::kHdf5FilterId, values.flags, values.words.size(),
             values.words.data()) < 0) {
    return internal_error("HDF5 does not take the filter's completed values");
  }
  return {};
}

}  // namespace tensorpress::hdf5
