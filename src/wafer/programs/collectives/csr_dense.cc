#include "wafer/programs/collectives/csr_dense.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "base/errors.h"
#include "wafer/programs/coding/chain.h"

namespace tensorpress::wafer::programs {
namespace {

struct CsrTiling {
  Color x = 0;
  Color y = 0;
  ChainColors sums = {};
  std::size_t tile_rows = 0, tile_columns = 0, features = 0;
  std::uint32_t width = 0;
};

struct Nonzero {
  std::uint32_t row, column;  // within the tile
  float value;
};

enum : Task { kMultiply, kDone };

class CsrTile final : public PeProgram {
 public:
  CsrTile(const CsrTiling& tiling, std::vector<Nonzero> nonzeros)
      : tiling_(tiling),
        nonzeros_(std::move(nonzeros)),
        x_(tiling.tile_columns * tiling.features),
        y_(tiling.tile_rows * tiling.features) {}

  std::vector<MemoryItem> memory() const override {
    return {{"code", 1024},
            {"row starts", 4 * (tiling_.tile_rows + 1)},
            {"columns and values", 8 * nonzeros_.size()},
            {"rows of X", 4 * x_.size()},
            {"rows of Y", 4 * y_.size()}};
  }
  void start(Pe& pe) override { pe.receive(tiling_.x, x_, kMultiply); }
  void on_task(Pe& pe, Task task) override {
    if (task == kDone) {
      pe.send(tiling_.y, y_);
      pe.finish();
      return;
    }
    std::vector<float> sums(y_.size());
    for (const Nonzero& nonzero : nonzeros_) {
      float* const to = sums.data() + nonzero.row * tiling_.features;
      const std::uint32_t* const from = x_.data() + nonzero.column * tiling_.features;
      for (std::size_t i = 0; i < tiling_.features; ++i) {
        to[i] += nonzero.value * std::bit_cast<float>(from[i]);
      }
      pe.spend(2);  // its column and its value
      pe.vector_operation(tiling_.features, 2, 1);
    }
    for (std::size_t i = 0; i < sums.size(); ++i) y_[i] = std::bit_cast<std::uint32_t>(sums[i]);
    const std::size_t turn = tiling_.width - 1 - pe.at().x;
    add_along_chain(pe, tiling_.sums, turn, tiling_.width, y_, kDone);
  }

 private:
  const CsrTiling& tiling_;
  std::vector<Nonzero> nonzeros_;
  std::vector<std::uint32_t> x_, y_;
};

Result<void> check(const CsrMatrix& a, std::size_t features, std::span<const float> x) {
  if (a.rows == 0 || a.columns == 0 || features == 0 || a.row_starts.size() != a.rows + 1 ||
      a.column_of.size() != a.values.size() || a.row_starts.front() != 0 ||
      a.row_starts.back() != a.values.size() || x.size() != a.columns * features) {
    return bad_argument("a matrix of ", a.rows, "x", a.columns, " with ", a.row_starts.size(),
                        " row starts and ", a.values.size(), " values does not go with ", x.size(),
                        " numbers for ", features, " features");
  }
  for (std::size_t row = 0; row < a.rows; ++row) {
    if (a.row_starts[row] > a.row_starts[row + 1]) {
      return bad_argument("row ", row, " of the matrix ends before it starts");
    }
  }
  for (const std::uint32_t column : a.column_of) {
    if (column >= a.columns) return bad_argument("column ", column, " of ", a.columns);
  }
  return {};
}

}  // namespace

Result<CsrDenseRun> run_csr_dense(std::uint32_t width, std::uint32_t height, const CsrMatrix& a,
                                  std::size_t features, std::span<const float> x,
                                  const RunOptions& options, const Inspect& inspect) {
  TRY(Layout layout, Layout::make(width, height));
  RETURN_IF_ERROR(check(a, features, x));
  CsrTiling tiling{.tile_rows = (a.rows + height - 1) / height,
                   .tile_columns = (a.columns + width - 1) / width,
                   .features = features,
                   .width = width};
  std::vector<std::vector<Nonzero>> tiles(layout.pe_count());
  for (std::size_t row = 0; row < a.rows; ++row) {
    for (std::size_t i = a.row_starts[row]; i < a.row_starts[row + 1]; ++i) {
      const std::size_t column = a.column_of[i];
      const PeAt pe{static_cast<std::uint32_t>(column / tiling.tile_columns),
                    static_cast<std::uint32_t>(row / tiling.tile_rows)};
      tiles[layout.index(pe)].push_back({static_cast<std::uint32_t>(row % tiling.tile_rows),
                                         static_cast<std::uint32_t>(column % tiling.tile_columns),
                                         a.values[i]});
    }
  }
  TRY(tiling.x, layout.new_color("rows of X"));
  TRY(tiling.y, layout.new_color("rows of Y"));
  TRY(tiling.sums, new_chain_colors(layout, "sums"));
  RETURN_IF_ERROR(layout.edge_output(tiling.y));
  for (std::uint32_t i = 0; i < width; ++i) {
    EdgeInput input{.pe = {i, 0}, .edge = Port::north, .color = tiling.x, .words = {}};
    const std::size_t first = i * tiling.tile_columns * features;
    for (std::size_t j = first; j < first + tiling.tile_columns * features; ++j) {
      input.words.push_back(j < x.size() ? std::bit_cast<std::uint32_t>(x[j]) : 0);
    }
    RETURN_IF_ERROR(layout.edge_input(std::move(input)));
  }
  for (std::uint32_t y = 0; y < height; ++y) {
    RETURN_IF_ERROR(route_row_of_product(layout, y, {tiling.x, tiling.sums, tiling.y}));
    for (std::uint32_t i = 0; i < width; ++i) {
      RETURN_IF_ERROR(layout.place(
          {i, y}, std::make_unique<CsrTile>(tiling, std::move(tiles[layout.index({i, y})]))));
    }
  }
  CsrDenseRun run;
  run.sram_bytes = layout.largest_memory();
  TRY(run.report, wafer::run(layout, options));
  if (inspect) inspect(layout, run.report);
  for (const EdgeOutput& output : run.report.edge_outputs) {
    for (const std::uint32_t word : output.words) run.y.push_back(std::bit_cast<float>(word));
  }
  run.y.resize(a.rows * features);
  run.cycles = run.report.cycles;
  double sum = 0;
  for (const std::uint32_t cycles : run.report.busy_cycles) {
    sum += cycles;
    run.slowest_pe_cycles = std::max(run.slowest_pe_cycles, cycles);
  }
  run.mean_pe_cycles = sum / static_cast<double>(layout.pe_count());
  return run;
}

}  // namespace tensorpress::wafer::programs
