#include "report/pages/wafer_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "report/drawing/numbers.h"
#include "wafer/programs/coding/ablations.h"

namespace tensorpress::report {
namespace {

using wafer::programs::MeshIo;
using wafer::programs::MeshRun;
using wafer::programs::OffsetOrder;
using Json = nlohmann::ordered_json;

double gigabytes_per_second(std::uint64_t bytes, std::uint64_t cycles) {
  return cycles == 0
             ? 0
             : static_cast<double>(bytes) / static_cast<double>(cycles) * wafer::kClockHertz / 1e9;
}

struct Links {
  double busiest = 0;  // share of all cycles
  double mean = 0;     // over the links that carried anything
};

Links links_of(const MeshRun& run) {
  std::uint64_t sum = 0, used = 0, most = 0;
  for (const auto& pe : run.report.link_wavelets) {
    for (const std::uint32_t count : pe) {
      sum += count;
      used += count > 0 ? 1 : 0;
      most = std::max<std::uint64_t>(most, count);
    }
  }
  const auto cycles = static_cast<double>(std::max<std::uint64_t>(run.cycles, 1));
  return {static_cast<double>(most) / cycles,
          used == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(used) / cycles};
}

struct StageLine {
  const char* name;
  wafer::Stage stage;
};
constexpr StageLine kStageLines[] = {{"prequantization", wafer::programs::kQuantizeStage},
                                     {"prediction", wafer::programs::kPredictStage},
                                     {"encoding", wafer::programs::kEncodeStage},
                                     {"decoding", wafer::programs::kDecodeStage}};

double pes_of(const MeshRun& run) {
  return static_cast<double>(run.width) * run.height;
}

Json run_json(const MeshRun& run, std::uint64_t bytes, const wafer::Machine& machine) {
  Json stages = Json::object();
  for (const StageLine& line : kStageLines) {
    const auto& stage = run.report.stages[line.stage];
    if (stage.cycles == 0) continue;
    stages[line.name] = {{"cycles_per_pe", static_cast<double>(stage.cycles) / pes_of(run)},
                         {"first_begin", stage.first_begin},
                         {"last_end", stage.last_end}};
  }
  const Links links = links_of(run);
  const double port_cycles = static_cast<double>(run.cycles) * pes_of(run);
  return {
      {"mesh", text(run.width, "x", run.height)},
      {"blocks", run.blocks},
      {"blocks_per_pe", run.blocks_per_pe},
      {"shared_blocks", run.shared_blocks},
      {"order", run.order == OffsetOrder::column ? "column" : "row"},
      {"coding_cycles", run.coding_cycles},
      {"kernel_cycles", run.kernel_cycles},
      {"cycles", run.cycles},
      {"coding_gb_per_s", gigabytes_per_second(bytes, run.coding_cycles)},
      {"kernel_gb_per_s", gigabytes_per_second(bytes, run.kernel_cycles)},
      {"gb_per_s", gigabytes_per_second(bytes, run.cycles)},
      {"stages", std::move(stages)},
      {"wavelet_hops", run.report.wavelet_hops},
      {"busiest_link", links.busiest},
      {"mean_link", links.mean},
      {"memory_read", static_cast<double>(run.report.bits_read) / machine.read_bits / port_cycles},
      {"memory_write",
       static_cast<double>(run.report.bits_written) / machine.write_bits / port_cycles},
      {"sram_bytes", run.sram_bytes},
      {"colors", run.colors},
      {"events", run.report.events}};
}

}  // namespace

Json wafer_json(const wafer::FieldOnWafer& done, const wafer::FieldOptions& options,
                const wafer::Calibration& calibration) {
  const std::uint64_t bytes = done.info.bytes_in();
  Json object = {{"codec", done.info.codec.name()},
                 {"bytes_in", bytes},
                 {"bytes_out", done.info.bytes_out},
                 {"ratio", static_cast<double>(bytes) / static_cast<double>(done.info.bytes_out)},
                 {"payload_bytes", done.payload_bytes},
                 {"same_as_host", done.run ? Json(done.same_as_host) : Json(nullptr)}};
  if (!done.run) return object;
  const wafer::Machine machine = calibration.machine();
  object.update(run_json(*done.run, bytes, machine));
  const auto ablations = wafer::programs::ablations_of(*done.run, options.mesh, calibration);
  Json what_if = Json::object();
  for (const auto& each : ablations) what_if[std::string(each.name)] = each.kernel_cycles;
  object["what_if_kernel_cycles"] = std::move(what_if);
  if (done.back) {
    object["decompression"] = run_json(*done.back, bytes, machine);
    object["decompression"]["same_as_host"] = done.back_same_as_host;
  }
  return object;
}

std::string wafer_text(const wafer::FieldOnWafer& done, const wafer::FieldOptions& options,
                       const wafer::Calibration& calibration) {
  const std::uint64_t bytes = done.info.bytes_in();
  if (!done.run) {
    return "Nothing was coded on the wafer: the field is constant, or the bound is too small for "
           "its values and they are stored as they are.\n";
  }
  const MeshRun& run = *done.run;
  const auto speed = [&](std::uint64_t cycles) {
    return text(grouped(cycles), " cycles, ", fixed(gigabytes_per_second(bytes, cycles), 2),
                " GB/s");
  };
  using wafer::programs::OffsetsBy;
  const OffsetsBy by = options.mesh.mapping == wafer::programs::Mapping::ceresz2
                           ? options.mesh.offsets
                           : OffsetsBy::host;
  const bool on_mesh = by != OffsetsBy::host;
  std::string lines;
  lines += text(
      "mesh       ", run.width, "x", run.height, " PEs, ", run.blocks_per_pe,
      " blocks a PE, offsets ",
      on_mesh ? run.order == OffsetOrder::column ? "by columns" : "by rows" : "not on the mesh",
      by == OffsetsBy::look_back ? ", looking back" : "", '\n');
  if (options.mesh.share_work) {
    lines += text("shared     ", grouped(run.shared_blocks), " of ", grouped(run.blocks),
                  " blocks coded by a neighbour\n");
  }
  lines +=
      text("payload    ", grouped(done.payload_bytes), " bytes, ",
           done.same_as_host ? "the host codec's byte for byte" : "NOT the host codec's", '\n');
  lines +=
      text("ratio      ",
           fixed(static_cast<double>(bytes) / static_cast<double>(done.info.bytes_out), 2), '\n');
  lines += text("coding     ", speed(run.coding_cycles), " by the slowest PE's counter\n");
  lines += text("kernel     ", speed(run.kernel_cycles), " with ",
                on_mesh ? "the offsets" : "the launch", ", on the whole mesh\n");
  const bool threes = options.mesh.mapping == wafer::programs::Mapping::ceresz_three;
  lines += text("all        ", speed(run.cycles),
                options.mesh.io == MeshIo::sram ? " with the launch\n"
                : threes ? " with the words in at the west edge and out at the east edge\n"
                         : " with the words in and out at the west edge\n");
  for (const StageLine& line : kStageLines) {
    const auto& stage = run.report.stages[line.stage];
    if (stage.cycles == 0) continue;
    lines +=
        text("  ", line.name, std::string(18 - std::string_view(line.name).size(), ' '),
             grouped(static_cast<std::uint64_t>(static_cast<double>(stage.cycles) / pes_of(run))),
             " cycles a PE in the mean\n");
  }
  const Links links = links_of(run);
  const wafer::Machine machine = calibration.machine();
  const double port_cycles = static_cast<double>(run.cycles) * pes_of(run);
  lines += text("links      busiest ", percent(links.busiest), " of the cycles, those in use ",
                percent(links.mean), " in the mean\n");
  lines +=
      text("memory     read port ",
           percent(static_cast<double>(run.report.bits_read) / machine.read_bits / port_cycles),
           ", write port ",
           percent(static_cast<double>(run.report.bits_written) / machine.write_bits / port_cycles),
           " of the cycles; ", grouped(run.sram_bytes), " of ", grouped(wafer::kSramBytes),
           " bytes of SRAM; ", run.colors, " of ", wafer::kColors, " colors\n");
  for (const auto& each : wafer::programs::ablations_of(run, options.mesh, calibration)) {
    lines += text("  ", each.sentence, ": ", speed(each.kernel_cycles), '\n');
  }
  if (done.back) {
    lines += text("decoding   ", speed(done.back->coding_cycles), " by the slowest PE's counter, ",
                  done.back_same_as_host ? "the host codec's values bit for bit"
                                         : "NOT the host codec's values",
                  "\nand all    ", speed(done.back->cycles),
                  options.mesh.io == MeshIo::sram
                      ? " with the launch\n"
                      : " with the words in and the values out at the west edge\n");
  }
  return lines;
}

}  // namespace tensorpress::report
