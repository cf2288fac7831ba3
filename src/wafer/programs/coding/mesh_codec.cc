#include "wafer/programs/coding/mesh_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>

#include "base/errors.h"
#include "codecs/ceresz/chunk_slack.h"
#include "wafer/programs/coding/assembly.h"
#include "wafer/programs/coding/coding_pe.h"
#include "wafer/programs/coding/sharing_pe.h"
#include "wafer/programs/coding/three_pe.h"
#include "wafer/programs/trains_if_alone.h"

namespace tensorpress::wafer::programs {
namespace {

/// The PEs of one block: a pipeline is three wide.
std::uint32_t pes_of(Mapping mapping) {
  return mapping == Mapping::ceresz_three ? 3 : 1;
}

Result<CodingJob> make_job(std::span<const float> values, double bound,
                           const ceresz2::Codebook& book, const Calibration& calibration,
                           const MeshOptions& options, MeshRun& run) {
  if (values.empty()) return bad_argument("a field without values needs no wafer");
  if (values.size() > UINT32_MAX - kBlockValues) {
    return too_large("a field of ", values.size(), " values; positions have 32 bits");
  }
  const unsigned slack = ceresz::choose_slack(values, bound);
  CodingJob job{
      .values = values,
      .slack = slack,
      .quantizer = kernels::bitplane::make_quantizer<float>(bound, slack),
      .book = &book,
      .costs = BlockCosts(calibration, options.uniform_cost, options.transpose),
      .mapping = options.mapping,
      .io = options.io,
      .offsets_by = options.mapping == Mapping::ceresz2 ? options.offsets : OffsetsBy::host,
      .share_work = options.share_work};
  job.blocks = (values.size() + kBlockValues - 1) / kBlockValues;
  run.blocks = job.blocks;
  const std::uint32_t each = pes_of(options.mapping);
  if (options.share_work && options.mapping == Mapping::ceresz_three) {
    return unsupported("shared work on pipelines of three PEs; take a mapping of one PE a block");
  }
  if (options.width < each) {
    return bad_argument("a pipeline of three PEs does not fit a mesh of ", options.width, "x",
                        options.height);
  }
  const MeshExtent mesh = options.shrink
                              ? mesh_for(job.blocks, options.width / each, options.height)
                              : MeshExtent{options.width / each, options.height};
  run.width = mesh.width * each;
  run.height = mesh.height;
  const std::uint64_t places = std::uint64_t{mesh.width} * mesh.height;
  const std::uint64_t rounds = (job.blocks + places - 1) / places;
  const std::size_t fixed = job.fixed_bytes();
  const std::uint64_t fits = fixed < kSramBytes ? (kSramBytes - fixed) / job.block_bytes() : 0;
  if (rounds > fits) {
    return too_large("the field has ", job.blocks, " blocks, ", rounds, " for each of ", places,
                     " places on the ", options.width, "x", options.height,
                     " mesh, but the SRAM of a PE holds ", fits, ": at most ",
                     fits * places * kBlockValues,
                     " values fit; use a larger mesh or a part of the field");
  }
  job.blocks_per_pe = static_cast<std::uint32_t>(rounds);
  run.blocks_per_pe = job.blocks_per_pe;
  return job;
}

/// Words for one row, as the host deals them out.
std::vector<std::uint32_t> row_words(const CodingJob& job, std::uint32_t width, std::uint32_t y) {
  std::vector<std::uint32_t> words;
  for (std::uint32_t x = 0; x < width; ++x) {
    job.deal(job.lines.number_of({x, y}) * job.blocks_per_pe, words);
  }
  return words;
}

std::unique_ptr<CodingPe> coding_pe(const CodingJob& job, std::uint32_t width, PeAt at) {
  const std::uint64_t first = std::min(job.blocks, job.lines.number_of(at) * job.blocks_per_pe);
  const auto count =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(job.blocks_per_pe, job.blocks - first));
  if (!job.share_work) return std::make_unique<CodingPe>(job, at, first, count);
  // A pair without blocks has nothing to say; the western one has the earlier blocks.
  const PeAt western{at.x / 2 * 2, at.y};
  const bool paired =
      western.x + 1 < width && job.lines.number_of(western) * job.blocks_per_pe < job.blocks;
  return std::make_unique<SharingPe>(job, at, first, count, paired);
}

Result<void> name_stages(Layout& layout) {
  RETURN_IF_ERROR(layout.stage_name(kQuantizeStage, "prequantization"));
  RETURN_IF_ERROR(layout.stage_name(kPredictStage, "Lorenzo prediction"));
  RETURN_IF_ERROR(layout.stage_name(kEncodeStage, "encoding"));
  RETURN_IF_ERROR(layout.stage_name(kOffsetStage, "offsets"));
  return layout.stage_name(kDecodeStage, "decoding");
}

Result<std::optional<MeshRun>> compress_once(std::span<const float> values, double bound,
                                             const ceresz2::Codebook& book,
                                             const Calibration& calibration,
                                             const MeshOptions& options,
                                             const RunOptions& run_options) {
  MeshRun run;
  TRY(CodingJob job, make_job(values, bound, book, calibration, options, run));
  if (options.mapping == Mapping::ceresz_three) {
    return compress_in_threes(job, options, run_options, std::move(run));
  }
  TRY(Layout layout, Layout::make(run.width, run.height));
  RETURN_IF_ERROR(name_stages(layout));
  run.order = options.order.value_or(choose_order(run.width, run.height));
  TRY(job.in, layout.new_color("words in"));
  TRY(job.out, layout.new_color("words out"));
  job.lines = number_blocks(run.width, run.height, run.order);
  if (job.offsets_by == OffsetsBy::mesh) {
    TRY(job.lines, route_offsets(layout, run.order, CodingPe::kFirstOffsetTask, kOffsetStage));
  } else if (job.offsets_by == OffsetsBy::look_back) {
    TRY(job.lines, route_look_back(layout, run.order, kOffsetStage));
  }
  if (job.share_work) RETURN_IF_ERROR(route_pairs(layout, job));
  const bool edge = job.io == MeshIo::edge;
  if (edge) RETURN_IF_ERROR(layout.edge_output(job.out, true));
  for (std::uint32_t y = 0; y < run.height; ++y) {
    RETURN_IF_ERROR(route_dealing(layout, {0, y}, Port::west, run.width, job.in));
    if (edge) RETURN_IF_ERROR(route_collecting(layout, {0, y}, Port::west, run.width, job.out));
    RETURN_IF_ERROR(layout.edge_input({.pe = {0, y},
                                       .color = job.in,
                                       .words = row_words(job, run.width, y),
                                       .advance_every = job.dealt_words(),
                                       .alone = true}));
    for (std::uint32_t x = 0; x < run.width; ++x) {
      RETURN_IF_ERROR(layout.place({x, y}, coding_pe(job, run.width, {x, y})));
    }
  }
  run.sram_bytes = layout.largest_memory();
  run.colors = static_cast<unsigned>(std::popcount(layout.used_colors()));
  TRY(std::optional<Report> report, engine::run_if_alone(layout, run_options));
  if (!report) return std::optional<MeshRun>();
  run.report = *std::move(report);
  if (options.inspect) options.inspect(layout, run.report);

  Assembly assembly(layout.pe_count());
  if (edge) {
    for (const EdgeOutput& row : run.report.edge_outputs) {
      std::vector<std::uint64_t> numbers;
      for (std::uint32_t x = 0; x < run.width; ++x) {
        numbers.push_back(job.lines.number_of({x, row.pe.y}));
      }
      RETURN_IF_ERROR(assembly.cut(row, numbers));
    }
  }
  std::uint64_t began = UINT64_MAX, placed = 0;
  for (std::uint32_t y = 0; y < run.height; ++y) {
    for (std::uint32_t x = 0; x < run.width; ++x) {
      const auto* const pe = static_cast<const CodingPe*>(layout.program({x, y}));
      if (!edge) assembly.add(job.lines.number_of({x, y}), pe->output());
      run.pe_cycles.push_back(pe->coding_cycles());
      run.coding_cycles = std::max<std::uint64_t>(run.coding_cycles, pe->coding_cycles());
      began = std::min(began, pe->began());
      placed = std::max(placed, pe->placed());
      if (job.share_work) run.shared_blocks += static_cast<const SharingPe*>(pe)->given();
    }
  }
  run.kernel_cycles = placed - began;
  run.cycles = run.report.cycles;
  if (job.mapping == Mapping::ceresz2) {
    TRY(run.payload, assembly.ceresz2(job));
  } else {
    run.payload = assembly.ceresz(job.slack);
  }
  return std::optional(std::move(run));
}

}  // namespace

MeshExtent mesh_for(std::uint64_t blocks, std::uint32_t width, std::uint32_t height) {
  if (blocks >= std::uint64_t{width} * height) return {width, height};
  auto side = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(blocks)));
  side = std::clamp<std::uint64_t>(side, 1, height);
  std::uint64_t wide = (blocks + side - 1) / side;
  if (wide > width) {
    wide = width;
    side = (blocks + wide - 1) / wide;
  }
  return {static_cast<std::uint32_t>(wide), static_cast<std::uint32_t>(side)};
}

Result<MeshRun> compress_on_mesh(std::span<const float> values, double bound,
                                 const ceresz2::Codebook& book, const Calibration& calibration,
                                 const MeshOptions& options) {
  // With costs of almost nothing, words in and offsets may get in each other's way.
  return with_trains_if_alone<MeshRun>(options.run, [&](const RunOptions& run_options) {
    return compress_once(values, bound, book, calibration, options, run_options);
  });
}

}  // namespace tensorpress::wafer::programs
