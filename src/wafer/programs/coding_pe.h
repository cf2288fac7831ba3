// The PE programs of mesh_codec.h, and what all PEs of a mesh share.
#pragma once

#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "codecs/ceresz2/block.h"
#include "wafer/programs/block_costs.h"
#include "wafer/programs/mesh_codec.h"

namespace tensorpress::wafer::programs {

using ceresz2::kBlockValues;
using BlockValues = std::array<float, kBlockValues>;

/// What a PE's program takes besides its blocks; a guess for code that nobody has written in CSL.
inline constexpr std::size_t kCodeBytes = 6 * 1024;
inline constexpr std::size_t kQueueBytes = 512;
/// The paper's codebook: a length and a code of 4 bytes each for 2000 symbols, 15.625 KB.
inline constexpr std::size_t kCodebookEntryBytes = 8;
inline constexpr std::size_t kMessageHead = 3;  // offset, words, further words

struct CodingPlan {
  std::span<const float> values;
  unsigned slack = 0;
  kernels::bitplane::Quantizer<float> quantizer;
  const ceresz2::Codebook* book = nullptr;
  BlockCosts costs;
  Mapping mapping = Mapping::ceresz2;
  MeshIo io = MeshIo::edge;
  bool mesh_offsets = true;
  std::uint64_t blocks = 0;
  std::uint32_t blocks_per_pe = 1;
  Color in = 0, out = 0;
  OffsetPlan offsets = {};
  ChainColors stages = {};  // between the three PEs of a pipeline

  /// The values of a block; the last one is filled up with copies of the last value.
  BlockValues block(std::uint64_t number) const;
  /// Bytes of a PE without its blocks, and for each block.
  std::size_t fixed_bytes() const;
  std::size_t block_bytes() const;
};

/// A PE's results, as they leave the wafer: where they go, how many words, how many further ones
/// (ceresz2: position and value of each outlier; ceresz: widths, a byte each), and all of them.
struct PeOutput {
  std::uint32_t offset = 0;
  std::span<const std::uint32_t> words;
  std::span<const std::uint32_t> further;
};

class CodingPe : public PeProgram {
 public:
  CodingPe(const CodingPlan& plan, std::uint64_t first_block, std::uint32_t block_count)
      : plan_(plan), first_block_(first_block), block_count_(block_count) {}

  std::vector<MemoryItem> memory() const override;
  void start(Pe& pe) override;
  void on_task(Pe& pe, Task task) override;

  PeOutput output() const;
  std::uint64_t began() const { return began_; }
  std::uint64_t placed() const { return placed_; }
  std::uint32_t coding_cycles() const { return coding_cycles_; }

 private:
  void code(Pe& pe);
  StageCycles code_ceresz2(std::uint64_t number);
  StageCycles code_ceresz(std::uint64_t number);
  BlockValues block(std::uint64_t number) const;
  void known(Pe& pe);

  const CodingPlan& plan_;
  std::uint64_t first_block_;
  std::uint32_t block_count_;
  std::uint32_t coding_cycles_ = 0;
  std::vector<std::uint32_t> input_;
  std::vector<std::uint32_t> message_;
  std::vector<std::uint32_t> further_;
  OffsetStages stages_;
  std::uint64_t began_ = 0, placed_ = 0;
};

}  // namespace tensorpress::wafer::programs
