#include "wafer/programs/ablations.h"

#include <algorithm>

namespace tensorpress::wafer::programs {

std::uint64_t look_back_cycles(std::uint32_t lines, std::uint32_t line_length,
                               const Machine& machine) {
  const std::uint64_t step = machine.hop + 2 * machine.ramp + machine.issue + machine.add;
  const std::uint64_t steps = std::uint64_t{lines} * line_length - 1;
  const std::uint64_t returns = std::uint64_t{lines - 1} * (line_length - 1) * machine.hop;
  return steps * step + returns;
}

std::uint64_t host_offset_cycles(std::uint64_t pes, const Calibration& calibration) {
  const double seconds = 2 * calibration["host_transaction_seconds"] +
                         2 * 4 * static_cast<double>(pes) / calibration["host_bytes_per_second"] +
                         static_cast<double>(pes) * calibration["host_scan_seconds"];
  return static_cast<std::uint64_t>(seconds * calibration["clock_hertz"]);
}

std::uint64_t helped_coding_cycles(const MeshRun& run, const Machine& machine) {
  const std::uint64_t handing_over = 2 * (machine.hop + 2 * machine.ramp + 32);
  std::uint64_t slowest = 0;
  for (std::uint32_t y = 0; y < run.height; ++y) {
    for (std::uint32_t x = 0; x < run.width; x += 2) {
      const std::uint64_t one = run.pe_cycles[std::size_t{y} * run.width + x];
      const std::uint64_t other =
          x + 1 < run.width ? run.pe_cycles[std::size_t{y} * run.width + x + 1] : 0;
      const std::uint64_t shared = (one + other + 1) / 2 + handing_over;
      slowest = std::max(slowest, std::min(shared, std::max(one, other)));
    }
  }
  return slowest;
}

std::vector<Ablation> ablations_of(const MeshRun& run, const MeshOptions& options,
                                   const Calibration& calibration) {
  std::vector<Ablation> all;
  if (options.mapping == Mapping::ceresz_three) return all;
  const Machine machine = calibration.machine();
  const bool columns = run.order == OffsetOrder::column;
  const std::uint32_t lines = columns ? run.width : run.height;
  const std::uint32_t length = columns ? run.height : run.width;
  all.push_back({"idle_pes_help", "if idle neighbours shared the work of slow PEs",
                 run.kernel_cycles - run.coding_cycles + helped_coding_cycles(run, machine)});
  if (options.mapping != Mapping::ceresz2) return all;
  all.push_back({"look_back", "with offsets by look-back through neighbours",
                 run.coding_cycles + look_back_cycles(lines, length, machine)});
  all.push_back(
      {"offsets_on_host", "with offsets computed by the host",
       run.coding_cycles + host_offset_cycles(std::uint64_t{run.width} * run.height, calibration)});
  if (!options.transpose) {
    const double more = calibration["transpose"] * static_cast<double>(run.coding_cycles);
    all.push_back({"transposed", "with bit transposition",
                   run.kernel_cycles + static_cast<std::uint64_t>(more)});
  }
  return all;
}

}  // namespace tensorpress::wafer::programs
