// What the paper's discussion says of other designs, from a run and closed forms: how long the
// kernel would take with offsets found by look-back or by the host, and with idle PEs helping slow
// ones (CereSZ-II, Sections III, VI-A and VIII).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wafer/programs/mesh_codec.h"

namespace tensorpress::wafer::programs {

struct Ablation {
  std::string_view name;
  std::string sentence;
  std::uint64_t kernel_cycles = 0;
};

/// The slowest PE's coding, then every PE asks its predecessor: without shared memory look-back is
/// a chain through all PEs, a step each, and back to the head of the next line.
std::uint64_t look_back_cycles(std::uint32_t lines, std::uint32_t line_length,
                               const Machine& machine);
/// Lengths to the host and offsets back: two transactions over the network and the words.
std::uint64_t host_offset_cycles(std::uint64_t pes, const Calibration& calibration);
/// Each PE shares its work evenly with its eastern neighbour; the block has to get there.
std::uint64_t helped_coding_cycles(const MeshRun& run, const Machine& machine);

std::vector<Ablation> ablations_of(const MeshRun& run, const MeshOptions& options,
                                   const Calibration& calibration);

}  // namespace tensorpress::wafer::programs
