// What a tile is loaded with: code, memory, tasks, queues, and what the host may name.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "csl/machine/bytecode.h"
#include "csl/machine/descriptor.h"

namespace tensorpress::csl {

inline constexpr std::uint32_t kSramBytes = 48 * 1024;
inline constexpr int kColors = 24;
inline constexpr int kTaskIds = 32;
inline constexpr int kControlIds = 64;
inline constexpr int kQueues = 8;

enum class Architecture : std::uint8_t { wse2, wse3 };

/// A name in a tile's memory.
struct Symbol {
  std::string name;
  Position at;
  std::uint32_t address = 0;
  std::uint32_t bytes = 0;
};

enum class TaskKind : std::uint8_t { none, data, local, control };

struct TaskEntry {
  TaskKind kind = TaskKind::none;
  int function = -1;
  std::string name;
  Position at;
  std::vector<Scalar> parameters = {};
};

enum class Direction : std::uint8_t { east, west, north, south, ramp };
inline constexpr int kDirections = 5;

/// Where wavelets of a colour come from and go to, a set of directions each.
struct Route {
  std::uint8_t from = 0, to = 0;  // bits by Direction
};

/// Which wavelets of a color a router lets pass to its own code: those whose index, the upper half
/// of the payload, lies in a range.
struct Filter {
  bool set = false;
  std::uint16_t least = 0, most = 0;
};

struct ColorConfig {
  bool set = false;
  Position at;
  Route routes[4];  // by position of the switch
  std::uint8_t positions = 1;
  std::uint8_t current = 0;
  bool ring = false;     // the last position is followed by the first
  std::uint8_t pop = 0;  // of control wavelets: 0 never, 1 on advance, 2 always
  bool teardown = false;
  Filter filter = {};
};

struct QueueEntry {
  bool set = false;
  std::uint8_t color = 0;
  Position at;
};

struct FifoEntry {
  std::uint16_t address = 0;
  std::uint16_t bytes = 0;
  int activated_by_push = -1, activated_by_pop = -1;  // tasks
  bool ends_when_empty = false;
};

struct InitialDsr {
  DsrKind file = DsrKind::destination;
  std::uint16_t number = 0;
  std::int64_t descriptor = 0;
  bool saves_address = false;
  bool async = false;
  ActionKind done = ActionKind::none;
  std::uint16_t task = 0;
};

struct Export {
  std::string name;
  Position at;
  int function = -1;          // or a variable:
  std::uint32_t address = 0;  // of the pointer's value or of the array
  bool pointer = false;       // the variable holds the address
  bool by_symbol = false;     // @export_symbol, not `export var`
  std::string type = {};
  std::vector<Scalar> parameters = {};
};

struct Program {
  std::string path;
  std::vector<FunctionCode> functions;
  std::vector<std::int64_t> constants;
  std::vector<DsdOperation> operations;
  std::vector<DsrLoad> loads;
  std::vector<Shape> shapes;
  std::vector<std::string> strings;
  std::vector<std::uint8_t> image;  // of SRAM, from address 0
  std::vector<Symbol> symbols;
  std::array<TaskEntry, kTaskIds> tasks;
  std::array<TaskEntry, kControlIds> control_tasks;
  std::uint32_t activated = 0, blocked = 0, unblocked = 0;  // bits by task, before the start
  std::array<QueueEntry, kQueues> input_queues, output_queues;
  std::array<int, kColors> teardown_handlers = no_handlers();  // functions; -1: none
  std::array<ColorConfig, kColors> colors;                     // @set_local_color_config
  std::vector<FifoEntry> fifos;
  std::vector<InitialDsr> dsrs;
  std::vector<Export> exports;

  std::uint32_t code_bytes() const;
  static constexpr std::array<int, kColors> no_handlers() {
    std::array<int, kColors> none = {};
    none.fill(-1);
    return none;
  }
};

}  // namespace tensorpress::csl
