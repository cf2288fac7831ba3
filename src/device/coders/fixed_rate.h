// What codecs have in common on a device whose payloads have a size that is known beforehand
// (codecs/pack/packed_codec.h), for f32.
#pragma once

#include "device/chunk_coder.h"

namespace tensorpress::device {

class FixedRateCoder : public ChunkCoder {
 public:
  Result<EncodedBatch> encode(Backend& backend, const DeviceTensor& tensor, const ChunkBatch& given,
                              std::span<const ChunkScan> scans) const final;
  Result<std::vector<bool>> decode(Backend& backend, std::span<const PayloadPlace> payloads,
                                   const DeviceTensor& tensor, const ChunkBatch& given) const final;

 protected:
  /// What a launch works on.
  struct Chunks {
    const ChunkBatch& batch;
    const BatchTables& tables;
    void* bytes;           // payloads; each chunk's place says where its own is
    void* values;          // of the tensor
    std::uint64_t offset;  // where in it, in values; sums of offsets wrap around
  };

  virtual std::uint64_t payload_bytes(std::uint64_t values) const = 0;
  /// Whether decoding gives back the values themselves.
  virtual bool exact() const { return false; }
  /// For kernels: what a chunk's place says beyond where it is.
  virtual void describe(const std::array<std::uint64_t, kMaxRank>& /*origin*/,
                        ChunkPlace& /*place*/) const {}
  /// `unfit` has a number for each chunk, which a kernel sets if the chunk cannot be packed.
  virtual Result<void> pack(Backend& backend, const Chunks& chunks, void* unfit) const = 0;
  virtual Result<void> unpack(Backend& backend, const Chunks& chunks) const = 0;
  /// Whether a kernel may unpack these bytes, which have the right size.
  virtual bool is_sound(std::span<const std::byte> /*payload*/, std::uint64_t /*values*/) const {
    return true;
  }

 private:
  Result<void> run(Backend& backend, const DeviceTensor& tensor, const ChunkBatch& batch,
                   std::uint64_t room, EncodedBatch& encoded) const;
  Result<std::vector<double>> squared_errors(Backend& backend, const DeviceTensor& tensor,
                                             const ChunkBatch& batch, const BatchTables& tables,
                                             const Buffer& packed) const;
};

}  // namespace tensorpress::device
