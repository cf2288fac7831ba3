// The tiles of a program and the routers between them, cycle by cycle. A router has a buffer for
// every color and direction and moves at most one wavelet a cycle over each link; a wavelet moves
// when every direction of its route has room. Decisions of a cycle are made on the state at its
// start, so that the order of PEs does not matter.
#pragma once

#include <memory>

#include "csl/build/build.h"
#include "csl/machine/tile.h"

namespace tensorpress::csl {

class Fabric {
 public:
  explicit Fabric(const Executable& executable);

  int width() const { return width_; }
  int height() const { return height_; }
  std::uint64_t now() const { return now_; }
  /// Null where a PE has no code.
  Tile* tile(int x, int y) { return tiles_[at(x, y)].get(); }

  /// Runs until `done` or nothing moves any more. False: nothing moves, or a fault, or the limit.
  template <class Done>
  bool run_until(Done done, std::uint64_t most_cycles) {
    const std::uint64_t end = now_ + most_cycles;
    while (!done()) {
      if (now_ >= end || !cycle() || fault_ != nullptr) return fault_ == nullptr && done();
    }
    return true;
  }
  void wake(int x, int y) { asleep_[at(x, y)] = 0; }
  const Tile* fault() const { return fault_; }

  /// Wavelets of the host for a PE, as they find room; and what a PE sends the host.
  std::deque<Wavelet>& to_tile(int x, int y, int color);
  std::deque<Wavelet>& from_tile(int x, int y, int color);
  /// From now on wavelets of this color that have no route go to the host.
  void receive_color(int color) { host_colors_ |= std::uint32_t{1} << color; }
  std::string waiting(const Sources& sources) const;

 private:
  static constexpr std::size_t kBuffer = 2;
  struct Port {
    std::deque<Wavelet> wavelets;
  };
  struct Router {
    std::array<ColorConfig, kColors> colors;
    // by color, then direction that a wavelet came from
    std::vector<std::array<Port, kDirections>> ports;
    std::vector<Tile::RouteChange> changes;  // that the code asked for
    std::size_t waiting = 0;                 // wavelets in ports
  };
  struct Move {
    std::size_t router;
    int color, from;
    Wavelet wavelet;
    std::uint8_t to;
    int queue;  // of the output queue that it comes from; -1: from a port
  };

  std::size_t at(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
           static_cast<std::size_t>(x);
  }
  bool cycle();
  void plan(std::size_t router);
  void apply(const Move& move);
  static bool passes(const Filter& filter, const Wavelet& wavelet);
  bool room(std::size_t router, int color, std::uint8_t to) const;
  bool serve_host();
  bool change_routes(std::size_t router);
  bool under_way(std::size_t router, int color);
  void change_route(std::size_t router, const Tile::RouteChange& change);

  int width_, height_;
  std::uint64_t now_ = 0;
  std::vector<std::unique_ptr<Tile>> tiles_;
  std::vector<Router> routers_;
  std::vector<std::uint8_t> asleep_;
  std::vector<Move> moves_;
  std::map<std::pair<std::size_t, int>, std::deque<Wavelet>> to_tile_, from_tile_;
  std::uint32_t host_colors_ = 0;
  const Tile* fault_ = nullptr;
};

}  // namespace tensorpress::csl
