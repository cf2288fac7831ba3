// A field compressed on the mesh: every PE codes its blocks with the codec's own block functions,
// at the cycles that calibration.json says, the offset computation tells it where its words go, and
// the result is the bytes that the host's codec writes for the same values as one chunk.
//
//   west edge --words--> PEs: prequantization, Lorenzo, encoding --> offsets --words--> west edge
//
// With MeshIo::sram the blocks are in the PEs' memory from the start and the results stay there,
// which is what the paper's counters see; a word for each PE launches it.
//
// Mappings: ceresz2 on one PE (CereSZ-II); ceresz on one PE, or as a pipeline of three neighbours
// (CereSZ), both of which leave the offsets to the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "codecs/ceresz2/codebook.h"
#include "tensorpress/wafer/wafer.h"
#include "wafer/calibration/calibration.h"
#include "wafer/programs/offsets/offset_stages.h"

namespace tensorpress::wafer::programs {

enum class Mapping : std::uint8_t { ceresz2, ceresz, ceresz_three };
enum class MeshIo : std::uint8_t { edge, sram };

/// Stages of work in a report.
enum : Stage { kQuantizeStage = 1, kPredictStage, kEncodeStage, kOffsetStage, kDecodeStage };

struct MeshOptions {
  std::uint32_t width = 512;  // at most; a field that needs fewer PEs gets a smaller mesh
  std::uint32_t height = 512;
  bool shrink = true;
  Mapping mapping = Mapping::ceresz2;
  MeshIo io = MeshIo::edge;
  OffsetsBy offsets = OffsetsBy::mesh;
  std::optional<OffsetOrder> order = {};  // the paper's rule when absent
  bool share_work = false;  // neighbours code each other's blocks (sharing_pe.h); not ceresz_three
  bool transpose = false;   // CereSZ-II with cuSZp's bit transposition
  /// Every block takes ceresz2_block cycles; else ceresz2_block_base and ceresz2_bit for each bit.
  bool uniform_cost = false;
  RunOptions run = {};
  Inspect inspect = {};
};

struct MeshExtent {
  std::uint32_t width = 1;
  std::uint32_t height = 1;
};
/// The mesh for so many blocks: all of it, or, if they are fewer, at least as wide as high and as
/// small as can be (the paper pads small data sets to a column-major mesh).
MeshExtent mesh_for(std::uint64_t blocks, std::uint32_t width, std::uint32_t height);

struct MeshRun {
  std::uint32_t width = 0, height = 0;
  std::uint64_t blocks = 0;
  std::uint32_t blocks_per_pe = 0;
  OffsetOrder order = OffsetOrder::column;
  std::vector<std::byte> payload;        // compression: what the host's coder writes
  std::vector<float> values;             // decompression
  std::vector<std::uint32_t> pe_cycles;  // each PE's coding, row by row
  std::uint64_t coding_cycles = 0;       // the slowest PE's, by its own counter
  std::uint64_t kernel_cycles = 0;       // first PE begins to code until the last knows its offset
  std::uint64_t cycles = 0;              // all of it, with the words in and out
  std::uint64_t shared_blocks = 0;       // coded by a neighbour
  std::uint64_t sram_bytes = 0;          // of a PE
  unsigned colors = 0;
  Report report;
};

/// `values` are finite. `bound` as FieldCoder::encode takes it.
Result<MeshRun> compress_on_mesh(std::span<const float> values, double bound,
                                 const ceresz2::Codebook& book, const Calibration& calibration,
                                 const MeshOptions& options);

/// `payload` is what a coder wrote for `count` values.
Result<MeshRun> decompress_on_mesh(std::span<const std::byte> payload, std::size_t count,
                                   double bound, const ceresz2::Codebook& book,
                                   const Calibration& calibration, const MeshOptions& options);

}  // namespace tensorpress::wafer::programs
