#include "c_api/arguments.h"

#include <algorithm>
#include <vector>

#include "c_api/memory.h"
#include "c_api/runner.h"

namespace tensorpress::c_api {
namespace {

// More would not be faster, and a careless number must not fill the process with threads.
constexpr std::size_t kMaxThreads = 1024;

template <class T>
Result<std::span<const T>> list_of(const T* items, std::size_t count, std::string_view name) {
  if (items == nullptr && count > 0) {
    return bad_argument(name, " is NULL, but there should be ", count);
  }
  return std::span<const T>(items, count);
}

// Parameters and Attributes alike.
template <class Pair>
Result<std::vector<Pair>> pairs_of(const tensorpress_pair* items, std::size_t count,
                                   std::string_view name) {
  TRY(const auto given, list_of(items, count, name));
  std::vector<Pair> pairs;
  for (const tensorpress_pair& pair : given) {
    if (pair.name == nullptr) return bad_argument("one of the ", name, " has a NULL for its name");
    if (pair.value == nullptr)
      return bad_argument(name, ": the value of '", pair.name, "' is NULL");
    const std::size_t length = pair.value_bytes != 0 ? pair.value_bytes : std::strlen(pair.value);
    pairs.push_back({pair.name, std::string(pair.value, length)});
  }
  return pairs;
}

Result<std::optional<Bound>> bound_of(tensorpress_bound_kind kind, double value) {
  switch (kind) {
    case TENSORPRESS_BOUND_NONE:
      return std::optional<Bound>();
    case TENSORPRESS_BOUND_ABSOLUTE:
      return std::optional(Bound::absolute(value));
    case TENSORPRESS_BOUND_RELATIVE:
      return std::optional(Bound::relative(value));
    case TENSORPRESS_BOUND_POINTWISE_RELATIVE:
      return std::optional(Bound::pointwise_relative(value));
    case TENSORPRESS_BOUND_PSNR:
      return std::optional(Bound::psnr(value));
    case TENSORPRESS_BOUND_RATIO:
      return std::optional(Bound::ratio(value));
    default:
      return bad_argument(kind, " is not a kind of bound");
  }
}

std::size_t threads_of(std::size_t threads) {
  return std::clamp<std::size_t>(threads, 1, kMaxThreads);
}

// Bytes between the outermost elements must be countable, or a view could wrap around.
Result<Strides> strides_of(const Shape& shape, DType dtype, const std::int64_t* given) {
  if (given == nullptr) return contiguous_strides(shape, size_of(dtype));
  Strides strides{};
  std::uint64_t reach = 0;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    strides[axis] = given[axis];
    const std::uint64_t step = given[axis] < 0 ? 0 - static_cast<std::uint64_t>(given[axis])
                                               : static_cast<std::uint64_t>(given[axis]);
    const std::uint64_t steps = std::max<std::uint64_t>(shape[axis], 1) - 1;
    if (steps > 0 && step > (INT64_MAX - reach) / steps) {
      return too_large("a stride of ", given[axis], " bytes along axis ", axis, " of shape ",
                       shape.to_string(), " leads beyond the address space");
    }
    reach += steps * step;
  }
  return strides;
}

template <class View, class Pointer>
Result<BasicTensorView<Pointer>> convert(const View* view, Pointer data) {
  TRY(const DType dtype, dtype_of(view->dtype));
  TRY(const auto extents, list_of(view->shape, view->rank, "the shape"));
  TRY(const Shape shape, Shape::make(extents));
  TRY(const Strides strides, strides_of(shape, dtype, view->strides));
  return BasicTensorView<Pointer>{data, dtype, shape, strides};
}

template <class View>
Result<void> check_data(const View& view) {
  if (view.data != nullptr || view.element_count() == 0) return {};
  return bad_argument("data is NULL, but the shape ", view.shape.to_string(), " has elements");
}

Result<void> check_elements_apart(const MutableTensorView& view) {
  if (view.element_count() == 0) return {};
  for (std::size_t axis = 0; axis < view.shape.rank(); ++axis) {
    if (view.strides[axis] == 0 && view.shape[axis] > 1) {
      return bad_argument("the output has a stride of 0 along axis ", axis,
                          ": its elements would overwrite each other");
    }
  }
  return {};
}

}  // namespace

Result<CompressRequest> request_of(const tensorpress_compress_options* options) {
  TRY(const auto given, known_options(options, offsetof(tensorpress_compress_options, allocator) +
                                                   sizeof(tensorpress_allocator)));
  RETURN_IF_ERROR(check(given.allocator));
  TRY(const auto parameters,
      pairs_of<Parameter>(given.parameters, given.parameter_count, "parameters"));
  TRY(Codec codec, Codec::make(given.codec != nullptr ? given.codec : "dense", parameters));
  CompressRequest request{std::move(codec), {}, given.allocator};
  TRY(request.options.bound, bound_of(given.bound_kind, given.bound));
  if (request.options.bound) RETURN_IF_ERROR(request.options.bound->check());
  TRY(const auto fills, list_of(given.fill_values, given.fill_value_count, "fill_values"));
  request.options.fill_values.assign(fills.begin(), fills.end());
  if (given.value_range != nullptr) {
    request.options.value_range = ValueRange{given.value_range[0], given.value_range[1]};
  }
  if (given.chunk_shape != nullptr) {
    TRY(request.options.chunk_shape, Shape::make({given.chunk_shape, given.chunk_rank}));
  }
  TRY(request.options.attributes,
      pairs_of<Attribute>(given.attributes, given.attribute_count, "attributes"));
  request.options.whole_range = given.whole_range != 0;
  TRY(request.options.earlier_error, bound_of(given.earlier_error_kind, given.earlier_error));
  request.options.threads = threads_of(given.threads);
  request.options.runner = runner_of(given.runner, given.runner_opaque);
  return request;
}

Result<DecompressRequest> request_of(const tensorpress_decompress_options* options) {
  TRY(const auto given, known_options(options, offsetof(tensorpress_decompress_options, allocator) +
                                                   sizeof(tensorpress_allocator)));
  RETURN_IF_ERROR(check(given.allocator));
  DecompressRequest request{{}, given.allocator};
  request.options.threads = threads_of(given.threads);
  request.options.runner = runner_of(given.runner, given.runner_opaque);
  if (given.max_bytes != 0) request.options.max_bytes = given.max_bytes;
  return request;
}

Result<DType> dtype_of(tensorpress_dtype dtype) {
  if (dtype < 0 || dtype > UINT8_MAX) return bad_argument(dtype, " is not an element type");
  auto known = dtype_from_number(static_cast<std::uint8_t>(dtype));
  if (!known.ok()) return bad_argument(dtype, " is not an element type");
  return known;
}

Result<TensorView> view_without_data(const tensorpress_view* view) {
  RETURN_IF_ERROR(require(view, "the input"));
  return convert(view, static_cast<const std::byte*>(view->data));
}

Result<TensorView> view_of(const tensorpress_view* view) {
  TRY(const TensorView result, view_without_data(view));
  RETURN_IF_ERROR(check_data(result));
  return result;
}

Result<MutableTensorView> view_of(const tensorpress_mutable_view* view) {
  RETURN_IF_ERROR(require(view, "the output"));
  TRY(const MutableTensorView result, convert(view, static_cast<std::byte*>(view->data)));
  RETURN_IF_ERROR(check_data(result));
  RETURN_IF_ERROR(check_elements_apart(result));
  return result;
}

Result<std::span<const std::byte>> bytes_of(const void* data, std::size_t bytes,
                                            std::string_view name) {
  if (data == nullptr && bytes > 0)
    return bad_argument(name, " is NULL, but has ", bytes, " bytes");
  return std::span(static_cast<const std::byte*>(data), bytes);
}

}  // namespace tensorpress::c_api
