// C structs checked and turned into the C++ values that the library takes.
#pragma once

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
