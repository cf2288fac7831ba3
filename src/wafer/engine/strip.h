// Some rows of the wafer, worked on by one thread. In each cycle a strip first takes in what
// arrives (in any order: a queue gets at most one wavelet a cycle), then lets every PE that
// something happened to take a step. A step reads and writes the state of its own PE alone; what
// it does to others arrives a cycle later at the earliest, also the slots that it frees in its
// queues. So the result depends neither on the order of the PEs nor on the strips, which is all
// there is to the promise that threads do not matter.
//
//   host --> [router queues] --step_router--> next router, one hop later
//                 ^    |
//       ramp up   |    v   ramp down
//      [outbox] --+    +--> [inbox] --step_pe--> operations, tasks
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "wafer/engine/event_wheel.h"
#include "wafer/engine/mesh_state.h"

namespace tensorpress::wafer::engine {

struct Wavelet {
  std::uint32_t word = 0;
  std::uint8_t port = 0;
  std::uint8_t color = 0;
  bool advance = false;
};

struct InboxWord {
  std::uint32_t word = 0;
  std::uint8_t color = 0;
};

enum class OperationKind : std::uint8_t { store, add, forward, scan };

struct Operation {
  std::uint64_t ready = 0;
  std::uint32_t* to = nullptr;
  const std::uint32_t* own = nullptr;
  std::uint32_t count = 0;
  std::uint32_t done = 0;
  OperationKind kind = OperationKind::store;
  Arithmetic arithmetic = Arithmetic::u32;
  std::uint8_t color = 0;
  std::uint8_t out = 0;
  Task then = kNoTask;
};

struct Send {
  std::uint64_t ready = 0;
  const std::uint32_t* words = nullptr;  // absent: the one in `word`
  std::uint32_t word = 0;
  std::uint32_t count = 1;
  std::uint32_t done = 0;
  std::uint8_t color = 0;
  bool advance = false;
  bool awaited = false;  // the next task waits for it
  Task then = kNoTask;
};

struct Activation {
  std::uint64_t ready = 0;
  Task task = 0;
};

/// Why a run must stop. `not_alone`: words that promise to be alone on their links were not, which
/// only matters to words that are moved at once.
struct Failure {
  std::string sentence;
  bool not_alone = false;
};

/// To the strip above or below, for a later cycle.
struct Message {
  std::uint64_t cycle = 0;
  Event event;
};

class Strip {
 public:
  Strip(MeshState& mesh, std::uint32_t first_row, std::uint32_t end_row);

  void start();
  std::uint64_t next() const { return wheel_.next(); }
  std::size_t events_at(std::uint64_t cycle) const { return wheel_.count(cycle); }
  /// Does everything that happens at `cycle`.
  void work(std::uint64_t cycle);
  void take_in(const std::vector<Message>& messages);
  std::vector<Message>& to_above() { return to_above_; }
  std::vector<Message>& to_below() { return to_below_; }

  const std::optional<Failure>& failure() const { return failure_; }
  /// Adds to `sentences` who waits for what, until there are `limit`: the PEs and their routers,
  /// then the host, then the turns of chains.
  void list_waiting_pes(std::vector<std::string>& sentences, std::size_t limit);
  void list_waiting_host(std::vector<std::string>& sentences, std::size_t limit) const;
  void list_waiting_chains(std::vector<std::string>& sentences, std::size_t limit) const;
  void add_to(Report& report) const;

  // --- What a running task asks for (pe.cc) ---
  void spend(std::uint32_t pe, std::uint64_t begin, std::uint64_t cycles, Stage stage);
  void activate(std::uint32_t pe, std::uint64_t when, Task task);
  void post(std::uint32_t pe, Operation operation, Color in, Color out);
  void post(std::uint32_t pe, Send send, Color color);
  void finish(std::uint32_t pe, std::uint64_t when) { mesh_.pes[pe].finish = when; }
  std::uint64_t clock_offset(std::uint32_t pe) const;
  const Machine& machine() const { return mesh_.options.machine; }
  void touch_memory(std::uint64_t bits_read, std::uint64_t bits_written) {
    bits_read_ += bits_read;
    bits_written_ += bits_written;
  }

 private:
  struct Injection {
    const EdgeInput* input = nullptr;
    std::uint32_t chain = kNoChain;
    std::size_t next = 0;
    std::uint32_t outstanding = 0;
    bool waits = false;
  };
  struct Train {
    const std::uint32_t* words = nullptr;
    std::uint32_t count = 0;
  };
  struct Pop {
    std::uint32_t pe;
    std::uint8_t way;
    std::uint8_t color;
  };

  void take(const Event& event);
  void wake_now(std::uint32_t pe);
  void wake(std::uint32_t pe, std::uint64_t cycle) {
    wheel_.push(cycle, {.pe = pe, .kind = EventKind::wake});
  }
  void step_router(std::uint32_t pe);
  /// Whether the wavelet may go on in this cycle; sets `retry` when the next one may be another.
  bool try_forward(std::uint32_t pe, const Wavelet& wavelet, unsigned& taken, bool& retry);
  void forward(std::uint32_t pe, const Wavelet& wavelet, PortSet to);
  void leave_edge(std::uint32_t pe, Port port, unsigned color, std::uint32_t word);
  void step_ramp(std::uint32_t pe);
  void step_pe(std::uint32_t pe);
  void step_operations(std::uint32_t pe);
  void consume(std::uint32_t pe, Operation& operation, std::uint32_t word);
  /// Runs what is ready if the PE is free; says when to look again.
  void step_tasks(std::uint32_t pe);
  void run_task(std::uint32_t pe, Task task);
  void run_wavelet(std::uint32_t pe, unsigned color, std::uint32_t word);
  void task_ended(std::uint32_t pe, std::uint64_t until, TraceEvent event);
  void free_slot(std::uint32_t pe, unsigned way, unsigned color);
  void give_back(const Pop& pop);
  bool credit(std::uint32_t pe, unsigned way, unsigned color);
  EdgeOutput& edge_output(std::uint32_t pe, Port port, unsigned color);
  void deliver(std::uint32_t pe, std::uint64_t cycle, const Event& event);
  bool owns(std::uint32_t pe) const { return pe >= first_pe_ && pe < end_pe_; }
  /// Of several failures in a cycle, that of the first PE is told: the same for any strips.
  void fail(std::uint32_t pe, Failure failure) {
    if (failure_ && failed_pe_ <= pe) return;
    failure_ = std::move(failure);
    failed_pe_ = pe;
  }

  // --- Trains (trains.cc) ---
  void inject(std::uint32_t number);
  void deal(std::uint32_t number);
  bool deal_one(Chain& chain, const EdgeInput& input, std::size_t place, std::size_t train);
  void take_train(std::uint32_t pe, std::uint32_t number, unsigned color);
  void collect(std::uint32_t pe, const Send& send);
  Failure no_route(std::uint32_t pe, Color color) const;
  Failure not_alone(std::uint32_t pe, Color color) const;
  void collect_turns(Chain& chain);

  std::uint32_t capacity(unsigned way) const {
    return way == static_cast<unsigned>(Port::ramp) ? machine().input_queue
                                                    : machine().router_queue;
  }
  Operation* operation_for(std::uint32_t pe, unsigned color);
  static std::uint64_t edge_key(std::uint32_t pe, unsigned port, unsigned color) {
    return (std::uint64_t{pe} * kPorts + port) * kColors + color;
  }

  MeshState& mesh_;
  std::uint32_t first_pe_, end_pe_;
  std::uint64_t cycle_ = 0;
  std::uint64_t last_ = 0;  // when something was done last
  bool running_ = false;
  EventWheel wheel_;
  Pool<Wavelet> wavelets_;
  Pool<InboxWord> inbox_;
  Pool<Operation> operations_;
  Pool<Send> sends_;
  Pool<Activation> tasks_;
  std::vector<Event> events_;
  std::vector<std::uint32_t> active_;
  std::vector<Pop> pops_;
  std::vector<Message> to_above_, to_below_;
  std::vector<Injection> injections_;
  std::vector<Train> trains_;
  std::unordered_map<std::uint64_t, std::uint32_t> injection_at_;
  std::unordered_map<std::uint64_t, std::size_t> edge_output_at_;
  std::vector<EdgeOutput> edge_outputs_;
  std::vector<TraceEvent> trace_;
  std::array<StageReport, kStages> stages_ = {};
  std::optional<Failure> failure_;
  std::uint32_t failed_pe_ = 0;
  std::uint64_t hops_ = 0, sent_ = 0, copied_ = 0, received_ = 0, task_count_ = 0, event_count_ = 0;
  std::uint64_t bits_read_ = 0, bits_written_ = 0;
};

}  // namespace tensorpress::wafer::engine
