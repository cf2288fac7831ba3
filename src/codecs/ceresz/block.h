// What CereSZ does with one block of 32 values, as pure functions of that block: what a processing
// element of a simulated wafer runs, and what the kernels are compared with.
//
//   quantize_block   values to integers, within the bound or not         (prequantization)
//   predict_block    each minus the one before it                        (1-D Lorenzo)
//   zigzag           signs into the lowest bit                           (sign)
//   width_of_block   bits of the largest                                 (fixed length)
//   planes_of_block  the same bit of all values side by side             (bit shuffle)
#pragma once

#include <cstdint>
#include <span>

#include "kernels/bitplane/bitplane.h"

namespace tensorpress::ceresz {

using kernels::bitplane::Block;
using kernels::bitplane::block_of_planes;
using kernels::bitplane::kBlockValues;
using kernels::bitplane::kRawBlock;
using kernels::bitplane::make_quantizer;
using kernels::bitplane::planes_of_block;
using kernels::bitplane::predict_block;
using kernels::bitplane::quantize_block;
using kernels::bitplane::Quantizer;
using kernels::bitplane::reconstruct;
using kernels::bitplane::slack_for;
using kernels::bitplane::sum_block;
using kernels::bitplane::unzigzag;
using kernels::bitplane::width_of_block;
using kernels::bitplane::zigzag;

/// A block as the stream holds it: its width byte, and 4 * width or (raw) 32 * sizeof(T) bytes.
template <class T>
struct CodedBlock {
  std::uint8_t width = 0;
  std::size_t bytes = 0;
  std::array<std::byte, kernels::bitplane::kBlockBytes<T>> payload{};
};

template <class T>
CodedBlock<T> encode_block(std::span<const T, kBlockValues> values, const Quantizer<T>& quantizer) {
  CodedBlock<T> block;
  const auto done = kernels::bitplane::encode_reference(values.data(), 1, quantizer, &block.width,
                                                        block.payload.data(), block.payload.size());
  block.bytes = done.bytes;
  return block;
}

/// False when the width does not exist.
template <class T>
bool decode_block(const CodedBlock<T>& block, const Quantizer<T>& quantizer,
                  std::span<T, kBlockValues> values) {
  return kernels::bitplane::decode_reference(&block.width, 1, block.payload.data(),
                                             block.payload.size(), quantizer, values.data())
             .blocks == 1;
}

}  // namespace tensorpress::ceresz
