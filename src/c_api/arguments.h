// C structs checked and turned into the C++ values that the library takes.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "c_api/border.h"
#include "tensorpress/stream.h"

namespace tensorpress::c_api {

struct CompressRequest {
  Codec codec;
  CompressOptions options;
  tensorpress_allocator allocator;
};
struct DecompressRequest {
  DecompressOptions options;
  tensorpress_allocator allocator;
};

/// The options as this version knows them: zeros for what an older caller does not have, an error
/// for what a newer caller asks beyond them.
template <class Options>
Result<Options> known_options(const Options* given, std::size_t first_version_size) {
  Options options{};
  if (given == nullptr) return options;
  const std::size_t size = given->struct_size;
  if (size < first_version_size || size > 4096) {
    return bad_argument("struct_size is ", size, "; initialize options with the init call");
  }
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t i = sizeof(Options); i < size; ++i) {
    if (bytes[i] != 0) {
      return unsupported("the options set a field that version ", TENSORPRESS_VERSION_STRING,
                         " of the library does not have");
    }
  }
  std::memcpy(&options, bytes, std::min(size, sizeof(Options)));
  return options;
}

/// NULL: the defaults.
Result<CompressRequest> request_of(const tensorpress_compress_options* options);
Result<DecompressRequest> request_of(const tensorpress_decompress_options* options);

Result<DType> dtype_of(tensorpress_dtype dtype);
/// What has elements has data.
Result<TensorView> view_of(const tensorpress_view* view);
/// The same for a tensor whose data will not be touched.
Result<TensorView> view_without_data(const tensorpress_view* view);
Result<MutableTensorView> view_of(const tensorpress_mutable_view* view);

/// `data` may be NULL only when there are no bytes.
Result<std::span<const std::byte>> bytes_of(const void* data, std::size_t bytes,
                                            std::string_view name);

}  // namespace tensorpress::c_api
