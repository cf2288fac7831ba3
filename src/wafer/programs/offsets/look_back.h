// Offsets by decoupled look-back (Merrill and Garland, NVR-2016-002), which CereSZ-II's discussion
// rules out for a wafer (Section VIII-B): without shared memory a PE sees its predecessors' states
// only as far as its neighbour hands them on.
//
//   the states a PE tells its successor:   A  its own length and what it has added up so far, then
//                                          every state that still comes, until one is a
//                                          P  prefix: everything before the successor is known
//
// A PE that has its prefix before its length is known tells only P, the prefix with its length.
// The order is that of the blocks: down a line, then over the routers to the head of the next one.
// How many states come cannot be known, so each is a task of its own: that is what it costs.
#pragma once

#include <cstdint>

#include "wafer/programs/offsets/offset_stages.h"

namespace tensorpress::wafer::programs {

/// States have a bit for their kind, so that lengths add up to less than this.
inline constexpr std::uint32_t kLookBackLengths = 0x80000000u;
/// All PEs that wait hand on what all before them said: half the square of wavelets.
inline constexpr std::uint64_t kMostLookBackPes = 10000;

/// Takes four colors (MeshLines::place along a line, MeshLines::scan to the next head) and routes
/// them; an error on meshes of more PEs than can be simulated.
Result<MeshLines> route_look_back(Layout& layout, OffsetOrder order, Stage stage);

class LookBack {
 public:
  /// The color that activates a data task of the PE, as a set of one; none for the first.
  static std::uint32_t listens(const MeshLines& lines, PeAt pe);

  /// The PE's length is known. True when its offset is as well.
  bool begin(Pe& pe, const MeshLines& lines, std::uint32_t length);
  /// A state came. True when it made a PE that has its length know its offset.
  bool on_wavelet(Pe& pe, const MeshLines& lines, std::uint32_t state);

  std::uint32_t length() const { return length_; }
  std::uint32_t offset() const { return sum_; }

 private:
  void tell(Pe& pe, const MeshLines& lines, std::uint32_t state) const;

  std::uint32_t length_ = 0;
  std::uint32_t sum_ = 0;  // of the states that came
  bool measured_ = false;  // the length is known
  bool placed_ = false;    // the sum is the prefix
};

/// From the first PE's length to the last one's offset when all have theirs at once: a step for
/// each PE, and the routers back to the heads. A chain that only scans would take 7 cycles a step.
std::uint64_t look_back_cycles(std::uint32_t lines, std::uint32_t line_length,
                               const Machine& machine);

}  // namespace tensorpress::wafer::programs
