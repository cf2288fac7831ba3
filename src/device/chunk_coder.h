// What a codec is on a device: kernels for the chunks of a batch, with the payloads of the host's
// codec. One file in coders/ for each, and a line in chunk_coder.cc.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "codecs/chunk_codec.h"
#include "device/chunk_batch.h"
#include "device/scan.h"
#include "tensorpress/codec.h"

namespace tensorpress::device {

/// What became of a chunk on the device.
struct EncodedChunk {
  enum class Form : std::uint8_t {
    coded,
    raw,  // the elements themselves are the payload
    left  // for the host's codec to decide
  };
  Form form = Form::left;
  std::uint64_t offset = 0;  // of the payload among the batch's bytes
  std::uint64_t bytes = 0;
  double squared_error = 0;
};

struct EncodedBatch {
  std::vector<EncodedChunk> chunks;  // one of each place of the batch
  std::vector<std::byte> bytes;      // in the host's memory
};

/// A payload that the host has checked against its checksum.
struct PayloadPlace {
  std::span<const std::byte> bytes;
  bool raw = false;
};

class ChunkCoder {
 public:
  virtual ~ChunkCoder() = default;

  /// How the values of a chunk are cut for the kernels.
  virtual std::uint32_t tile_values() const { return kTileValues; }
  /// Whether encode() wants scans.
  virtual bool needs_scans() const { return false; }
  virtual Result<EncodedBatch> encode(Backend& backend, const DeviceTensor& tensor,
                                      const ChunkBatch& batch,
                                      std::span<const ChunkScan> scans) const = 0;
  /// One of each place of the batch: whether its elements are where they belong. Those that are
  /// not, because of what the host alone decodes or because the bytes are damaged, are for the host
  /// to decode, or to say what is wrong with them.
  virtual Result<std::vector<bool>> decode(Backend& backend, std::span<const PayloadPlace> payloads,
                                           const DeviceTensor& tensor,
                                           const ChunkBatch& batch) const = 0;
};

/// The coder of a resolved codec for such elements; nothing where the host does everything.
std::unique_ptr<ChunkCoder> chunk_coder_of(const Codec& codec, DType dtype);

}  // namespace tensorpress::device
