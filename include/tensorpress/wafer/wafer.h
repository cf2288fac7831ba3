// Runs a layout, cycle by cycle where something happens:
//
//   TRY(auto layout, wafer::Layout::make(4, 4));
//   ... colors, routes, programs ...
//   TRY(const wafer::Report report, wafer::run(layout));
//   report.cycles, report.finish_of(pe), report.edge_words[...]
//
// What a run does depends on nothing but the layout and the machine: not on the number of threads,
// not on whether trains of wavelets are moved at once. A program that waits forever is an error
// that names the PEs and colors that wait.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tensorpress/wafer/layout.h"

namespace tensorpress::wafer {

/// What everything takes, in cycles of the PE's clock. calibration.json says where each comes from.
struct Machine {
  std::uint32_t hop = 1;               // router to router
  std::uint32_t ramp = 2;              // PE to router, and router to PE
  std::uint32_t issue = 1;             // of a vector operation
  std::uint32_t add = 1;               // an element of one with the fabric
  std::uint32_t task_activation = 17;  // from activated to its first instruction
  std::uint32_t timestamp = 2;         // reading the PE's own counter
  std::uint32_t router_queue = 4;      // wavelets for each color at each port of a router
  std::uint32_t input_queue = 8;       // wavelets for each color between router and PE
  std::uint32_t output_queue = 8;      // wavelets that a PE may have on its way out
  std::uint32_t read_bits = 128;       // through the memory port a cycle
  std::uint32_t write_bits = 64;
};

enum class TraceKind : std::uint8_t { task, wavelet, stage };

/// One thing that happened: a task or stage of work on a PE, or a wavelet on a link.
struct TraceEvent {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  PeAt pe;
  TraceKind kind = TraceKind::task;
  std::uint8_t what = 0;   // task, stage or color
  Port port = Port::ramp;  // a wavelet's way out of the router of `pe`
  std::uint32_t word = 0;
  friend bool operator==(const TraceEvent&, const TraceEvent&) = default;
};

struct RunOptions {
  std::size_t threads = 1;
  /// Events of a cycle from which on threads share it; below, waiting for each other takes longer.
  std::uint32_t shared_from = 256;
  Machine machine = {};
  /// Move trains of wavelets at once where that cannot change anything.
  bool trains = true;
  bool trace = false;
  std::uint64_t max_cycles = std::uint64_t{1} << 40;
  /// Tells apart when the PEs' own counters started; 0: all at cycle 0.
  std::uint32_t clock_seed = 0;
};

struct StageReport {
  std::uint64_t cycles = 0;  // of all PEs together
  std::uint64_t first_begin = 0;
  std::uint64_t last_end = 0;
};

/// Words that left over the edge at one router, in order.
struct EdgeOutput {
  PeAt pe;
  Port edge = Port::west;
  Color color = 0;
  std::vector<std::uint32_t> words;
  std::uint64_t first_cycle = 0;
  std::uint64_t last_cycle = 0;
};

struct Report {
  std::uint64_t cycles = 0;             // until nothing happened any more
  std::uint64_t last_finish = 0;        // of the programs that called finish()
  std::uint64_t wavelet_hops = 0;       // wavelets over links between routers and over the edge
  std::uint64_t wavelets_sent = 0;      // by PEs and by the host
  std::uint64_t wavelets_copied = 0;    // additional ones, by multicast
  std::uint64_t wavelets_received = 0;  // by PEs and by the host
  std::uint64_t tasks = 0;
  std::uint64_t bits_read = 0;  // through memory ports, as far as programs say
  std::uint64_t bits_written = 0;
  std::uint64_t events = 0;  // handled by the simulator: its work, not the wafer's
  std::array<StageReport, kStages> stages = {};
  std::vector<std::uint64_t> finish;       // by PE, row by row; 0: never
  std::vector<std::uint32_t> busy_cycles;  // of each PE in tasks
  /// Wavelets over the links to north, east, south, west of each PE.
  std::vector<std::array<std::uint32_t, 4>> link_wavelets;
  std::vector<EdgeOutput> edge_outputs;  // by row, by column, by edge, by color
  std::vector<TraceEvent> trace;         // by begin, PE, kind
};

/// Starts every program, runs until nothing happens, and leaves the programs in the layout with
/// what they computed. A deadlock, a run beyond max_cycles, and an exception that a program throws
/// is an error of code bad_argument; std::bad_alloc is one of code too_large.
Result<Report> run(Layout& layout, const RunOptions& options = {});

}  // namespace tensorpress::wafer
