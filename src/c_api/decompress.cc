// The calls that decompress, with and without a context.
#include "c_api/arguments.h"
#include "c_api/memory.h"

struct tensorpress_decompressor {
  tensorpress::Decompressor decompressor;
  std::uint64_t max_bytes;
  tensorpress_allocator allocator;
};

namespace tensorpress::c_api {
namespace {

Result<tensorpress_decompressor> decompressor_of(const tensorpress_decompress_options* options) {
  TRY(auto request, request_of(options));
  const std::uint64_t max_bytes = request.options.max_bytes;
  return tensorpress_decompressor{Decompressor(std::move(request.options)), max_bytes,
                                  request.allocator};
}

struct Stream {
  const void* data;
  std::size_t bytes;
};

Result<void> decompress(const tensorpress_decompressor& context, const Stream& stream,
                        const tensorpress_mutable_view* output) {
  TRY(const auto bytes, bytes_of(stream.data, stream.bytes, "the stream"));
  TRY(const MutableTensorView view, view_of(output));
  return context.decompressor.decompress(bytes, view);
}

Result<void> decompress_region(const tensorpress_decompressor& context, const Stream& stream,
                               const std::uint64_t* origin,
                               const tensorpress_mutable_view* output) {
  TRY(const auto bytes, bytes_of(stream.data, stream.bytes, "the stream"));
  TRY(const MutableTensorView view, view_of(output));
  if (view.shape.rank() > 0) RETURN_IF_ERROR(require(origin, "origin"));
  Region region = Region::whole(view.shape);
  std::copy_n(origin, view.shape.rank(), region.origin.begin());
  return context.decompressor.decompress(bytes, region, view);
}

Result<void> decompress_alloc(const tensorpress_decompressor& context, const Stream& stream,
                              void** output, std::size_t* output_bytes) {
  RETURN_IF_ERROR(require(output, "output"));
  RETURN_IF_ERROR(require(output_bytes, "output_bytes"));
  TRY(const auto bytes, bytes_of(stream.data, stream.bytes, "the stream"));
  TRY(const StreamInfo info, read_info(bytes));
  const std::uint64_t size = info.bytes_in();
  if (size > context.max_bytes || size > PTRDIFF_MAX) {
    return too_large("the stream holds ", size,
                     " bytes, more than max_bytes allows: ", context.max_bytes);
  }
  if (size == 0) {
    RETURN_IF_ERROR(context.decompressor.decompress(
        bytes, MutableTensorView::contiguous(nullptr, info.dtype, info.shape)));
    *output = nullptr;
    *output_bytes = 0;
    return {};
  }
  OwnedBytes result(context.allocator, static_cast<std::size_t>(size));
  RETURN_IF_ERROR(context.decompressor.decompress(
      bytes, MutableTensorView::contiguous(static_cast<std::byte*>(result.get()), info.dtype,
                                           info.shape)));
  *output = result.take();
  *output_bytes = static_cast<std::size_t>(size);
  return {};
}

}  // namespace
}  // namespace tensorpress::c_api

using tensorpress::Result;
using tensorpress::c_api::at_border;
using tensorpress::c_api::decompressor_of;
using tensorpress::c_api::require;

tensorpress_status tensorpress_decompress(const void* stream, size_t stream_bytes,
                                          const tensorpress_mutable_view* output,
                                          const tensorpress_decompress_options* options,
                                          tensorpress_error* error) {
  return at_border(error, [&]() -> Result<void> {
    TRY(const auto context, decompressor_of(options));
    return tensorpress::c_api::decompress(context, {stream, stream_bytes}, output);
  });
}

tensorpress_status tensorpress_decompress_region(const void* stream, size_t stream_bytes,
                                                 const uint64_t* origin,
                                                 const tensorpress_mutable_view* output,
                                                 const tensorpress_decompress_options* options,
                                                 tensorpress_error* error) {
  return at_border(error, [&]() -> Result<void> {
    TRY(const auto context, decompressor_of(options));
    return tensorpress::c_api::decompress_region(context, {stream, stream_bytes}, origin, output);
  });
}

tensorpress_status tensorpress_decompress_alloc(const void* stream, size_t stream_bytes,
                                                const tensorpress_decompress_options* options,
                                                void** output, size_t* output_bytes,
                                                tensorpress_error* error) {
  return at_border(error, [&]() -> Result<void> {
    TRY(const auto context, decompressor_of(options));
    return tensorpress::c_api::decompress_alloc(context, {stream, stream_bytes}, output,
                                                output_bytes);
  });
}

tensorpress_status tensorpress_decompressor_create(const tensorpress_decompress_options* options,
                                                   tensorpress_decompressor** decompressor,
                                                   tensorpress_error* error) {
  if (decompressor != nullptr) *decompressor = nullptr;
  return at_border(error, [&]() -> Result<void> {
    RETURN_IF_ERROR(require(decompressor, "decompressor"));
    TRY(auto context, decompressor_of(options));
    const tensorpress_allocator allocator = context.allocator;
    *decompressor =
        tensorpress::c_api::create<tensorpress_decompressor>(allocator, std::move(context));
    return {};
  });
}

void tensorpress_decompressor_free(tensorpress_decompressor* decompressor) {
  tensorpress::c_api::destroy(decompressor);
}

tensorpress_status tensorpress_decompressor_decompress(const tensorpress_decompressor* decompressor,
                                                       const void* stream, size_t stream_bytes,
                                                       const tensorpress_mutable_view* output,
                                                       tensorpress_error* error) {
  return at_border(error, [&]() -> Result<void> {
    RETURN_IF_ERROR(require(decompressor, "decompressor"));
    return tensorpress::c_api::decompress(*decompressor, {stream, stream_bytes}, output);
  });
}

tensorpress_status tensorpress_decompressor_decompress_region(
    const tensorpress_decompressor* decompressor, const void* stream, size_t stream_bytes,
    const uint64_t* origin, const tensorpress_mutable_view* output, tensorpress_error* error) {
  return at_border(error, [&]() -> Result<void> {
    RETURN_IF_ERROR(require(decompressor, "decompressor"));
    return tensorpress::c_api::decompress_region(*decompressor, {stream, stream_bytes}, origin,
                                                 output);
  });
}

tensorpress_status tensorpress_decompressor_decompress_alloc(
    const tensorpress_decompressor* decompressor, const void* stream, size_t stream_bytes,
    void** output, size_t* output_bytes, tensorpress_error* error) {
  return at_border(error, [&]() -> Result<void> {
    RETURN_IF_ERROR(require(decompressor, "decompressor"));
    return tensorpress::c_api::decompress_alloc(*decompressor, {stream, stream_bytes}, output,
                                                output_bytes);
  });
}
