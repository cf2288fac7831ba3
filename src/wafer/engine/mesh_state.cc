#include "wafer/engine/mesh_state.h"

#include <algorithm>

namespace tensorpress::wafer::engine {

MeshState::MeshState(Layout& the_layout, const RunOptions& the_options)
    : layout(the_layout),
      options(the_options),
      width(the_layout.width()),
      height(the_layout.height()) {
  dense.fill(kNoColor);
  for (unsigned color = 0; color < kColors; ++color) {
    if ((layout.used_colors() >> color & 1u) == 0) continue;
    dense[color] = static_cast<std::uint8_t>(colors);
    color_of[colors++] = static_cast<Color>(color);
  }
  const std::size_t count = layout.pe_count();
  routes.resize(1);
  route_ids.assign(count * colors, 0);
  std::vector<const Route*> known = {nullptr};
  for (unsigned color = 0; color < colors; ++color) {
    for (std::size_t pe = 0; pe < count; ++pe) {
      const Route* const route = layout.route_at(pe, color_of[color]);
      if (route == nullptr) continue;
      std::size_t id = known.size();
      while (id-- > 1 && known[id] != route) {
      }
      if (id == 0) {
        id = known.size();
        known.push_back(route);
        CompiledRoute& compiled = routes.emplace_back();
        std::ranges::copy(route->positions, compiled.positions.begin());
        compiled.count = static_cast<std::uint8_t>(route->positions.size());
        compiled.ring = route->ring;
      }
      route_ids[pe * colors + color] = static_cast<std::uint16_t>(id);
    }
  }
  positions.assign(count * colors, 0);
  counters.assign(count * colors * kCounters, 0);
  pes.resize(count);
  link_wavelets.resize(count);
  for (std::uint32_t pe = 0; pe < count; ++pe) {
    PeProgram* const program = layout.program(at(pe));
    pes[pe].program = program;
    if (program == nullptr) continue;
    const std::uint32_t tasks = program->data_tasks();
    if (tasks == 0) continue;
    for (unsigned color = 0; color < colors; ++color) {
      if ((tasks >> color_of[color] & 1u) != 0) pes[pe].data_tasks |= 1u << color;
    }
  }
  collecting.assign(std::size_t{height} * colors, kNoChain);
  dealing.assign(layout.edge_inputs().size(), kNoChain);
  const std::uint32_t shortest =
      std::min(options.machine.router_queue, options.machine.input_queue);
  if (options.trains && !options.trace && shortest >= queue_for_trains(options.machine)) {
    find_chains();
  }
}

// A dealing chain: every router first gives its words to its PE, and after an advance passes
// everything on; the last one keeps its first position. A collecting chain: every router first
// sends its PE's words out, and after an advance what comes from further in. Routers between them
// may pass everything on from the start.
std::uint32_t MeshState::find_chain(std::uint32_t row, Port edge, unsigned color, bool deals) {
  const bool from_west = edge == Port::west;
  const Port inwards = opposite(edge);
  Chain chain;
  chain.deals = deals;
  chain.down = edge;
  chain.color = static_cast<std::uint8_t>(color);
  for (std::uint32_t step = 0; step < width; ++step) {
    const PeAt place{from_west ? step : width - 1 - step, row};
    const std::uint32_t pe = index(place);
    const CompiledRoute& here = route(pe, color);
    if (here.count == 0) break;
    const Position own = deals ? Position{{edge}, {Port::ramp}} : Position{{Port::ramp}, {edge}};
    const Position pass = deals ? Position{{edge}, {inwards}} : Position{{inwards}, {edge}};
    const bool ends = here.count == 1 && here.positions[0] == own;
    const bool goes_on =
        here.count == 2 && !here.ring && here.positions[0] == own && here.positions[1] == pass;
    const bool passes = here.count == 1 && here.positions[0] == pass;
    if (!ends && !goes_on && !passes) return kNoChain;
    chain.pes.push_back(pe);
    chain.passes.push_back(passes);
    if (ends) break;
    if (step + 1 == width) return kNoChain;
  }
  if (chain.pes.empty() || chain.passes.back()) return kNoChain;
  chain.words.assign(chain.pes.size(), 0);
  if (!deals) {
    chain.waiting.resize(chain.pes.size());
    collecting[std::size_t{row} * colors + color] = static_cast<std::uint32_t>(chains.size());
  }
  chains.push_back(std::move(chain));
  return static_cast<std::uint32_t>(chains.size() - 1);
}

void MeshState::find_chains() {
  for (unsigned color = 0; color < colors; ++color) {
    const Color name = color_of[color];
    if (!layout.is_edge_output(name) || !layout.is_alone(name)) continue;
    for (std::uint32_t row = 0; row < height; ++row) {
      if (find_chain(row, Port::west, color, false) == kNoChain) {
        find_chain(row, Port::east, color, false);
      }
    }
  }
  for (std::size_t i = 0; i < layout.edge_inputs().size(); ++i) {
    const EdgeInput& input = layout.edge_inputs()[i];
    const bool sideways = input.edge == Port::west || input.edge == Port::east;
    if (!input.alone || !sideways || input.advance_every == 0) continue;
    dealing[i] = find_chain(input.pe.y, input.edge, dense[input.color], true);
  }
}

void MeshState::count_chains() {
  for (const Chain& chain : chains) {
    const auto way = static_cast<std::size_t>(chain.deals ? opposite(chain.down) : chain.down);
    std::uint64_t beyond = 0;  // words of the places further in
    for (std::size_t place = chain.pes.size(); place-- > 0;) {
      if (!chain.deals) beyond += chain.words[place];
      link_wavelets[chain.pes[place]][way] += static_cast<std::uint32_t>(beyond);
      if (chain.deals) beyond += chain.words[place];
    }
  }
}

}  // namespace tensorpress::wafer::engine
