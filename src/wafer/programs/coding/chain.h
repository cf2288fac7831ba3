// PEs in a line, each of which receives from the one before it and sends to the one after. A
// router has one route for a color, so neighbours take turns with two colors:
//
//   PE 0 --even--> PE 1 --odd--> PE 2 --even--> PE 3
#pragma once

#include <span>
#include <vector>

#include "tensorpress/wafer/layout.h"
#include "tensorpress/wafer/program.h"

namespace tensorpress::wafer::programs {

struct ChainColors {
  Color even = 0;
  Color odd = 0;

  /// What the PE at `place` of the line sends with; it receives with in(place).
  Color out(std::size_t place) const { return place % 2 == 0 ? even : odd; }
  Color in(std::size_t place) const { return out(place + 1); }
};

/// Two colors called `name` even and odd.
Result<ChainColors> new_chain_colors(Layout& layout, const std::string& name);

/// Routes for `length` PEs from `first` on in the direction of `to`.
Result<void> route_chain(Layout& layout, PeAt first, Port to, std::size_t length,
                         const ChainColors& colors);

/// Colors of a matrix product on the mesh: x comes down every column, sums of rows are added up
/// westwards, and y leaves at the west edge.
struct ProductColors {
  Color x = 0;
  ChainColors sums = {};
  Color y = 0;
};
Result<void> route_row_of_product(Layout& layout, std::uint32_t row, const ProductColors& colors);

/// Which PEs of a line have a part in dealing or collecting; the routers between pass words on.
struct Stops {
  std::size_t first = 0;
  std::size_t every = 1;
};

/// Routes along which words that come in at `edge` are dealt out to PEs of the `length` from there
/// inwards, to one after the other; a wavelet marked `advance` is the last for each.
Result<void> route_dealing(Layout& layout, PeAt first, Port edge, std::size_t length, Color color,
                           const Stops& stops = {});
/// Routes along which the PEs send their words out at `edge`, one PE after the other; the last
/// word of each must be marked `advance`.
Result<void> route_collecting(Layout& layout, PeAt first, Port edge, std::size_t length,
                              Color color, const Stops& stops = {});

/// The turn of the PE at `place` of a line of `length` when float vectors are added up along it:
/// the last one has the sum when `done` begins.
void add_along_chain(Pe& pe, const ChainColors& colors, std::size_t place, std::size_t length,
                     std::span<std::uint32_t> values, Task done);

/// The PE `steps` further.
PeAt step(PeAt from, Port to, std::size_t steps);

}  // namespace tensorpress::wafer::programs
