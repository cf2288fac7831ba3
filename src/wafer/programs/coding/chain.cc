#include "wafer/programs/coding/chain.h"

#include "base/errors.h"

namespace tensorpress::wafer::programs {

PeAt step(PeAt from, Port to, std::size_t steps) {
  const auto n = static_cast<std::uint32_t>(steps);
  switch (to) {
    case Port::north:
      return {from.x, from.y - n};
    case Port::south:
      return {from.x, from.y + n};
    case Port::west:
      return {from.x - n, from.y};
    case Port::east:
      return {from.x + n, from.y};
    case Port::ramp:
      break;
  }
  return from;
}

Result<ChainColors> new_chain_colors(Layout& layout, const std::string& name) {
  ChainColors colors;
  TRY(colors.even, layout.new_color(name + " even"));
  TRY(colors.odd, layout.new_color(name + " odd"));
  return colors;
}

void add_along_chain(Pe& pe, const ChainColors& colors, std::size_t place, std::size_t length,
                     std::span<std::uint32_t> values, Task done) {
  if (length == 1) {
    pe.activate(done);
  } else if (place == 0) {
    pe.send(colors.out(0), values);
  } else if (place + 1 < length) {
    pe.forward_add(colors.in(place), colors.out(place), values, kNoTask, Arithmetic::f32);
  } else {
    pe.receive_add(colors.in(place), values, done, Arithmetic::f32);
  }
}

Result<void> route_chain(Layout& layout, PeAt first, Port to, std::size_t length,
                         const ChainColors& colors) {
  const Route send = Route::fixed({Port::ramp}, {to});
  const Route receive = Route::fixed({opposite(to)}, {Port::ramp});
  for (std::size_t place = 0; place < length; ++place) {
    const PeAt pe = step(first, to, place);
    if (place + 1 < length) RETURN_IF_ERROR(layout.route(pe, colors.out(place), send));
    if (place > 0) RETURN_IF_ERROR(layout.route(pe, colors.in(place), receive));
  }
  return {};
}

Result<void> route_row_of_product(Layout& layout, std::uint32_t row, const ProductColors& colors) {
  const std::uint32_t width = layout.width();
  PortSet to{Port::ramp};
  if (row + 1 < layout.height()) to.add(Port::south);
  RETURN_IF_ERROR(
      layout.route({0, row}, {width, row + 1}, colors.x, Route::fixed({Port::north}, to)));
  RETURN_IF_ERROR(route_chain(layout, {width - 1, row}, Port::west, width, colors.sums));
  return layout.route({0, row}, colors.y, Route::fixed({Port::ramp}, {Port::west}));
}

namespace {

/// `own`: to or from the PE; `pass`: along the line. The last stop keeps to the first of them.
Result<void> route_stops(Layout& layout, PeAt first, Port inwards, std::size_t length, Color color,
                         const Stops& stops, const Position& own, const Position& pass) {
  for (std::size_t place = 0; place < length; ++place) {
    const bool stop = place >= stops.first && (place - stops.first) % stops.every == 0;
    const bool last = stop && length - place <= stops.every;
    const Route route{stop ? last ? std::vector{own} : std::vector{own, pass} : std::vector{pass},
                      false};
    RETURN_IF_ERROR(layout.route(step(first, inwards, place), color, route));
    if (last) break;
  }
  return {};
}

}  // namespace

Result<void> route_dealing(Layout& layout, PeAt first, Port edge, std::size_t length, Color color,
                           const Stops& stops) {
  const Port inwards = opposite(edge);
  return route_stops(layout, first, inwards, length, color, stops, {{edge}, {Port::ramp}},
                     {{edge}, {inwards}});
}

Result<void> route_collecting(Layout& layout, PeAt first, Port edge, std::size_t length,
                              Color color, const Stops& stops) {
  const Port inwards = opposite(edge);
  return route_stops(layout, first, inwards, length, color, stops, {{Port::ramp}, {edge}},
                     {{inwards}, {edge}});
}

}  // namespace tensorpress::wafer::programs
