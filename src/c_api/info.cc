// What a stream says about itself, in one block of the caller's memory: the struct, its lists, and
// the texts behind them.
#include <algorithm>
#include <cstring>

#include "c_api/arguments.h"
#include "c_api/memory.h"

namespace tensorpress::c_api {
namespace {

std::size_t text_bytes(const StreamInfo& info) {
  std::size_t bytes = info.codec.name().size() + 1;
  for (const auto& [name, value] : info.codec.parameters()) bytes += name.size() + value.size() + 2;
  for (const auto& [name, value] : info.attributes) bytes += name.size() + value.size() + 2;
  for (const auto& statistic : info.statistics) bytes += statistic.name.size() + 1;
  return bytes;
}

// Hands out the block from its start: the struct and its lists first, which are all aligned alike.
class Block {
 public:
  explicit Block(void* memory) : at_(static_cast<std::byte*>(memory)) {}

  template <class T>
  T* take(std::size_t count) {
    static_assert(alignof(T) <= alignof(tensorpress_info) &&
                  sizeof(T) % alignof(tensorpress_info) == 0);
    T* const items = reinterpret_cast<T*>(at_);
    for (std::size_t i = 0; i < count; ++i) ::new (static_cast<void*>(items + i)) T{};
    at_ += count * sizeof(T);
    return items;
  }
  const char* copy(std::string_view text) {
    char* const to = reinterpret_cast<char*>(at_);
    std::copy(text.begin(), text.end(), to);
    to[text.size()] = '\0';
    at_ += text.size() + 1;
    return to;
  }

 private:
  std::byte* at_;
};

template <class Pairs>
void fill(tensorpress_pair* to, const Pairs& pairs, Block& block) {
  for (const auto& pair : pairs) {
    *to++ = {block.copy(pair.name), block.copy(pair.value), pair.value.size()};
  }
}

tensorpress_info* in_one_block(const StreamInfo& info, const tensorpress_allocator& allocator) {
  const auto parameters = info.codec.parameters();
  OwnedBytes memory(allocator,
                    sizeof(tensorpress_info) +
                        (parameters.size() + info.attributes.size()) * sizeof(tensorpress_pair) +
                        info.statistics.size() * sizeof(tensorpress_statistic) + text_bytes(info));
  Block block(memory.get());
  auto* const result = block.take<tensorpress_info>(1);
  auto* const parameter_list = block.take<tensorpress_pair>(parameters.size());
  auto* const attribute_list = block.take<tensorpress_pair>(info.attributes.size());
  auto* const statistic_list = block.take<tensorpress_statistic>(info.statistics.size());
  result->format_version = info.format_version;
  result->dtype = static_cast<tensorpress_dtype>(info.dtype);
  result->rank = info.shape.rank();
  std::ranges::copy(info.shape.extents(), result->shape);
  std::ranges::copy(info.chunk_shape.extents(), result->chunk_shape);
  result->chunk_count = info.chunk_count;
  result->bytes_in = info.bytes_in();
  result->bytes_out = info.bytes_out;
  result->payload_bytes = info.payload_bytes;
  result->codec = block.copy(info.codec.name());
  result->parameter_count = parameters.size();
  result->parameters = parameter_list;
  fill(parameter_list, parameters, block);
  result->attribute_count = info.attributes.size();
  result->attributes = attribute_list;
  fill(attribute_list, info.attributes, block);
  result->statistic_count = info.statistics.size();
  result->statistics = statistic_list;
  for (std::size_t i = 0; i < info.statistics.size(); ++i) {
    statistic_list[i] = {block.copy(info.statistics[i].name), info.statistics[i].value};
  }
  memory.take();
  return result;
}

tensorpress_allocator allocator_or_malloc(const tensorpress_allocator* allocator) {
  return allocator != nullptr ? *allocator : tensorpress_allocator{};
}

}  // namespace
}  // namespace tensorpress::c_api

using tensorpress::Result;
using tensorpress::c_api::allocator_or_malloc;

tensorpress_status tensorpress_info_read(const void* stream, size_t stream_bytes,
                                         const tensorpress_allocator* allocator,
                                         const tensorpress_info** info, tensorpress_error* error) {
  if (info != nullptr) *info = nullptr;
  return tensorpress::c_api::at_border(error, [&]() -> Result<void> {
    RETURN_IF_ERROR(tensorpress::c_api::require(info, "info"));
    RETURN_IF_ERROR(tensorpress::c_api::check(allocator_or_malloc(allocator)));
    TRY(const auto bytes, tensorpress::c_api::bytes_of(stream, stream_bytes, "the stream"));
    TRY(const auto found, tensorpress::read_info(bytes));
    *info = tensorpress::c_api::in_one_block(found, allocator_or_malloc(allocator));
    return {};
  });
}

void tensorpress_info_free(const tensorpress_allocator* allocator, const tensorpress_info* info) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): ours, const only for the reader.
  tensorpress_free(allocator, const_cast<tensorpress_info*>(info));
}

void tensorpress_free(const tensorpress_allocator* allocator, void* memory) {
  tensorpress::c_api::release(allocator_or_malloc(allocator), memory);
}
