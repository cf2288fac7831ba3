// What other designs of the paper's discussion would make of a run, in closed form, told beside it
// (CereSZ-II, Sections III, VI-A and VIII). Look-back (look_back.h) and idle PEs that help
// (sharing_pe.h) are programs that can be run instead.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wafer/programs/coding/mesh_codec.h"

namespace tensorpress::wafer::programs {

struct Ablation {
  std::string_view name;
  std::string sentence;
  std::uint64_t kernel_cycles = 0;
};

/// Lengths to the host and offsets back: two transactions over the network and the words.
std::uint64_t host_offset_cycles(std::uint64_t pes, const Calibration& calibration);
std::vector<Ablation> ablations_of(const MeshRun& run, const MeshOptions& options,
                                   const Calibration& calibration);

}  // namespace tensorpress::wafer::programs
