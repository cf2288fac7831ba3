// The calls that compress, with and without a context.
#include <cstring>

#include "c_api/arguments.h"
#include "c_api/memory.h"

struct tensorpress_compressor {
  tensorpress::Compressor compressor;
  tensorpress_allocator allocator;
};

namespace tensorpress::c_api {
namespace {

Result<tensorpress_compressor> compressor_of(const tensorpress_compress_options* options) {
  TRY(auto request, request_of(options));
  return tensorpress_compressor{Compressor(std::move(request.codec), std::move(request.options)),
                                request.allocator};
}

Result<void> bound(const tensorpress_compressor& context, const tensorpress_view* input,
                   std::uint64_t* output_bytes) {
  RETURN_IF_ERROR(require(output_bytes, "output_bytes"));
  TRY(const TensorView view, view_without_data(input));
  TRY(*output_bytes, context.compressor.bound_on_output_size(view.shape, view.dtype));
  return {};
}

Result<void> compress(const tensorpress_compressor& context, const tensorpress_view* input,
                      void* output, std::size_t capacity, std::size_t* output_bytes) {
  RETURN_IF_ERROR(require(output_bytes, "output_bytes"));
  RETURN_IF_ERROR(require(output, "the output"));
  TRY(const TensorView view, view_of(input));
  const std::span room(static_cast<std::byte*>(output), capacity);
  TRY(const std::uint64_t length, context.compressor.compress(view, room));
  *output_bytes = static_cast<std::size_t>(length);
  return {};
}

// The room that always suffices is a promise more than memory: pages that nothing is written to
// cost nothing. The result has just the size it needs.
Result<void> compress_alloc(const tensorpress_compressor& context, const tensorpress_view* input,
                            void** output, std::size_t* output_bytes) {
  RETURN_IF_ERROR(require(output, "output"));
  std::uint64_t capacity = 0;
  std::size_t length = 0;
  RETURN_IF_ERROR(require(output_bytes, "output_bytes"));
  RETURN_IF_ERROR(bound(context, input, &capacity));
  if (capacity > PTRDIFF_MAX) return too_large(capacity, " bytes cannot be allocated");
  const OwnedBytes room(context.allocator, static_cast<std::size_t>(capacity));
  RETURN_IF_ERROR(
      compress(context, input, room.get(), static_cast<std::size_t>(capacity), &length));
  OwnedBytes result(context.allocator, length);
  std::memcpy(result.get(), room.get(), length);
  *output = result.take();
  *output_bytes = length;
  return {};
}

}  // namespace
}  // namespace tensorpress::c_api

using tensorpress::Result;
using tensorpress::c_api::at_border;
using tensorpress::c_api::compressor_of;
using tensorpress::c_api::require;

tensorpress_status tensorpress_bound_on_output_size(const tensorpress_view* input,
                                                    const tensorpress_compress_options* options,
                                                    uint64_t* output_bytes,
                                                    tensorpress_error* error) {
  return at_border(error, [&]() -> Result<void> {
    TRY(const auto context, compressor_of(options));
    return tensorpress::c_api::bound(context, input, output_bytes);
  });
}

tensorpress_status tensorpress_compress(const tensorpress_view* input,
                                        const tensorpress_compress_options* options, void* output,
                                        size_t output_capacity_bytes, size_t* output_bytes,
                                        tensorpress_error* error) {
  return at_border(error, [&]() -> Result<void> {
    TRY(const auto context, compressor_of(options));
    return tensorpress::c_api::compress(context, input, output, output_capacity_bytes,
                                        output_bytes);
  });
}

tensorpress_status tensorpress_compress_alloc(const tensorpress_view* input,
                                              const tensorpress_compress_options* options,
                                              void** output, size_t* output_bytes,
                                              tensorpress_error* error) {
  return at_border(error, [&]() -> Result<void> {
    TRY(const auto context, compressor_of(options));
    return tensorpress::c_api::compress_alloc(context, input, output, output_bytes);
  });
}

tensorpress_status tensorpress_compressor_create(const tensorpress_compress_options* options,
                                                 tensorpress_compressor** compressor,
                                                 tensorpress_error* error) {
  if (compressor != nullptr) *compressor = nullptr;
  return at_border(error, [&]() -> Result<void> {
    RETURN_IF_ERROR(require(compressor, "compressor"));
    TRY(auto context, compressor_of(options));
    const tensorpress_allocator allocator = context.allocator;
    *compressor = tensorpress::c_api::create<tensorpress_compressor>(allocator, std::move(context));
    return {};
  });
}

void tensorpress_compressor_free(tensorpress_compressor* compressor) {
  tensorpress::c_api::destroy(compressor);
}

tensorpress_status tensorpress_compressor_bound_on_output_size(
    const tensorpress_compressor* compressor, const tensorpress_view* input, uint64_t* output_bytes,
    tensorpress_error* error) {
  return at_border(error, [&]() -> Result<void> {
    RETURN_IF_ERROR(require(compressor, "compressor"));
    return tensorpress::c_api::bound(*compressor, input, output_bytes);
  });
}

tensorpress_status tensorpress_compressor_compress(const tensorpress_compressor* compressor,
                                                   const tensorpress_view* input, void* output,
                                                   size_t output_capacity_bytes,
                                                   size_t* output_bytes, tensorpress_error* error) {
  return at_border(error, [&]() -> Result<void> {
    RETURN_IF_ERROR(require(compressor, "compressor"));
    return tensorpress::c_api::compress(*compressor, input, output, output_capacity_bytes,
                                        output_bytes);
  });
}

tensorpress_status tensorpress_compressor_compress_alloc(const tensorpress_compressor* compressor,
                                                         const tensorpress_view* input,
                                                         void** output, size_t* output_bytes,
                                                         tensorpress_error* error) {
  return at_border(error, [&]() -> Result<void> {
    RETURN_IF_ERROR(require(compressor, "compressor"));
    return tensorpress::c_api::compress_alloc(*compressor, input, output, output_bytes);
  });
}
