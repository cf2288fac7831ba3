#include "kernels/quantize/quantize_ref.h"

namespace tensorpress::kernels {
namespace {

using namespace quantize_detail;

template <int kBits, bool kStochastic, class T>
std::optional<GroupScale> pack_grid(const T* values, std::size_t count, std::uint64_t seed,
                                    std::uint64_t first_element, std::byte* blocks) {
  constexpr std::size_t kBlock = quantized_block_values(kBits);
  constexpr std::size_t kBlockBytes = quantized_block_words(kBits) * kQuantizedWordsBytes;
  const Extremes found = extremes_reference(values, count);
  if (!found.finite) return std::nullopt;
  const auto group = scale_of_range(found.least, found.most, static_cast<float>((1u << kBits) - 1));
  if (!group) return std::nullopt;
  const RoundingKey key = RoundingKey::of(seed, first_element);
  for (std::size_t i = 0; i < count; i += kBlock, blocks += kBlockBytes) {
    pack_block_reference<kBits, kStochastic>(values + i, std::min(kBlock, count - i), *group, key,
                                             first_element + i, blocks);
  }
  return group;
}

template <class T>
std::optional<GroupScale> pack_means(const T* values, std::size_t count, std::byte* blocks) {
  std::array<float, kSumLanes> lanes{};
  if (!add_to_lanes_reference(values, 0, count, lanes.data())) return std::nullopt;
  const float threshold = sum_of_lanes(lanes.data()) / static_cast<float>(count) + 0.0f;  // no -0
  if (!is_finite(threshold)) return std::nullopt;
  Sides sides;
  for (std::size_t i = 0; i < count; i += 256, blocks += kQuantizedWordsBytes) {
    split_block_reference(values, i, std::min(i + 256, count), threshold, sides, blocks);
  }
  return scale_of_sides(sides, count, threshold);
}

template <int kBits, bool kStochastic, class T>
bool pack_all(const std::byte* bytes, std::size_t count, std::size_t group_size, std::uint64_t seed,
              std::uint64_t first_element, std::byte* packed) {
  const auto* const values = reinterpret_cast<const T*>(bytes);
  for (std::size_t i = 0; i < count; i += group_size) {
    const std::size_t size = std::min(group_size, count - i);
    std::byte* const blocks = packed + kQuantizedHeaderBytes;
    std::optional<GroupScale> group;
    if constexpr (kBits == 1 && !kStochastic) {
      group = pack_means(values + i, size, blocks);
    } else {
      group = pack_grid<kBits, kStochastic>(values + i, size, seed, first_element + i, blocks);
    }
    if (!group) return false;
    store_le(packed, group->header());
    packed += quantized_group_bytes(size, kBits);
  }
  return true;
}

template <int kBits, class T>
void unpack_all(const std::byte* packed, std::size_t count, std::size_t group_size,
                std::byte* bytes, bool /*past_cache*/) {
  constexpr std::size_t kBlock = quantized_block_values(kBits);
  constexpr std::size_t kBlockBytes = quantized_block_words(kBits) * kQuantizedWordsBytes;
  auto* const values = reinterpret_cast<T*>(bytes);
  for (std::size_t i = 0; i < count; i += group_size) {
    const std::size_t size = std::min(group_size, count - i);
    const GroupScale group = GroupScale::of_header(load_le<std::uint32_t>(packed));
    const std::byte* block = packed + kQuantizedHeaderBytes;
    for (std::size_t at = 0; at < size; at += kBlock, block += kBlockBytes) {
      unpack_block_reference<kBits>(block, std::min(kBlock, size - at), group, values + i + at);
    }
    packed += quantized_group_bytes(size, kBits);
  }
}

template <int kBits>
GroupQuantizer of_bits(DType dtype, bool stochastic) {
  return with_type(dtype, [&](auto type) -> GroupQuantizer {
    using T = decltype(type);
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, F16Bits> ||
                  std::is_same_v<T, Bf16Bits>) {
      return {stochastic ? pack_all<kBits, true, T> : pack_all<kBits, false, T>,
              unpack_all<kBits, T>};
    } else {
      return {nullptr, nullptr};
    }
  });
}

}  // namespace

GroupQuantizer group_quantizer_reference(DType dtype, int bits, bool stochastic) {
  switch (bits) {
    case 1:
      return of_bits<1>(dtype, stochastic);
    case 2:
      return of_bits<2>(dtype, stochastic);
    case 3:
      return of_bits<3>(dtype, stochastic);
    case 4:
      return of_bits<4>(dtype, stochastic);
    case 5:
      return of_bits<5>(dtype, stochastic);
    case 6:
      return of_bits<6>(dtype, stochastic);
    default:
      return of_bits<8>(dtype, stochastic);
  }
}

}  // namespace tensorpress::kernels
