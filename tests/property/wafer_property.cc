// Small layouts at random: whatever routes, programs and queues come together, a run ends with a
// report or with a diagnosis, and the same one for every number of threads.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <memory>
#include <optional>

#include "tensorpress/wafer/wafer.h"

namespace tensorpress::wafer {
namespace {

int pick(int low, int high) {  // both may come
  return *rc::gen::inRange(low, high + 1);
}

struct Action {
  int kind = 0;
  Color color = 0;
  Color other = 0;
  std::size_t words = 0;
};

/// Does what it was told, then something more when that is done.
class Random final : public PeProgram {
 public:
  Random(std::vector<Action> first, std::vector<Action> then, std::uint32_t data_tasks)
      : first_(std::move(first)), then_(std::move(then)), data_tasks_(data_tasks) {}
  void start(Pe& pe) override { act(pe, first_); }
  void on_task(Pe& pe, Task) override {
    if (++runs_ < 3) act(pe, then_);
    pe.finish();
  }
  void on_wavelet(Pe& pe, Color, std::uint32_t) override { pe.spend(3); }
  std::uint32_t data_tasks() const override { return data_tasks_; }

 private:
  void act(Pe& pe, const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      auto& words = buffers_.emplace_back(std::vector<std::uint32_t>(action.words, 5));
      auto& more = buffers_.emplace_back(std::vector<std::uint32_t>(action.words, 7));
      switch (action.kind) {
        case 0:
          pe.send(action.color, std::span<const std::uint32_t>(words), false, 1);
          break;
        case 1:
          pe.send(action.color, 9, true);
          break;
        case 2:
          pe.receive(action.color, words, 2);
          break;
        case 3:
          pe.receive_add(action.color, words, 3);
          break;
        case 4:
          pe.forward_add(action.color, action.other, words, 4, Arithmetic::f32);
          break;
        case 5:
          pe.forward_scan(action.color, action.other, words, more, 5);
          break;
        case 6:
          pe.spend(20);
          break;
        default:
          pe.activate(6);
          break;
      }
    }
  }

  std::vector<Action> first_, then_;
  std::uint32_t data_tasks_;
  int runs_ = 0;
  std::deque<std::vector<std::uint32_t>> buffers_;  // operations keep pointers into them
};

PortSet ports() {
  PortSet set;
  const int bits = pick(0, 31);
  for (unsigned i = 0; i < kPorts; ++i) {
    if ((bits >> i & 1) != 0) set.add(Port{static_cast<std::uint8_t>(i)});
  }
  return set;
}

/// Calls of a layout, noted so that it can be built again.
struct Recipe {
  struct RouteCall {
    PeAt pe;
    Color color;
    Route route;
  };
  struct PlaceCall {
    PeAt pe;
    std::vector<Action> first, then;
    std::uint32_t data_tasks;
  };
  std::uint32_t width = 1, height = 1;
  std::vector<RouteCall> routes;
  std::vector<PlaceCall> places;
  std::vector<EdgeInput> inputs;
  std::vector<std::pair<Color, bool>> outputs;
  Machine machine;
};

std::vector<Action> actions(int colors) {
  std::vector<Action> all;
  for (int i = pick(0, 3); i > 0; --i) {
    all.push_back({pick(0, 7), static_cast<Color>(pick(0, colors)),
                   static_cast<Color>(pick(0, colors)), static_cast<std::size_t>(pick(0, 12))});
  }
  return all;
}

/// Half of the routes carry on where others lead to, so that some layouts pass the check.
Recipe recipe() {
  Recipe r;
  r.width = static_cast<std::uint32_t>(pick(1, 4));
  r.height = static_cast<std::uint32_t>(pick(1, 4));
  const int colors = pick(1, 3);
  for (int c = 0; c < colors; ++c) {
    const auto color = static_cast<Color>(c);
    const bool whole = pick(0, 3) != 0;
    const Route along = Route::fixed({Port::west}, {Port::east});
    for (std::uint32_t y = 0; y < r.height; ++y) {
      for (std::uint32_t x = 0; x < r.width; ++x) {
        if (!whole) {
          if (pick(0, 2) == 0)
            r.routes.push_back({{x, y}, color, {{{ports(), ports()}}, pick(0, 1) == 1}});
          continue;
        }
        Route route = along;
        if (pick(0, 2) == 0) route = Route::fixed({Port::west, Port::ramp}, {Port::east});
        if (pick(0, 2) == 0) route = Route::fixed({Port::west}, {Port::east, Port::ramp});
        if (pick(0, 2) == 0) {
          route = {{{{Port::west}, {Port::ramp}}, {{Port::west}, {Port::east}}}, pick(0, 1) == 1};
        }
        r.routes.push_back({{x, y}, color, route});
      }
      if (whole && pick(0, 1) == 1) {
        r.inputs.push_back(
            {.pe = {0, y},
             .color = color,
             .words = std::vector<std::uint32_t>(static_cast<std::size_t>(pick(0, 20)), 3),
             .advance_every = static_cast<std::uint32_t>(pick(0, 5)),
             .alone = pick(0, 3) == 0});
      }
    }
    if (pick(0, 7) != 0) r.outputs.push_back({color, pick(0, 3) == 0});
  }
  for (std::uint32_t y = 0; y < r.height; ++y) {
    for (std::uint32_t x = 0; x < r.width; ++x) {
      if (pick(0, 9) == 0) continue;
      r.places.push_back({{x, y},
                          actions(colors),
                          actions(colors),
                          static_cast<std::uint32_t>(pick(0, (1 << colors) - 1))});
    }
  }
  r.machine.router_queue = static_cast<std::uint32_t>(pick(1, 4));
  r.machine.input_queue = static_cast<std::uint32_t>(pick(1, 4));
  r.machine.output_queue = static_cast<std::uint32_t>(pick(0, 3));
  r.machine.hop = static_cast<std::uint32_t>(pick(1, 2));
  return r;
}

struct Outcome {
  bool ok = false;
  std::string message;
  std::uint64_t cycles = 0, sent = 0, copied = 0, received = 0, hops = 0;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

std::optional<Outcome> perform(const Recipe& r, std::size_t threads, bool trains) {
  auto layout = Layout::make(r.width, r.height);
  for (const auto& call : r.routes) {
    if (!layout->route(call.pe, call.color, call.route).ok()) return std::nullopt;
  }
  for (const auto& call : r.places) {
    if (!layout->place(call.pe, std::make_unique<Random>(call.first, call.then, call.data_tasks))
             .ok()) {
      return std::nullopt;
    }
  }
  for (const EdgeInput& input : r.inputs) {
    if (!layout->edge_input(input).ok()) return std::nullopt;
  }
  for (const auto& [color, alone] : r.outputs) {
    if (!layout->edge_output(color, alone).ok()) return std::nullopt;
  }
  const auto report = run(*layout, {.threads = threads,
                                    .shared_from = 0,
                                    .machine = r.machine,
                                    .trains = trains,
                                    .max_cycles = 100000});
  Outcome outcome;
  outcome.ok = report.ok();
  if (!report.ok()) {
    outcome.message = report.error().message;
    return outcome;
  }
  return Outcome{true,
                 "",
                 report->cycles,
                 report->wavelets_sent,
                 report->wavelets_copied,
                 report->wavelets_received,
                 report->wavelet_hops};
}

RC_GTEST_PROP(WaferProperty, EveryLayoutEndsTheSameForAnyNumberOfThreads, ()) {
  const Recipe r = recipe();
  const auto alone = perform(r, 1, true);
  if (!alone) return;
  RC_TAG(alone->ok ? std::string("ran") : alone->message.substr(0, 12));
  const auto together = perform(r, 3, true);
  RC_LOG() << alone->message << '\n' << together->message << '\n';
  RC_ASSERT(*alone == *together);
  if (!alone->ok) {
    RC_ASSERT(!alone->message.empty());
    return;
  }
  RC_ASSERT(alone->sent + alone->copied == alone->received);
  // Trains change nothing, unless they were forbidden by a promise that was broken.
  const auto one_by_one = perform(r, 1, false);
  RC_ASSERT(*alone == *one_by_one);
}

}  // namespace
}  // namespace tensorpress::wafer
