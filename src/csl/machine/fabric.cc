#include "csl/machine/fabric.h"

#include <algorithm>

namespace tensorpress::csl {
namespace {

constexpr int kRamp = static_cast<int>(Direction::ramp);
constexpr int kColumns[] = {1, -1, 0, 0}, kRows[] = {0, 0, -1, 1};
constexpr int kOpposite[] = {1, 0, 3, 2};

/// The commands of a control wavelet: eight of three bits from bit 22 on, around bit 31.
constexpr unsigned command_of(std::uint32_t payload) {
  return payload >> 22 & 3u;
}
constexpr bool ignored_by_tile(std::uint32_t payload) {
  return (payload >> 24 & 1u) != 0;
}
/// The payload without its first command: the others move up, the task's id stays.
constexpr std::uint32_t popped(std::uint32_t payload) {
  const std::uint64_t commands =
      (std::uint64_t{payload} >> 22 | std::uint64_t{payload & 0x3fffu} << 10) >> 3;
  return (payload & 0x003f0000u) | static_cast<std::uint32_t>(commands << 22) |
         static_cast<std::uint32_t>(commands >> 10 & 0x3fffu);
}

/// False in the last position, where nothing follows.
bool advance_switch(ColorConfig& config) {
  if (config.current + 1 < config.positions) {
    ++config.current;
    return true;
  }
  if (config.ring) config.current = 0;
  return config.ring;
}

}  // namespace

Fabric::Fabric(const Executable& executable)
    : width_(executable.width), height_(executable.height) {
  for (int y = 0; y < height_; ++y) {
    for (int x = 0; x < width_; ++x) {
      const int program = executable.program_of[at(x, y)];
      tiles_.push_back(
          program < 0
              ? nullptr
              : std::make_unique<Tile>(executable.programs[static_cast<std::size_t>(program)].get(),
                                       executable.architecture, x, y));
      Router router;
      router.colors = executable.colors[at(x, y)];
      router.ports.resize(kColors);
      routers_.push_back(std::move(router));
    }
  }
  asleep_.resize(tiles_.size());
}

std::deque<Wavelet>& Fabric::to_tile(int x, int y, int color) {
  return to_tile_[{at(x, y), color}];
}
std::deque<Wavelet>& Fabric::from_tile(int x, int y, int color) {
  return from_tile_[{at(x, y), color}];
}

bool Fabric::room(std::size_t router, int color, std::uint8_t to) const {
  const int x = static_cast<int>(router) % width_, y = static_cast<int>(router) / width_;
  for (int direction = 0; direction < kDirections; ++direction) {
    if ((to >> direction & 1) == 0) continue;
    if (direction == kRamp) {
      if (tiles_[router] != nullptr && !tiles_[router]->can_receive(color)) return false;
      continue;
    }
    const int nx = x + kColumns[direction], ny = y + kRows[direction];
    if (nx < 0 || ny < 0 || nx >= width_ || ny >= height_) continue;  // lost
    const Port& port =
        routers_[at(nx, ny)]
            .ports[static_cast<std::size_t>(color)][static_cast<std::size_t>(kOpposite[direction])];
    if (port.wavelets.size() >= kBuffer) return false;
  }
  return true;
}

void Fabric::plan(std::size_t index) {
  Router& router = routers_[index];
  std::uint8_t links = 0;  // used in this cycle
  bool ramp_used = false;
  for (int k = 0; k < kColors; ++k) {
    const int color = static_cast<int>((static_cast<std::uint64_t>(k) + now_) % kColors);
    const ColorConfig& config = router.colors[static_cast<std::size_t>(color)];
    if (!config.set || config.teardown) continue;
    const Route& route = config.routes[config.current];
    for (int turn = 0; turn < kDirections; ++turn) {
      const int from = static_cast<int>((static_cast<std::uint64_t>(turn) + now_) % kDirections);
      if ((route.from >> from & 1) == 0) continue;
      const Wavelet* wavelet = nullptr;
      int queue = -1;
      if (from == kRamp) {
        Tile* tile = tiles_[index].get();
        for (int q = 0; tile != nullptr && q < kQueues && !ramp_used; ++q) {
          if (!tile->output(q).empty() && tile->output(q).front().color == color) {
            wavelet = &tile->output(q).front().wavelet;
            queue = q;
            break;
          }
        }
      } else {
        const Port& port =
            router.ports[static_cast<std::size_t>(color)][static_cast<std::size_t>(from)];
        if (!port.wavelets.empty()) wavelet = &port.wavelets.front();
      }
      if (wavelet == nullptr) continue;
      std::uint8_t to = route.to;
      if ((wavelet->control && ignored_by_tile(wavelet->payload)) ||
          !passes(config.filter, *wavelet))
        to &= static_cast<std::uint8_t>(~(1u << kRamp));
      if ((to & links) != 0 || !room(index, color, to)) continue;
      links |= to;
      if (from == kRamp) ramp_used = true;
      moves_.push_back({index, color, from, *wavelet, to, queue});
      break;  // one wavelet of a color and cycle
    }
  }
}

bool Fabric::passes(const Filter& filter, const Wavelet& wavelet) {
  if (!filter.set || wavelet.control) return true;
  const std::uint32_t index = wavelet.payload >> 16;
  return index >= filter.least && index <= filter.most;
}

void Fabric::apply(const Move& move) {
  Router& router = routers_[move.router];
  if (move.queue >= 0) {
    tiles_[move.router]->output(move.queue).pop_front();
    asleep_[move.router] = 0;
  } else {
    router.ports[static_cast<std::size_t>(move.color)][static_cast<std::size_t>(move.from)]
        .wavelets.pop_front();
    --router.waiting;
  }
  ColorConfig& config = router.colors[static_cast<std::size_t>(move.color)];
  Wavelet wavelet = move.wavelet;
  const std::uint32_t payload = wavelet.payload;
  if (wavelet.advances) advance_switch(config);
  wavelet.advances = false;
  if (wavelet.control && config.positions > 1) {
    const unsigned command = command_of(payload);
    const bool advanced = command == 1 && advance_switch(config);
    if (command == 2) config.current = 0;
    if (config.pop == 2 || (config.pop == 1 && advanced)) wavelet.payload = popped(payload);
  }
  if (wavelet.control && command_of(payload) == 3) {
    config.teardown = true;
    if (tiles_[move.router] != nullptr) tiles_[move.router]->tear_down(move.color);
    asleep_[move.router] = 0;
  }
  const int x = static_cast<int>(move.router) % width_, y = static_cast<int>(move.router) / width_;
  for (int direction = 0; direction < kDirections; ++direction) {
    if ((move.to >> direction & 1) == 0) continue;
    if (direction == kRamp) {
      if (tiles_[move.router] != nullptr) {
        tiles_[move.router]->receive(move.color, wavelet);
        asleep_[move.router] = 0;
      }
      continue;
    }
    const int nx = x + kColumns[direction], ny = y + kRows[direction];
    if (nx < 0 || ny < 0 || nx >= width_ || ny >= height_) continue;
    Router& next = routers_[at(nx, ny)];
    next.ports[static_cast<std::size_t>(move.color)][static_cast<std::size_t>(kOpposite[direction])]
        .wavelets.push_back(wavelet);
    ++next.waiting;
  }
}

/// Wavelets from and to the host.
bool Fabric::serve_host() {
  bool moved = false;
  for (auto& [place, wavelets] : to_tile_) {
    Tile* tile = tiles_[place.first].get();
    if (wavelets.empty() || tile == nullptr || !tile->can_receive(place.second)) continue;
    tile->receive(place.second, wavelets.front());
    wavelets.pop_front();
    asleep_[place.first] = 0;
    moved = true;
  }
  if (host_colors_ == 0) return moved;
  for (std::size_t k = 0; k < tiles_.size(); ++k) {
    for (int q = 0; tiles_[k] != nullptr && q < kQueues; ++q) {
      auto& output = tiles_[k]->output(q);
      if (output.empty() || (host_colors_ >> output.front().color & 1u) == 0) continue;
      if (routers_[k].colors[output.front().color].set) continue;
      from_tile_[{k, output.front().color}].push_back(output.front().wavelet);
      output.pop_front();
      asleep_[k] = 0;
      moved = true;
    }
  }
  return moved;
}

/// Changes in the order in which the code asked for them, color by color. Those of kind 5 wait
/// until what came by the old route has left.
bool Fabric::change_routes(std::size_t index) {
  Router& router = routers_[index];
  std::uint32_t waiting = 0;  // colors
  std::vector<Tile::RouteChange> left;
  for (const Tile::RouteChange& change : router.changes) {
    const std::uint32_t color = std::uint32_t{1} << change.color;
    if ((waiting & color) != 0 || (change.what >> 16 == 5 && under_way(index, change.color))) {
      waiting |= color;
      left.push_back(change);
    } else {
      change_route(index, change);
    }
  }
  const bool changed = left.size() != router.changes.size();
  router.changes = std::move(left);
  return changed;
}

bool Fabric::under_way(std::size_t index, int color) {
  const Router& router = routers_[index];
  const ColorConfig& config = router.colors[static_cast<std::size_t>(color)];
  if (!config.set) return false;
  const std::uint8_t from = config.routes[config.current].from;
  for (int direction = 0; direction < kRamp; ++direction) {
    if ((from >> direction & 1) == 0) continue;
    const auto& ports = router.ports[static_cast<std::size_t>(color)];
    if (!ports[static_cast<std::size_t>(direction)].wavelets.empty()) return true;
  }
  for (int q = 0; (from >> kRamp & 1) != 0 && q < kQueues; ++q) {
    for (const Tile::OutgoingWavelet& one : tiles_[index]->output(q)) {
      if (one.color == color) return true;
    }
  }
  return false;
}

/// What a tile's code does to its router's configuration of a color: the kind of change from bit 16
/// on, directions that wavelets go to from bit 8 on, and where they come from below.
void Fabric::change_route(std::size_t router, const Tile::RouteChange& change) {
  ColorConfig& config = routers_[router].colors[static_cast<std::size_t>(change.color)];
  const Route route{static_cast<std::uint8_t>(change.what & 31u),
                    static_cast<std::uint8_t>(change.what >> 8 & 31u)};
  config.set = true;
  switch (change.what >> 16) {
    case 0:
    case 5:
      config.routes[0] = route;
      break;
    case 1:
      config.current = 0;
      break;
    case 2:
      config.positions = 1;
      break;
    case 3:
      config.routes[1] = {route.from != 0 ? route.from : config.routes[0].from,
                          route.to != 0 ? route.to : config.routes[0].to};
      config.positions = 2;
      break;
    default:
      config.teardown = false;
      break;
  }
}

bool Fabric::cycle() {
  bool moved = serve_host();
  for (std::size_t k = 0; k < routers_.size(); ++k) {
    if (!routers_[k].changes.empty()) moved = change_routes(k) || moved;
  }
  moves_.clear();
  for (std::size_t k = 0; k < routers_.size(); ++k) {
    bool any = routers_[k].waiting != 0;
    for (int q = 0; !any && tiles_[k] != nullptr && q < kQueues; ++q)
      any = !tiles_[k]->output(q).empty();
    if (any) plan(k);
  }
  for (const Move& move : moves_) apply(move);
  moved = moved || !moves_.empty();
  bool stepped = false;
  for (std::size_t k = 0; k < tiles_.size(); ++k) {
    Tile* tile = tiles_[k].get();
    if (tile == nullptr || asleep_[k] != 0) continue;
    const bool worked = tile->step(now_);
    for (const Tile::RouteChange& change : tile->route_changes()) {
      routers_[k].changes.push_back(change);
    }
    tile->route_changes().clear();
    if (tile->fault().set && fault_ == nullptr) fault_ = tile;
    if (!worked) {
      asleep_[k] = 1;
      continue;
    }
    stepped = true;
  }
  if (!moved && !stepped) return false;
  now_ += 1;
  return true;
}

std::string Fabric::waiting(const Sources& sources) const {
  std::string out;
  std::size_t shown_tiles = 0;
  for (const auto& tile : tiles_) {
    if (tile == nullptr) continue;
    const std::string one = tile->waits_for(sources);
    if (!one.empty() && ++shown_tiles <= 8) out += one;
  }
  if (shown_tiles > 8) out += "and " + std::to_string(shown_tiles - 8) + " other PEs\n";
  for (std::size_t k = 0; k < routers_.size(); ++k) {
    for (int color = 0; color < kColors && routers_[k].waiting != 0; ++color) {
      for (const Port& port : routers_[k].ports[static_cast<std::size_t>(color)]) {
        if (!port.wavelets.empty() && out.size() < 4000) {
          out += "router (" + std::to_string(static_cast<int>(k) % width_) + ", " +
                 std::to_string(static_cast<int>(k) / width_) + "): wavelets of color " +
                 std::to_string(color) + " cannot go on\n";
        }
      }
    }
  }
  return out;
}

}  // namespace tensorpress::csl
