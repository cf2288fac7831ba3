// Idle PEs that help slow ones, which CereSZ-II's discussion leaves to future work (Section
// VIII-A): neighbours of a row make pairs, (0, 1), (2, 3), ..., and one that has coded its own
// blocks asks the other for one of its.
//
//   a: codes ... codes ... codes | idle ->                  | codes it, result -> | bye <->
//   b: codes ................... codes ........ | <- work ...................... codes
//
// A block is handed over whole, while at least one more is left to its owner, so a mesh with a
// block a PE gains nothing. Every message has a head of three words; each PE says bye once, after
// which the other expects nothing more, so that no run ends waiting.
#pragma once

#include <array>
#include <vector>

#include "wafer/programs/coding/coding_pe.h"

namespace tensorpress::wafer::programs {

/// Takes two colors (CodingJob::to_east, to_west) and routes them between the PEs of each pair.
Result<void> route_pairs(Layout& layout, CodingJob& job);

class SharingPe final : public CodingPe {
 public:
  /// `eastern`: its neighbour is in the west. `paired`: it has one with blocks, or has some itself.
  SharingPe(const CodingJob& job, PeAt at, std::uint64_t first_block, std::uint32_t block_count,
            bool paired);

  std::vector<MemoryItem> memory() const override;
  void start(Pe& pe) override;
  void on_task(Pe& pe, Task task) override;
  /// Blocks that the neighbour coded.
  std::uint32_t given() const { return given_; }

 private:
  using Head = std::array<std::uint32_t, kMessageHead>;  // kind, and two numbers
  enum : std::uint32_t { kIdle, kWork, kResult, kBye };
  enum : Task { kNextTask = kFirstSharingTask, kHeadTask, kBodyTask, kByeTask };

  void loaded(Pe& pe) override;
  void next(Pe& pe);
  void heard(Pe& pe);
  void take_work(Pe& pe);
  void take_result(Pe& pe);
  void offer(Pe& pe);
  void say_bye(Pe& pe);
  void unload(Pe& pe);
  void await(Pe& pe, std::span<std::uint32_t> words, Task then);
  void complete(Pe& pe);

  bool paired_;
  Color in_, out_;
  std::vector<CodedBlocks> results_;  // by own block
  std::uint32_t front_ = 0, back_;    // own blocks that neither PE has begun
  std::uint32_t missing_;             // own blocks without a result
  std::uint32_t given_ = 0;
  bool loaded_ = false;
  bool said_idle_ = false, said_bye_ = false, heard_bye_ = false;
  bool bye_left_ = false, unloads_ = false;
  bool other_done_ = false;  // with its own blocks
  Head heard_ = {}, idle_ = {}, bye_ = {};
  std::vector<std::uint32_t> body_, message_;
};

}  // namespace tensorpress::wafer::programs
