// A layout while the engine runs it: colors numbered without gaps, routes by PE, and the state of
// every PE. Strips of rows share it; each touches only its own PEs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "tensorpress/wafer/wafer.h"
#include "wafer/engine/pool.h"

namespace tensorpress::wafer::engine {

inline constexpr unsigned kUpRamp = 5;  // where a PE counts what it has on its way to its router
inline constexpr unsigned kCounters = 6;
inline constexpr std::uint8_t kNoColor = 255;
inline constexpr std::uint32_t kNoChain = 0xFFFFFFFF;

struct CompiledRoute {
  std::array<Position, kSwitchPositions> positions;
  std::uint8_t count = 0;  // 0: the color has no route here
  bool ring = false;
};

struct PeState {
  PeProgram* program = nullptr;
  std::uint64_t busy_until = 0;
  std::uint64_t finish = 0;
  std::uint64_t ramp_down_from = 1;  // [from, until]: reserved for words that are moved at once
  std::uint64_t ramp_down_until = 0;
  std::uint64_t ramp_up_until = 0;  // no other wavelet may go up before
  std::uint64_t dealt_until = 0;    // words that are moved at once go over the link `dealt_way`
  std::uint64_t collected_from = ~std::uint64_t{0};  // and over `collected_way` from then on
  std::uint32_t wavelets = kNil;                     // in the router's queues
  std::uint32_t inbox = kNil;                        // words in the PE's input queues
  std::uint32_t operations = kNil;                   // receives that wait
  std::uint32_t outbox = kNil;                       // sends that are not done
  std::uint32_t tasks = kNil;                        // activated
  std::uint32_t busy_cycles = 0;
  std::uint32_t data_tasks = 0;  // a bit for each of the engine's colors
  std::uint16_t unsent = 0;      // wavelets sent one by one that the output queue has not taken
  std::uint8_t last_granted = 0;
  std::uint8_t dealt_way = 0, collected_way = 0;
  bool active = false;
};

/// The smallest queue of a machine that keeps a link busy while trains are moved at once: what is
/// on its way, and the word that its slot comes back as.
inline std::uint32_t queue_for_trains(const Machine& machine) {
  return std::max(machine.hop, machine.ramp) + 1;
}

/// A row of routers along which a color deals words out to one PE after the other, or collects
/// them. While it does, the links between them belong to that color alone, or the run fails.
struct Chain {
  bool deals = false;      // else collects
  Port down = Port::west;  // a collecting chain's way out
  std::uint8_t color = 0;
  std::vector<std::uint32_t> pes;  // from the edge inwards
  std::vector<bool> passes;        // its router passes everything on; its PE has no part in it
  std::size_t next = 0;            // whose turn it is
  std::size_t sent = 0;            // how many of its sends are done
  std::uint64_t edge_free = 0;
  struct Waiting {
    std::uint64_t ready = 0;
    bool advance = false;
    std::vector<std::uint32_t> words;
  };
  std::vector<std::vector<Waiting>> waiting;  // of a collecting chain, by place
  std::vector<std::uint64_t> words;           // that ended at, or came from, each place
};

struct MeshState {
  explicit MeshState(Layout& the_layout, const RunOptions& the_options);

  std::uint32_t index(PeAt pe) const { return pe.y * width + pe.x; }
  PeAt at(std::uint32_t pe) const { return {pe % width, pe / width}; }
  const CompiledRoute& route(std::uint32_t pe, unsigned color) const {
    return routes[route_ids[std::size_t{pe} * colors + color]];
  }
  std::uint8_t& position(std::uint32_t pe, unsigned color) {
    return positions[std::size_t{pe} * colors + color];
  }
  std::uint8_t& outstanding(std::uint32_t pe, unsigned way, unsigned color) {
    return counters[(std::size_t{pe} * colors + color) * kCounters + way];
  }

  /// Adds what chains moved to the counts of their links.
  void count_chains();

  Layout& layout;
  RunOptions options;
  std::uint32_t width, height;
  unsigned colors = 0;
  std::array<std::uint8_t, kColors> dense = {};  // the engine's number of a color, or kNoColor
  std::array<Color, kColors> color_of = {};
  std::vector<CompiledRoute> routes;
  std::vector<std::uint16_t> route_ids;
  std::vector<std::uint8_t> positions;
  std::vector<std::uint8_t> counters;
  std::vector<PeState> pes;
  std::vector<std::array<std::uint32_t, 4>> link_wavelets;
  std::vector<Chain> chains;
  /// By row: the chain of each color that PEs of that row may send into, or kNoChain.
  std::vector<std::uint32_t> collecting;
  std::vector<std::uint32_t> dealing;  // by edge input

 private:
  void find_chains();
  std::uint32_t find_chain(std::uint32_t row, Port edge, unsigned color, bool deals);
};

}  // namespace tensorpress::wafer::engine
