// What only the whole layout shows: wavelets that no router next door takes, and colors that run in
// circles, where wavelets could go round forever.
#include <vector>

#include "base/errors.h"
#include "tensorpress/wafer/layout.h"
#include "wafer/engine/names.h"

namespace tensorpress::wafer {
namespace {

using engine::place_name;

PortSet ports_from(const Route& route) {
  PortSet all;
  for (const Position& position : route.positions) {
    all.bits = static_cast<std::uint8_t>(all.bits | position.from.bits);
  }
  return all;
}

constexpr Port kLinks[] = {Port::north, Port::east, Port::south, Port::west};

}  // namespace

Result<void> Layout::check() const {
  for (const EdgeInput& input : edge_inputs_) {
    const Route* const route = route_at(index(input.pe), input.color);
    if (route == nullptr || !ports_from(*route).has(input.edge)) {
      return bad_argument("color ", unsigned{input.color}, " comes in at the ", name_of(input.edge),
                          " of ", place_name(input.pe),
                          ", whose router takes none from there; give it a route");
    }
  }
  for (unsigned number = 0; number < kColors; ++number) {
    const auto color = static_cast<Color>(number);
    if (where_[color].empty()) continue;
    for (std::uint32_t y = 0; y < height_; ++y) {
      for (std::uint32_t x = 0; x < width_; ++x) {
        const PeAt pe{x, y};
        const Route* const route = route_at(index(pe), color);
        if (route == nullptr) continue;
        PortSet to;
        for (const Position& position : route->positions) {
          to.bits = static_cast<std::uint8_t>(to.bits | position.to.bits);
        }
        if (to.has(Port::ramp) && program(pe) == nullptr) {
          return bad_argument("color ", unsigned{color}, " leads to ", place_name(pe),
                              ", which has no program");
        }
        for (const Port port : kLinks) {
          if (!to.has(port)) continue;
          PeAt beside;
          if (!neighbour(pe, port, beside)) {
            if (is_edge_output(color)) continue;
            return bad_argument("color ", unsigned{color}, " (", color_names_[color],
                                ") leaves the mesh at the ", name_of(port), " of ", place_name(pe),
                                "; declare edge_output if the host takes it");
          }
          const Route* const next = route_at(index(beside), color);
          if (next == nullptr || !ports_from(*next).has(opposite(port))) {
            return bad_argument("routing conflict: color ", unsigned{color}, " (",
                                color_names_[color], ") goes from ", place_name(pe), " to the ",
                                name_of(port), ", but the router of ", place_name(beside),
                                " takes none from the ", name_of(opposite(port)));
          }
        }
      }
    }
    RETURN_IF_ERROR(check_circles(color));
  }
  return {};
}

// Kahn's algorithm over (router, way in): whatever is never without predecessors lies on a circle
// or behind one.
Result<void> Layout::check_circles(Color color) const {
  const std::size_t count = programs_.size();
  std::vector<std::uint8_t> waiting(count * 4, 0);  // predecessors of a router's way in
  const auto for_each_next = [&](std::size_t pe, Port in, auto visit) {
    const Route* const route = route_at(pe, color);
    if (route == nullptr) return;
    const PeAt at{static_cast<std::uint32_t>(pe % width_), static_cast<std::uint32_t>(pe / width_)};
    PortSet to;
    for (const Position& position : route->positions) {
      if (position.from.has(in)) to.bits = static_cast<std::uint8_t>(to.bits | position.to.bits);
    }
    for (const Port out : kLinks) {
      PeAt beside;
      if (to.has(out) && neighbour(at, out, beside)) visit(index(beside), opposite(out));
    }
  };
  const auto slot = [](std::size_t pe, Port in) { return pe * 4 + static_cast<std::size_t>(in); };
  for (std::size_t pe = 0; pe < count; ++pe) {
    for (const Port in : kLinks) {
      for_each_next(pe, in, [&](std::size_t next, Port port) { ++waiting[slot(next, port)]; });
    }
  }
  std::vector<std::size_t> free;
  std::size_t done = 0;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i] == 0) free.push_back(i);
  }
  while (!free.empty()) {
    const std::size_t i = free.back();
    free.pop_back();
    ++done;
    for_each_next(i / 4, Port{static_cast<std::uint8_t>(i % 4)}, [&](std::size_t next, Port port) {
      if (--waiting[slot(next, port)] == 0) free.push_back(slot(next, port));
    });
  }
  if (done == waiting.size()) return {};
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i] == 0) continue;
    const PeAt at{static_cast<std::uint32_t>(i / 4 % width_),
                  static_cast<std::uint32_t>(i / 4 / width_)};
    return bad_argument("routing conflict: color ", unsigned{color}, " (", color_names_[color],
                        ") runs in a circle through or before ", place_name(at),
                        ", where wavelets would go round forever");
  }
  return {};
}

}  // namespace tensorpress::wafer
