// One processing element: memory, registers, tasks, queues and microthreads. A tile knows time only
// as the cycle it is told; the fabric (fabric.h) takes wavelets from its output queues and fills
// its input queues.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "csl/machine/program.h"

namespace tensorpress::csl {

struct Wavelet {
  std::uint32_t payload = 0;
  bool control = false;
  bool advances = false;  // advances the switch of the router it enters
};

/// What went wrong while a program ran: the first mistake ends the session.
struct Fault {
  bool set = false;
  Position at;
  std::string message;
};

class Tile {
 public:
  Tile(const Program* program, Architecture architecture, int x, int y);

  /// Works for one cycle. False: nothing to do until something arrives.
  bool step(std::uint64_t now);
  /// Until when it computes by itself.
  std::uint64_t busy_until() const { return busy_until_; }

  // the fabric's side
  struct OutgoingWavelet {
    std::uint8_t color = 0;
    Wavelet wavelet;
  };
  bool can_receive(int color) const;
  void receive(int color, const Wavelet& wavelet);
  std::deque<OutgoingWavelet>& output(int queue) {
    return output_[static_cast<std::size_t>(queue)];
  }

  /// The router got a teardown command for a color: its handler becomes a task.
  void tear_down(int color) { torn_down_ |= std::uint32_t{1} << color; }
  /// What the code wants of its router (Hook::set_route).
  struct RouteChange {
    int color = 0;
    std::uint32_t what = 0;
  };
  std::vector<RouteChange>& route_changes() { return route_changes_; }

  // the host's side
  void launch(int function, const std::vector<std::int64_t>& arguments);
  bool commands_blocked() const { return commands_blocked_; }
  /// Whether a launched function waits or runs.
  bool has_calls() const { return !calls_.empty() || calling_; }
  std::vector<std::uint8_t>& memory() { return memory_; }
  const Program* program() const { return program_; }
  const Fault& fault() const { return fault_; }
  std::vector<std::string>& lines() { return lines_; }
  /// What the tile waits for, for a report on a deadlock; empty if for nothing.
  std::string waits_for(const class Sources& sources) const;
  std::uint64_t instructions() const { return instructions_; }

 private:
  static constexpr int kImplicit = kQueues;  // behind them: a queue for every color without one
  struct InputQueue {
    std::deque<Wavelet> wavelets;
    std::size_t depth = 2;
    int color = -1;
    bool taken = false;  // an operation reads it
  };
  struct Frame {
    int function = 0;
    std::uint32_t next = 0;  // instruction
    std::uint32_t base = 0;  // register
  };
  /// An operand while its operation runs.
  struct Cursor {
    OperandKind kind = OperandKind::none;
    DsdKind memory = DsdKind::none;  // what a descriptor is
    Descriptor descriptor;
    std::int64_t scalar = 0;  // a number, or the address that a pointer holds
    std::uint32_t length = 0;
    int queue = -1;
    int dsr = -1;  // the register that it came from, which may keep the position
    DsrKind file = DsrKind::destination;
  };
  struct Running {
    bool active = false;
    const OperationForm* form = nullptr;
    Cursor destination, sources[3];
    std::uint32_t length = 0, done = 0;
    ActionKind then = ActionKind::none, on_control = ActionKind::none;
    int task = 0, control_task = 0;
    std::uint16_t index = 0;
    bool indexed = false;
    bool fifo_ends = false;  // a synchronous operation ends at an empty or full FIFO
    bool control_ends = false;
    std::uint16_t result = kNoRegister;
    Position at;
  };
  struct Dsr {
    std::int64_t descriptor = 0;
    bool saves_address = false, async = false, set = false;
    ActionKind done = ActionKind::none, on_control = ActionKind::none;
    std::uint16_t task = 0, control_task = 0;
  };
  struct Fifo {
    std::uint32_t first = 0, used = 0;  // bytes
    bool was_full = false, was_empty = false;
  };

  // tile.cc
  bool pick_task(std::uint64_t now);
  bool run(std::uint64_t now);
  void enter(int function, const std::vector<std::int64_t>& arguments);
  void fail(std::string message);
  std::int64_t& reg(std::uint16_t at) { return registers_[frames_.back().base + at]; }
  Position here() const;
  std::int64_t load(Scalar scalar, std::uint32_t address);
  void store(Scalar scalar, std::uint32_t address, std::int64_t value);
  bool native(const Instruction& instruction, std::uint64_t now);
  void set_task(Code code, std::int64_t task);
  InputQueue& queue_of(const Descriptor& descriptor, int& index);
  std::int64_t value_of(Scalar scalar, const Wavelet& wavelet) const;
  int color_of(const Descriptor& descriptor) const;

  // tile_operations.cc
  bool start(const DsdOperation& operation, std::uint16_t result);
  Cursor cursor(const Operand& operand, AsyncConfig& config, Running& running, bool destination);
  enum class Progress : std::uint8_t { worked, waiting, finished };
  Progress advance(Running& running);
  void finish(Running& running, bool whole);
  bool ready(const Running& running, const Cursor& cursor, Scalar scalar, bool reading, bool& ends);
  std::int64_t read(Running& running, Cursor& cursor, Scalar scalar);
  void write(Running& running, Cursor& cursor, Scalar scalar, std::int64_t value);
  std::uint32_t address(const Cursor& cursor, Scalar scalar, std::uint32_t k,
                        const Running& running) const;
  std::uint32_t length_of(const Descriptor& descriptor) const;
  void act(ActionKind kind, int task);

  const Program* program_;
  Architecture architecture_;
  int x_, y_;
  std::vector<std::uint8_t> memory_;
  std::vector<std::int64_t> registers_;
  std::vector<Frame> frames_;
  std::uint32_t active_ = 0, blocked_ = 0;
  std::array<InputQueue, kQueues + kColors> input_;
  std::array<int, kColors> queue_of_color_;
  std::array<std::deque<OutgoingWavelet>, kQueues> output_;
  std::array<std::size_t, kQueues> output_depth_;
  std::array<std::array<Dsr, 16>, 3> dsrs_;
  std::vector<Fifo> fifos_;
  Running main_;
  std::array<Running, kQueues> microthreads_;
  std::size_t turn_ = 0;
  struct Call {
    int function;
    std::vector<std::int64_t> arguments;
  };
  std::deque<Call> calls_;
  bool commands_blocked_ = false;
  bool calling_ = false;         // the main thread runs a launched function
  std::uint32_t torn_down_ = 0;  // colors whose handler has to run
  std::vector<RouteChange> route_changes_;
  bool carry_ = false;
  std::uint64_t busy_until_ = 0;
  std::uint64_t instructions_ = 0;
  Fault fault_;
  std::vector<std::string> lines_;
};

}  // namespace tensorpress::csl
