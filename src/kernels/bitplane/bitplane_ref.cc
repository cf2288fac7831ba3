#include <cstring>

#include "base/bytes.h"
#include "kernels/bitplane/bitplane.h"

namespace tensorpress::kernels::bitplane {
namespace {

template <class T>
std::uint8_t encode_block(const T* values, const Quantizer<T>& quantizer, std::byte* payload) {
  Block<T> block;
  if (!quantize_block(values, quantizer, block)) {
    for (std::size_t i = 0; i < kBlockValues; ++i) {
      store_le(payload + i * sizeof(T), std::bit_cast<Word<T>>(values[i]));
    }
    return kRawBlock;
  }
  predict_block(block);
  for (auto& code : block) code = zigzag(code);
  const int width = width_of_block(block);
  std::uint32_t planes[kWordBits<T>];
  planes_of_block(block, width, planes);
  for (int p = 0; p < width; ++p) store_le(payload + 4 * p, planes[p]);
  return static_cast<std::uint8_t>(width);
}

template <class T>
void decode_block(std::uint8_t width, const std::byte* payload, const Quantizer<T>& quantizer,
                  T* values) {
  if (width == kRawBlock) {
    for (std::size_t i = 0; i < kBlockValues; ++i) {
      values[i] = std::bit_cast<T>(load_le<Word<T>>(payload + i * sizeof(T)));
    }
    return;
  }
  std::uint32_t planes[kWordBits<T>];
  for (int p = 0; p < width; ++p) planes[p] = load_le<std::uint32_t>(payload + 4 * p);
  Block<T> block;
  block_of_planes(planes, width, block);
  for (auto& code : block) code = unzigzag(code);
  sum_block(block);
  for (std::size_t i = 0; i < kBlockValues; ++i) values[i] = reconstruct(block[i], quantizer);
}

template <class T>
Progress encode_blocks(const T* values, std::size_t blocks, const Quantizer<T>& quantizer,
                       std::uint8_t* widths, std::byte* payload, std::size_t capacity) {
  Progress done;
  for (; done.blocks < blocks && capacity - done.bytes >= kBlockBytes<T>; ++done.blocks) {
    widths[done.blocks] =
        encode_block(values + done.blocks * kBlockValues, quantizer, payload + done.bytes);
    done.bytes += payload_bytes<T>(widths[done.blocks]);
  }
  return done;
}

template <class T>
Progress decode_blocks(const std::uint8_t* widths, std::size_t blocks, const std::byte* payload,
                       std::size_t size, const Quantizer<T>& quantizer, T* values) {
  Progress done;
  for (; done.blocks < blocks && size - done.bytes >= kBlockBytes<T>; ++done.blocks) {
    const std::uint8_t width = widths[done.blocks];
    if (!is_width<T>(width)) break;
    decode_block(width, payload + done.bytes, quantizer, values + done.blocks * kBlockValues);
    done.bytes += payload_bytes<T>(width);
  }
  return done;
}

}  // namespace

Progress encode_reference(const float* values, std::size_t blocks,
                          const Quantizer<float>& quantizer, std::uint8_t* widths,
                          std::byte* payload, std::size_t capacity) {
  return encode_blocks(values, blocks, quantizer, widths, payload, capacity);
}
Progress encode_reference(const double* values, std::size_t blocks,
                          const Quantizer<double>& quantizer, std::uint8_t* widths,
                          std::byte* payload, std::size_t capacity) {
  return encode_blocks(values, blocks, quantizer, widths, payload, capacity);
}
Progress decode_reference(const std::uint8_t* widths, std::size_t blocks, const std::byte* payload,
                          std::size_t size, const Quantizer<float>& quantizer, float* values) {
  return decode_blocks(widths, blocks, payload, size, quantizer, values);
}
Progress decode_reference(const std::uint8_t* widths, std::size_t blocks, const std::byte* payload,
                          std::size_t size, const Quantizer<double>& quantizer, double* values) {
  return decode_blocks(widths, blocks, payload, size, quantizer, values);
}

}  // namespace tensorpress::kernels::bitplane
