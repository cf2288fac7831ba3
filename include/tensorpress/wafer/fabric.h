// The fabric of a wafer: a rectangle of processing elements (PEs), each with a router of five
// ports. What travels are wavelets of 32 bits, each with a color; a router sends a wavelet on by
// its color alone:
//
//                north                 A Route says, for one color at one router, from which ports
//                  |                   wavelets are taken and to which ports each is given. It has
//     west --- [router] --- east       up to four Positions; a wavelet that is marked `advance`
//                 /|                   moves the switch of every router that it passes to the next
//     [PE] = ramp  south               one, for the wavelets after it.
//
// x grows to the east and y to the south; (0, 0) is the north-western corner.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace tensorpress::wafer {

/// The Cerebras CS-2's wafer (CereSZ-II, Sections II-B and VII-A).
inline constexpr std::uint32_t kWaferWidth = 757;
inline constexpr std::uint32_t kWaferHeight = 996;
inline constexpr std::uint32_t kUsableWidth = 750;
inline constexpr std::uint32_t kUsableHeight = 994;
inline constexpr std::uint32_t kSramBytes = 48 * 1024;
inline constexpr unsigned kColors = 24;
inline constexpr unsigned kSwitchPositions = 4;
inline constexpr double kClockHertz = 850e6;

struct PeAt {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  friend bool operator==(const PeAt&, const PeAt&) = default;
};

/// 0 to 23.
using Color = std::uint8_t;

enum class Port : std::uint8_t { north, east, south, west, ramp };
inline constexpr unsigned kPorts = 5;

/// Where a wavelet that leaves by `port` comes in next door.
constexpr Port opposite(Port port) {
  switch (port) {
    case Port::north:
      return Port::south;
    case Port::east:
      return Port::west;
    case Port::south:
      return Port::north;
    case Port::west:
      return Port::east;
    case Port::ramp:
      break;
  }
  return Port::ramp;
}

const char* name_of(Port port);

struct PortSet {
  std::uint8_t bits = 0;

  constexpr PortSet() = default;
  constexpr PortSet(std::initializer_list<Port> ports) {
    for (const Port port : ports) add(port);
  }
  constexpr bool has(Port port) const { return (bits >> static_cast<unsigned>(port) & 1u) != 0; }
  constexpr void add(Port port) {
    bits = static_cast<std::uint8_t>(bits | 1u << static_cast<unsigned>(port));
  }
  constexpr bool empty() const { return bits == 0; }
  friend bool operator==(const PortSet&, const PortSet&) = default;
};

/// Wavelets from any of `from` go to all of `to` (multicast costs nothing).
struct Position {
  PortSet from;
  PortSet to;
  friend bool operator==(const Position&, const Position&) = default;
};

struct Route {
  std::vector<Position> positions;
  bool ring = false;  // after the last position comes the first; otherwise the last one stays

  static Route fixed(PortSet from, PortSet to) { return {{{from, to}}, false}; }
  friend bool operator==(const Route&, const Route&) = default;
};

}  // namespace tensorpress::wafer
