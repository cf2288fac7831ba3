#include <bit>
#include <memory>

#include "base/errors.h"
#include "wafer/programs/coding/chain.h"
#include "wafer/programs/collectives/collectives.h"

namespace tensorpress::wafer::programs {
namespace {

struct GemvTiling {
  Color x = 0;
  Color y = 0;  // out at the west
  ChainColors sums = {};
  std::size_t tile_rows = 0, tile_columns = 0;
  std::uint32_t width = 0;
};

enum : Task { kMultiply, kDone };

class Tile final : public PeProgram {
 public:
  Tile(const GemvTiling& tiling, std::vector<float> a) : tiling_(tiling), a_(std::move(a)) {
    x_.resize(tiling.tile_columns);
    y_.resize(tiling.tile_rows);
  }
  std::vector<MemoryItem> memory() const override {
    return {
        {"code", 512}, {"tile of A", 4 * a_.size()}, {"x", 4 * x_.size()}, {"y", 4 * y_.size()}};
  }
  void start(Pe& pe) override { pe.receive(tiling_.x, x_, kMultiply); }
  void on_task(Pe& pe, Task task) override {
    const std::size_t turn = tiling_.width - 1 - pe.at().x;
    if (task == kDone) {
      pe.send(tiling_.y, y_);
      pe.finish();
      return;
    }
    std::vector<float> sums(tiling_.tile_rows);
    for (std::size_t j = 0; j < tiling_.tile_columns; ++j) {
      const float x = std::bit_cast<float>(x_[j]);
      for (std::size_t i = 0; i < tiling_.tile_rows; ++i) {
        sums[i] += a_[j * tiling_.tile_rows + i] * x;
      }
      pe.vector_operation(tiling_.tile_rows, 2, 1);  // a column of A and y, into y
    }
    for (std::size_t i = 0; i < sums.size(); ++i) y_[i] = std::bit_cast<std::uint32_t>(sums[i]);
    add_along_chain(pe, tiling_.sums, turn, tiling_.width, y_, kDone);
  }

 private:
  const GemvTiling& tiling_;
  std::vector<float> a_;  // column by column
  std::vector<std::uint32_t> x_, y_;
};

}  // namespace

Result<GemvRun> run_gemv(std::uint32_t width, std::uint32_t height, std::size_t rows,
                         std::size_t columns, std::span<const float> a, std::span<const float> x,
                         const RunOptions& options, const Inspect& inspect) {
  TRY(Layout layout, Layout::make(width, height));
  if (rows % height != 0 || columns % width != 0 || rows == 0 || columns == 0 ||
      a.size() != rows * columns || x.size() != columns) {
    return bad_argument("a matrix of ", rows, "x", columns, " does not divide into ", width, "x",
                        height, " tiles, or does not fit its vector of ", x.size());
  }
  GemvTiling tiling{.tile_rows = rows / height, .tile_columns = columns / width, .width = width};
  TRY(tiling.x, layout.new_color("x"));
  TRY(tiling.y, layout.new_color("y"));
  TRY(tiling.sums, new_chain_colors(layout, "sums"));
  RETURN_IF_ERROR(layout.edge_output(tiling.y));
  for (std::uint32_t i = 0; i < width; ++i) {
    EdgeInput input{.pe = {i, 0}, .edge = Port::north, .color = tiling.x, .words = {}};
    for (std::size_t j = 0; j < tiling.tile_columns; ++j) {
      input.words.push_back(std::bit_cast<std::uint32_t>(x[i * tiling.tile_columns + j]));
    }
    RETURN_IF_ERROR(layout.edge_input(std::move(input)));
  }
  for (std::uint32_t y = 0; y < height; ++y) {
    RETURN_IF_ERROR(route_row_of_product(layout, y, {tiling.x, tiling.sums, tiling.y}));
    for (std::uint32_t i = 0; i < width; ++i) {
      std::vector<float> tile;
      for (std::size_t c = 0; c < tiling.tile_columns; ++c) {
        for (std::size_t r = 0; r < tiling.tile_rows; ++r) {
          tile.push_back(a[(y * tiling.tile_rows + r) * columns + i * tiling.tile_columns + c]);
        }
      }
      RETURN_IF_ERROR(layout.place({i, y}, std::make_unique<Tile>(tiling, std::move(tile))));
    }
  }
  GemvRun run;
  TRY(run.report, wafer::run(layout, options));
  if (inspect) inspect(layout, run.report);
  for (const EdgeOutput& output : run.report.edge_outputs) {
    for (const std::uint32_t word : output.words) run.y.push_back(std::bit_cast<float>(word));
  }
  run.cycles = run.report.cycles;
  return run;
}

}  // namespace tensorpress::wafer::programs
