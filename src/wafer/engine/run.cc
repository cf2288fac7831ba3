// Strips side by side: all work on the same cycle, then hand over what crosses their borders, then
// go to the earliest cycle at which anything happens anywhere.
#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "base/errors.h"
#include "tensorpress/wafer/wafer.h"
#include "wafer/engine/strip.h"

namespace tensorpress::wafer {
namespace {

using engine::kNever;
using engine::Message;
using engine::Plan;
using engine::Strip;

/// All wait for all. Waiting is short, so it spins, and gives way if the others have no core.
class Barrier {
 public:
  explicit Barrier(std::size_t count) : count_(count) {}

  void wait() {
    const std::size_t round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    for (unsigned spins = 0; round_.load(std::memory_order_acquire) == round; ++spins) {
      if (spins > 200) std::this_thread::yield();
    }
  }

 private:
  const std::size_t count_;
  std::atomic<std::size_t> arrived_{0};
  std::atomic<std::size_t> round_{0};
};

struct Crew {
  struct alignas(64) Slot {
    std::uint64_t next = 0;
    bool failed = false;
    std::vector<Message> to_above, to_below;
  };
  std::vector<std::unique_ptr<Strip>> strips;
  std::vector<Slot> slots[2];  // written in one round, read in the next
  std::uint64_t max_cycles = 0;
  bool too_long = false;

  /// What one thread does; all make the same decisions from the same slots.
  void work(std::size_t own, Barrier& barrier) {
    Strip& strip = *strips[own];
    strip.start();
    for (unsigned round = 0;; round ^= 1) {
      auto& slot = slots[round][own];
      slot.next = strip.next();
      slot.failed = !strip.failure().empty();
      slot.to_above.clear();
      slot.to_below.clear();
      slot.to_above.swap(strip.to_above());
      slot.to_below.swap(strip.to_below());
      for (const auto* const messages : {&slot.to_above, &slot.to_below}) {
        for (const Message& message : *messages) slot.next = std::min(slot.next, message.cycle);
      }
      barrier.wait();
      std::uint64_t cycle = kNever;
      bool stop = false;
      for (const Slot& each : slots[round]) {
        cycle = std::min(cycle, each.next);
        stop = stop || each.failed;
      }
      if (own > 0) strip.take_in(slots[round][own - 1].to_below);
      if (own + 1 < strips.size()) strip.take_in(slots[round][own + 1].to_above);
      if (stop || cycle == kNever) return;
      if (cycle > max_cycles) {
        if (own == 0) too_long = true;
        return;
      }
      strip.work(cycle);
    }
  }
};

std::vector<std::uint32_t> strip_borders(std::uint32_t height, std::size_t threads) {
  const auto count =
      static_cast<std::uint32_t>(std::clamp<std::size_t>(threads, 1, std::max(height, 1u)));
  std::vector<std::uint32_t> borders;
  for (std::uint32_t i = 0; i <= count; ++i) {
    borders.push_back(static_cast<std::uint32_t>(std::uint64_t{height} * i / count));
  }
  return borders;
}

void sort_parts(Report& report) {
  std::ranges::sort(report.edge_outputs, {}, [](const EdgeOutput& output) {
    return std::tuple(output.pe.y, output.pe.x, output.edge, output.color);
  });
  std::ranges::sort(report.trace, {}, [](const TraceEvent& event) {
    return std::tuple(event.begin, event.pe.y, event.pe.x, event.kind, event.what, event.port,
                      event.end, event.word);
  });
}

}  // namespace

Result<Report> run(Layout& layout, const RunOptions& options) {
  if (options.machine.hop < 1 || options.machine.ramp < 1 || options.machine.router_queue < 1 ||
      options.machine.input_queue < 1 || options.machine.router_queue > 255 ||
      options.machine.input_queue > 255 || options.machine.read_bits < 1 ||
      options.machine.write_bits < 1) {
    return bad_argument("a machine whose hops, ramps, queues (1 to 255) or memory ports are 0");
  }
  RETURN_IF_ERROR(layout.check());
  Plan plan(layout, options);
  Crew crew;
  crew.max_cycles = options.max_cycles;
  const auto borders = strip_borders(layout.height(), options.threads);
  for (std::size_t i = 0; i + 1 < borders.size(); ++i) {
    crew.strips.push_back(std::make_unique<Strip>(plan, borders[i], borders[i + 1]));
  }
  const std::size_t count = crew.strips.size();
  for (auto& slots : crew.slots) slots.resize(count);
  Barrier barrier(count);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < count; ++i) {
      threads.emplace_back([&crew, &barrier, i] { crew.work(i, barrier); });
    }
    crew.work(0, barrier);
  }
  for (const auto& strip : crew.strips) {
    if (!strip->failure().empty()) return bad_argument(strip->failure());
  }
  if (crew.too_long) {
    return bad_argument("the program is still running after ", options.max_cycles,
                        " cycles; it may never end, or needs a larger limit");
  }
  std::vector<std::string> waiting;
  constexpr std::size_t kListed = 6;
  for (const auto& strip : crew.strips) strip->list_waiting(waiting, kListed);
  if (!waiting.empty()) {
    std::string list;
    for (const std::string& sentence : waiting) list += text(list.empty() ? "" : "; ", sentence);
    return bad_argument("deadlock: nothing moves any more, but ", list,
                        waiting.size() == kListed ? "; and perhaps more" : "");
  }
  plan.count_chains();
  Report report;
  for (const auto& strip : crew.strips) strip->add_to(report);
  sort_parts(report);
  report.finish.reserve(plan.pes.size());
  report.busy_cycles.reserve(plan.pes.size());
  for (const auto& pe : plan.pes) {
    report.finish.push_back(pe.finish);
    report.busy_cycles.push_back(pe.busy_cycles);
    report.last_finish = std::max(report.last_finish, pe.finish);
  }
  report.link_wavelets = std::move(plan.link_wavelets);
  return report;
}

}  // namespace tensorpress::wafer
