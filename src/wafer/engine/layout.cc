#include "tensorpress/wafer/layout.h"

#include <algorithm>

#include "base/errors.h"
#include "wafer/engine/names.h"

namespace tensorpress::wafer {

using engine::place_name;

const char* name_of(Port port) {
  constexpr const char* kNames[] = {"north", "east", "south", "west", "ramp"};
  return kNames[static_cast<unsigned>(port)];
}

Layout::Layout(std::uint32_t width, std::uint32_t height) : width_(width), height_(height) {
  programs_.resize(std::size_t{width} * height);
}

Result<Layout> Layout::make(std::uint64_t width, std::uint64_t height) {
  if (width < 1 || height < 1 || width > kWaferWidth || height > kWaferHeight) {
    return bad_argument("a mesh of ", width, "x", height, " PEs; the wafer has 1x1 to ",
                        kWaferWidth, "x", kWaferHeight, " (", kUsableWidth, "x", kUsableHeight,
                        " of them for programs)");
  }
  return Layout(static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height));
}

Result<Color> Layout::new_color(std::string name) {
  for (unsigned color = 0; color < kColors; ++color) {
    if ((used_colors_ >> color & 1u) != 0) continue;
    used_colors_ |= 1u << color;
    color_names_[color] = std::move(name);
    return static_cast<Color>(color);
  }
  std::string owners;
  for (const std::string& owner : color_names_) owners += text(owners.empty() ? "" : ", ", owner);
  return bad_argument("no color is left for '", name, "': all ", kColors, " are taken (", owners,
                      "); let two of them share a color where their routes do not meet");
}

Result<void> Layout::route(PeAt pe, Color color, const Route& route) {
  if (!inside(pe)) {
    return bad_argument("route for ", place_name(pe), ", outside the ", width_, "x", height_,
                        " mesh");
  }
  return this->route(pe, {pe.x + 1, pe.y + 1}, color, route);
}

Result<void> Layout::route(PeAt first, PeAt end, Color color, const Route& route) {
  if (first.x >= end.x || first.y >= end.y) return {};
  if (end.x > width_ || end.y > height_) {
    return bad_argument("routes up to ", place_name({end.x - 1, end.y - 1}), ", outside the ",
                        width_, "x", height_, " mesh");
  }
  if (color >= kColors) {
    return bad_argument("color ", unsigned{color}, "; there are 0 to ", kColors - 1);
  }
  if (route.positions.empty() || route.positions.size() > kSwitchPositions) {
    return bad_argument("a route with ", route.positions.size(),
                        " switch positions; a router has 1 to ", kSwitchPositions);
  }
  for (const Position& position : route.positions) {
    if (position.from.empty() || position.to.empty() || position.from.bits >> kPorts != 0 ||
        position.to.bits >> kPorts != 0) {
      return bad_argument("a route of color ", unsigned{color}, " at ", place_name(first),
                          " has a position without a port to come from or to go to");
    }
    if (position.from.has(Port::ramp) && position.to.has(Port::ramp)) {
      return bad_argument("a route of color ", unsigned{color}, " at ", place_name(first),
                          " leads from the ramp back to the ramp");
    }
    for (unsigned port = 0; port < 4; ++port) {
      if (position.from.has(Port{static_cast<std::uint8_t>(port)}) &&
          position.to.has(Port{static_cast<std::uint8_t>(port)})) {
        return bad_argument("a route of color ", unsigned{color}, " at ", place_name(first),
                            " sends wavelets back to the ",
                            name_of(Port{static_cast<std::uint8_t>(port)}),
                            ", where they come from");
      }
    }
  }
  const auto same = std::ranges::find(routes_, route);
  const auto id = static_cast<std::uint16_t>(same - routes_.begin() + 1);
  if (same == routes_.end()) {
    if (routes_.size() == 0xFFFE) return too_large("more than 65534 different routes");
    routes_.push_back(route);
  }
  auto& where = where_[color];
  if (where.empty()) where.resize(programs_.size());
  for (std::uint32_t y = first.y; y < end.y; ++y) {
    for (std::uint32_t x = first.x; x < end.x; ++x) {
      std::uint16_t& slot = where[index({x, y})];
      if (slot != 0 && slot != id) {
        return bad_argument("color ", unsigned{color}, " already has another route at ",
                            place_name({x, y}), "; use switch positions or another color");
      }
      slot = id;
    }
  }
  if ((used_colors_ >> color & 1u) == 0) color_names_[color] = text("color ", unsigned{color});
  used_colors_ |= 1u << color;
  return {};
}

Result<void> Layout::place(PeAt pe, std::unique_ptr<PeProgram> program) {
  if (!inside(pe)) {
    return bad_argument("a program for ", place_name(pe), ", outside the ", width_, "x", height_,
                        " mesh");
  }
  if (program == nullptr) return bad_argument("no program for ", place_name(pe));
  if (programs_[index(pe)] != nullptr) {
    return bad_argument(place_name(pe), " already has a program");
  }
  const auto items = program->memory();
  std::size_t bytes = 0;
  for (const MemoryItem& item : items) bytes += item.bytes;
  if (bytes > kSramBytes) {
    std::string list;
    for (const MemoryItem& item : items) {
      list += text(list.empty() ? "" : ", ", item.name, " ", item.bytes);
    }
    return too_large("the program of ", place_name(pe), " needs ", bytes, " bytes of SRAM, ",
                     bytes - kSramBytes, " more than the ", kSramBytes, " of a PE: ", list);
  }
  largest_memory_ = std::max(largest_memory_, bytes);
  programs_[index(pe)] = std::move(program);
  return {};
}

Result<void> Layout::edge_input(EdgeInput input) {
  PeAt beside;
  if (!inside(input.pe) || input.edge == Port::ramp || neighbour(input.pe, input.edge, beside)) {
    return bad_argument("input at the ", name_of(input.edge), " of ", place_name(input.pe),
                        ", which is not at that edge of the ", width_, "x", height_, " mesh");
  }
  if (input.color >= kColors) {
    return bad_argument("color ", unsigned{input.color}, "; there are 0 to ", kColors - 1);
  }
  for (const EdgeInput& other : edge_inputs_) {
    if (other.pe == input.pe && other.edge == input.edge && other.color == input.color) {
      return bad_argument("two inputs of color ", unsigned{input.color}, " at the ",
                          name_of(input.edge), " of ", place_name(input.pe));
    }
  }
  edge_inputs_.push_back(std::move(input));
  return {};
}

Result<void> Layout::edge_output(Color color, bool alone) {
  if (color >= kColors) {
    return bad_argument("color ", unsigned{color}, "; there are 0 to ", kColors - 1);
  }
  edge_outputs_ |= 1u << color;
  if (alone) alone_ |= 1u << color;
  return {};
}

Result<void> Layout::stage_name(Stage stage, std::string name) {
  if (stage >= kStages) return bad_argument("stage ", unsigned{stage}, "; there are ", kStages);
  stage_names_[stage] = std::move(name);
  return {};
}

const Route* Layout::route_at(std::size_t pe, Color color) const {
  const auto& where = where_[color];
  if (where.empty() || where[pe] == 0) return nullptr;
  return &routes_[where[pe] - 1u];
}

bool Layout::neighbour(PeAt pe, Port port, PeAt& beside) const {
  beside = pe;
  switch (port) {
    case Port::north:
      --beside.y;
      break;
    case Port::south:
      ++beside.y;
      break;
    case Port::west:
      --beside.x;
      break;
    case Port::east:
      ++beside.x;
      break;
    case Port::ramp:
      return false;
  }
  return inside(beside);
}

}  // namespace tensorpress::wafer
