// The PE programs of mesh_codec.h, and what all PEs of a mesh share.
#pragma once

#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "codecs/ceresz2/block.h"
#include "wafer/programs/coding/block_costs.h"
#include "wafer/programs/coding/mesh_codec.h"
#include "wafer/programs/offsets/look_back.h"

namespace tensorpress::wafer::programs {

using ceresz2::kBlockValues;
using BlockValues = std::array<float, kBlockValues>;

/// What a PE's program takes besides its blocks; a guess, because the code is not written in CSL
/// yet.
inline constexpr std::size_t kCodeBytes = 6144;
inline constexpr std::size_t kQueueBytes = 512;
/// The paper's codebook: a length and a code of 4 bytes each for 2000 symbols, 15.625 KB.
inline constexpr std::size_t kCodebookEntryBytes = 8;
inline constexpr std::size_t kMessageHead = 3;  // offset, words, further words

/// What a PE's blocks became, in their order.
struct CodedBlocks {
  std::vector<std::uint32_t> words;
  /// ceresz2: position and value of each outlier; ceresz: widths, a byte each.
  std::vector<std::uint32_t> further;
};

struct CodingJob {
  std::span<const float> values;
  unsigned slack = 0;
  kernels::bitplane::Quantizer<float> quantizer;
  const ceresz2::Codebook* book = nullptr;
  BlockCosts costs;
  Mapping mapping = Mapping::ceresz2;
  MeshIo io = MeshIo::edge;
  OffsetsBy offsets_by = OffsetsBy::mesh;
  bool share_work = false;
  std::uint64_t blocks = 0;
  std::uint32_t blocks_per_pe = 1;
  Color in = 0, out = 0;
  MeshLines lines = {};
  ChainColors stages = {};         // between the three PEs of a pipeline
  Color to_east = 0, to_west = 0;  // between the PEs of a pair that share their work

  /// The values of a block; the last one is filled up with copies of the last value.
  BlockValues block(std::uint64_t number) const;
  /// Appends what the host deals to the PE whose blocks begin at `first`: their words, as many for
  /// every PE, or a word that launches it.
  void deal(std::uint64_t first, std::vector<std::uint32_t>& words) const;
  std::uint32_t dealt_words() const {
    return io == MeshIo::edge ? blocks_per_pe * static_cast<std::uint32_t>(kBlockValues) : 1;
  }
  /// Codes block `number`, appends what it gives, and says what that takes.
  StageCycles code(std::uint64_t number, const BlockValues& values, CodedBlocks& coded) const;
  /// Bytes of a PE without its blocks, and for each block.
  std::size_t fixed_bytes() const;
  std::size_t block_bytes() const;
};

/// A PE's results, as they leave the wafer: where they go, how many words, how many further ones,
/// and all of them.
struct PeOutput {
  std::uint32_t offset = 0;
  std::span<const std::uint32_t> words;
  std::span<const std::uint32_t> further;
};

class CodingPe : public PeProgram {
 public:
  enum : Task { kLoaded, kUnload, kFirstOffsetTask, kFirstSharingTask = kFirstOffsetTask + 3 };

  CodingPe(const CodingJob& job, PeAt at, std::uint64_t first_block, std::uint32_t block_count);

  std::vector<MemoryItem> memory() const override;
  void start(Pe& pe) override;
  void on_task(Pe& pe, Task task) override;
  void on_wavelet(Pe& pe, Color color, std::uint32_t word) override;
  std::uint32_t data_tasks() const override { return listens_; }

  PeOutput output() const;
  std::uint64_t began() const { return began_; }
  std::uint64_t placed() const { return placed_; }
  std::uint32_t coding_cycles() const { return coding_cycles_; }

 protected:
  /// The blocks are there.
  virtual void loaded(Pe& pe);
  BlockValues block(std::uint64_t number) const;
  void spend(Pe& pe, const StageCycles& cycles);
  /// All blocks are coded: where do they go?
  void coded(Pe& pe, CodedBlocks blocks);

  const CodingJob& job() const { return job_; }
  std::uint64_t first_block() const { return first_block_; }
  std::uint32_t block_count() const { return block_count_; }

 private:
  void known(Pe& pe, std::uint32_t offset);

  const CodingJob& job_;
  std::uint64_t first_block_;
  std::uint32_t block_count_;
  std::uint32_t listens_ = 0;
  std::uint32_t coding_cycles_ = 0;
  std::vector<std::uint32_t> input_;
  std::vector<std::uint32_t> message_;
  std::vector<std::uint32_t> further_;
  OffsetStages stages_;
  LookBack look_back_;
  std::uint64_t began_ = 0, placed_ = 0;
};

}  // namespace tensorpress::wafer::programs
