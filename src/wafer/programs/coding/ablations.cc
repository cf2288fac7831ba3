#include "wafer/programs/coding/ablations.h"

#include "wafer/programs/offsets/look_back.h"

namespace tensorpress::wafer::programs {

std::uint64_t host_offset_cycles(std::uint64_t pes, const Calibration& calibration) {
  const double seconds = 2 * calibration["host_transaction_seconds"] +
                         2 * 4 * static_cast<double>(pes) / calibration["host_bytes_per_second"] +
                         static_cast<double>(pes) * calibration["host_scan_seconds"];
  return static_cast<std::uint64_t>(seconds * calibration["clock_hertz"]);
}

std::vector<Ablation> ablations_of(const MeshRun& run, const MeshOptions& options,
                                   const Calibration& calibration) {
  std::vector<Ablation> all;
  if (options.mapping == Mapping::ceresz_three) return all;
  const Machine machine = calibration.machine();
  const bool columns = run.order == OffsetOrder::column;
  const std::uint32_t lines = columns ? run.width : run.height;
  const std::uint32_t length = columns ? run.height : run.width;
  if (options.mapping != Mapping::ceresz2) return all;
  all.push_back({"look_back", "with offsets by look-back (closed form)",
                 run.coding_cycles + look_back_cycles(lines, length, machine)});
  all.push_back(
      {"offsets_on_host",
       "with offsets computed by the host (a model of the transfer, not simulated)",
       run.coding_cycles + host_offset_cycles(std::uint64_t{run.width} * run.height, calibration)});
  if (!options.transpose) {
    const double more = calibration["transpose"] * static_cast<double>(run.coding_cycles);
    all.push_back({"transposed", "with bit transposition (the paper's factor)",
                   run.kernel_cycles + static_cast<std::uint64_t>(more)});
  }
  return all;
}

}  // namespace tensorpress::wafer::programs
