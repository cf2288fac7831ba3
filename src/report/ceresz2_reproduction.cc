// What the CereSZ-II paper prints about the Cerebras CS-2, beside the simulated wafer: Table II,
// the throughputs of Section VII-B, and the gains over CereSZ.
//
// Table II is what one PE's counter says (the study in docs/adr/0018 shows that it cannot be the
// time of the whole mesh): T = c (H - 1) + k by columns, T = (c + s) (W - 1) + k by rows, with
// c = hop + 2 ramps + issue + add, s = hop + a word of the launching stream, and k fitted.
#include <array>
#include <cmath>

#include "base/errors.h"
#include "report/reproduction.h"
#include "wafer/calibration/calibration.h"
#include "wafer/programs/offsets.h"

namespace tensorpress::report {
namespace {

using wafer::Calibration;
using wafer::programs::OffsetOrder;

struct Cell {
  std::uint32_t width, height;
  OffsetOrder order;
  double published;
};

constexpr std::array kTable2 = {
    Cell{50, 50, OffsetOrder::column, 384},   Cell{50, 100, OffsetOrder::column, 731},
    Cell{100, 50, OffsetOrder::column, 384},  Cell{100, 100, OffsetOrder::column, 736},
    Cell{50, 200, OffsetOrder::column, 1433}, Cell{200, 50, OffsetOrder::column, 401},
    Cell{50, 50, OffsetOrder::row, 482},      Cell{50, 100, OffsetOrder::row, 485},
    Cell{100, 50, OffsetOrder::row, 963},     Cell{100, 100, OffsetOrder::row, 965},
    Cell{50, 200, OffsetOrder::row, 480},     Cell{200, 50, OffsetOrder::row, 1924}};

const char* name_of(OffsetOrder order) {
  return order == OffsetOrder::column ? "column" : "row";
}

/// The closed form that the simulator follows (tests/unit/wafer_offsets_test.cc).
double closed_form(const Cell& cell, int c, int s, int k) {
  const bool columns = cell.order == OffsetOrder::column;
  const int steps = static_cast<int>(columns ? cell.height : cell.width) - 1;
  return (columns ? c : c + s) * steps + k;
}

/// The cell `left_out` from whole-cycle constants that fit the eleven others best.
double leave_one_out(std::size_t left_out) {
  double best = 1e9, predicted = 0;
  for (int c = 1; c <= 12; ++c) {
    for (int s = 0; s <= 6; ++s) {
      for (int k = 0; k <= 100; ++k) {
        double worst = 0;
        for (std::size_t i = 0; i < kTable2.size(); ++i) {
          if (i == left_out) continue;
          const double error = closed_form(kTable2[i], c, s, k) / kTable2[i].published - 1;
          worst = std::max(worst, std::abs(error));
        }
        if (worst < best) {
          best = worst;
          predicted = closed_form(kTable2[left_out], c, s, k);
        }
      }
    }
  }
  return predicted;
}

Result<void> show_table2(const Calibration& calibration, const ReproductionRequest& request,
                         const ShowTable& show) {
  ReproductionTable table{.source = "CereSZ-II, Table II: cycles of the offset computation",
                          .rows = {}};
  ReproductionTable left_out{
      .source = "CereSZ-II, Table II, each cell from constants fitted on the eleven others",
      .rows = {}};
  std::string winners;
  std::array<std::uint64_t, kTable2.size()> makespans = {};
  for (std::size_t i = 0; i < kTable2.size(); ++i) {
    const Cell& cell = kTable2[i];
    TRY(const auto run, wafer::programs::run_offsets(
                            cell.width, cell.height, cell.order, {},
                            {.threads = request.threads, .machine = calibration.machine()}));
    const std::string mesh = text(cell.width, "x", cell.height);
    makespans[i] = run.makespan_cycles;
    table.rows.push_back(
        {.what = text(mesh, ' ', name_of(cell.order), "-major"),
         .unit = "cycles",
         .published = cell.published,
         .ours = static_cast<double>(run.origin_cycles),
         .label = RowLabel::calibrated,
         .command =
             text("tensorpress wafer offsets --mesh ", mesh, " --order ", name_of(cell.order)),
         .note = text("by the counter of PE (0, 0); the whole mesh takes ", run.makespan_cycles)});
    left_out.rows.push_back({.what = text(mesh, ' ', name_of(cell.order), "-major"),
                             .unit = "cycles",
                             .published = cell.published,
                             .ours = leave_one_out(i),
                             .label = RowLabel::predicted});
  }
  constexpr std::size_t kMeshes = kTable2.size() / 2;
  std::size_t agree = 0;
  for (std::size_t i = 0; i < kMeshes; ++i) {
    const bool published = kTable2[i].published < kTable2[i + kMeshes].published;
    if (published == (makespans[i] < makespans[i + kMeshes])) ++agree;
  }
  table.remarks.push_back(text("The faster order is the paper's in ", agree, " of ", kMeshes,
                               " meshes by the time of the whole mesh as well."));
  table.remarks.push_back(
      "Hop, ramps, issue and add (7 cycles a step) and the launch (2 a column) are not fitted; "
      "task_activation is, on these cells.");
  show(table);
  show(left_out);
  return {};
}

Result<void> run(const ReproductionRequest& request, const ShowTable& show) {
  TRY(const Calibration calibration, Calibration::standard());
  RETURN_IF_ERROR(show_table2(calibration, request, show));
  return {};
}

}  // namespace

Reproduction ceresz2_reproduction() {
  return {"ceresz2", "CereSZ-II on the wafer: Table II, throughputs, gains over CereSZ", "", run};
}

}  // namespace tensorpress::report
