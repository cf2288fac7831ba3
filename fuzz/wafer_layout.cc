// Bytes as a small wafer: routes (at random, or along a way, so that many fit together), programs
// that send, receive, forward and activate, and words from the host. A run ends: with a report, or
// with a sentence about the layout, the deadlock or the cycle limit. It says the same with one
// thread and with three, and where trains of wavelets were moved at once, the same as one by one.
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inputs/byte_taker.h"
#include "inputs/must.h"
#include "tensorpress/wafer/wafer.h"

namespace tensorpress::fuzz {
namespace {

using namespace wafer;

constexpr std::size_t kGroups = 4;
constexpr std::size_t kMostRuns = 24;  // of groups, on each PE: every program ends

struct Action {
  enum Kind : std::uint8_t {
    send,
    send_word,
    receive,
    add,
    forward,
    scan,
    spend,
    activate,
    finish
  };
  Kind kind = Kind::finish;
  Color color = 0;
  Color out = 0;
  Task then = kNoTask;
  bool advance = false;
  std::uint32_t count = 0;
};

/// Does one group of its actions when it starts, and one for each task or wavelet.
class Script final : public PeProgram {
 public:
  explicit Script(ByteTaker& bytes) : data_tasks_(bytes.take<std::uint8_t>() & 0x11u) {
    for (auto& group : groups_) {
      const std::size_t count = bytes.below(4);
      for (std::size_t i = 0; i < count; ++i) {
        Action action;
        action.kind = static_cast<Action::Kind>(bytes.below(9));
        action.color = static_cast<Color>(bytes.below(5));
        action.out = static_cast<Color>(bytes.below(5));
        const std::size_t then = bytes.below(2 * kGroups);
        action.then = then < kGroups ? static_cast<Task>(then) : kNoTask;
        action.advance = bytes.flag();
        action.count = bytes.take<std::uint8_t>() % 24;
        group.push_back(action);
      }
    }
  }

  std::uint32_t data_tasks() const override { return data_tasks_; }
  void start(Pe& pe) override { run(pe, 0); }
  void on_task(Pe& pe, Task task) override { run(pe, task); }
  void on_wavelet(Pe& pe, Color color, std::uint32_t word) override { run(pe, color + word); }

 private:
  std::span<std::uint32_t> buffer(std::size_t count) {
    buffers_.push_back(std::make_unique<std::vector<std::uint32_t>>(count, 7));
    return *buffers_.back();
  }

  void run(Pe& pe, std::size_t group) {
    if (++runs_ > kMostRuns) return;
    for (const Action& action : groups_[group % kGroups]) {
      const auto words = buffer(action.count);
      switch (action.kind) {
        case Action::send:
          pe.send(action.color, words, action.advance, action.then);
          break;
        case Action::send_word:
          pe.send(action.color, action.count, action.advance);
          break;
        case Action::receive:
          pe.receive(action.color, words, action.then);
          break;
        case Action::add:
          pe.receive_add(action.color, words, action.then);
          break;
        case Action::forward:
          pe.forward_add(action.color, action.out, words, action.then);
          break;
        case Action::scan:
          pe.forward_scan(action.color, action.out, words, buffer(action.count), action.then);
          break;
        case Action::spend:
          pe.spend(action.count * action.count, action.then);
          break;
        case Action::activate:
          if (action.then != kNoTask) pe.activate(action.then);
          break;
        case Action::finish:
          pe.finish();
          break;
      }
    }
  }

  std::uint32_t data_tasks_;
  std::array<std::vector<Action>, kGroups> groups_;
  std::vector<std::unique_ptr<std::vector<std::uint32_t>>> buffers_;  // live as long as the run
  std::size_t runs_ = 0;
};

class Builder {
 public:
  explicit Builder(std::span<const std::uint8_t> data) : bytes_(data.data(), data.size()) {}

  std::optional<Layout> build() {
    const auto width = static_cast<std::uint32_t>(1 + bytes_.below(4));
    const auto height = static_cast<std::uint32_t>(1 + bytes_.below(4));
    auto made = Layout::make(width, height);
    must(made.ok(), "a small mesh can be made");
    layout_.emplace(std::move(*made));
    const std::size_t parts = bytes_.below(12);
    for (std::size_t i = 0; i < parts; ++i) {
      switch (bytes_.below(4)) {
        case 0:
          route();
          break;
        case 1:
          way();
          break;
        case 2:
          input();
          break;
        default:
          row();
          break;
      }
    }
    const std::size_t outputs = bytes_.below(3);
    for (std::size_t i = 0; i < outputs; ++i) note(layout_->edge_output(color(), bytes_.flag()));
    for (std::uint32_t y = 0; y < height; ++y) {
      for (std::uint32_t x = 0; x < width; ++x) {
        if (bytes_.below(8) == 7) continue;
        note(layout_->place({x, y}, std::make_unique<Script>(bytes_)));
      }
    }
    return std::move(layout_);
  }

 private:
  static void note(const Result<void>& result) {
    if (!result.ok()) must_explain(result.error());
  }
  Color color() { return static_cast<Color>(bytes_.below(5)); }
  Port port() { return static_cast<Port>(bytes_.below(kPorts)); }
  PeAt pe() {
    return {static_cast<std::uint32_t>(bytes_.below(layout_->width())),
            static_cast<std::uint32_t>(bytes_.below(layout_->height()))};
  }
  PortSet ports() {
    PortSet set;
    set.bits = bytes_.take<std::uint8_t>() & 31u;
    return set;
  }

  void route() {
    Route route;
    const PeAt at = pe();
    const Color number = color();
    route.positions.resize(bytes_.below(5));
    for (Position& position : route.positions) position = {ports(), ports()};
    route.ring = bytes_.flag();
    note(layout_->route(at, number, route));
  }

  /// From one PE to another or over the edge, step by step.
  void way() {
    PeAt at = pe();
    const Color number = color();
    PortSet from{Port::ramp};
    const std::size_t steps = bytes_.below(6);
    for (std::size_t i = 0; i < steps; ++i) {
      const Port out = static_cast<Port>(bytes_.below(4));
      PortSet to{out};
      if (bytes_.below(4) == 3) to.add(Port::ramp);
      note(layout_->route(at, number, Route::fixed(from, to)));
      PeAt next;
      if (!layout_->neighbour(at, out, next)) return;
      at = next;
      from = PortSet{opposite(out)};
    }
    note(layout_->route(at, number, Route::fixed(from, {Port::ramp})));
  }

  /// A row whose PEs take turns, as dealing and collecting do it.
  void row() {
    const auto y = static_cast<std::uint32_t>(bytes_.below(layout_->height()));
    const Color number = color();
    const bool deals = bytes_.flag();
    const Port edge = bytes_.flag() ? Port::west : Port::east;
    for (std::uint32_t step = 0; step < layout_->width(); ++step) {
      const std::uint32_t x = edge == Port::west ? step : layout_->width() - 1 - step;
      const Position own = deals ? Position{{edge}, {Port::ramp}} : Position{{Port::ramp}, {edge}};
      const Position pass =
          deals ? Position{{edge}, {opposite(edge)}} : Position{{opposite(edge)}, {edge}};
      Route route{{own}, false};
      if (step + 1 < layout_->width()) route.positions.push_back(pass);
      note(layout_->route({x, y}, number, route));
    }
    if (deals) input(PeAt{edge == Port::west ? 0 : layout_->width() - 1, y}, edge, number);
    if (!deals) note(layout_->edge_output(number, bytes_.flag()));
  }

  void input() {
    const PeAt at = pe();
    const Port edge = port();
    input(at, edge, color());
  }
  void input(PeAt at, Port edge, Color number) {
    EdgeInput input{.pe = at, .edge = edge, .color = number, .words = {}};
    input.words.resize(bytes_.below(50), 3);
    input.advance_every = static_cast<std::uint32_t>(bytes_.below(24));
    input.start = bytes_.flag() ? bytes_.below(200) : 0;
    input.alone = bytes_.flag();
    note(layout_->edge_input(std::move(input)));
  }

  ByteTaker bytes_;
  std::optional<Layout> layout_;
};

/// All that a run says but the simulator's own work.
std::string outcome(const Result<Report>& result) {
  if (!result.ok()) return result.error().message;
  const Report& report = *result;
  std::string all;
  const auto add = [&](std::uint64_t number) { all += std::to_string(number) + " "; };
  for (const std::uint64_t number :
       {report.cycles, report.last_finish, report.wavelet_hops, report.wavelets_sent,
        report.wavelets_copied, report.wavelets_received, report.tasks, report.bits_read,
        report.bits_written}) {
    add(number);
  }
  for (const StageReport& stage : report.stages) {
    for (const std::uint64_t number : {stage.cycles, stage.first_begin, stage.last_end})
      add(number);
  }
  for (const std::uint64_t cycle : report.finish) add(cycle);
  for (const std::uint32_t cycles : report.busy_cycles) add(cycles);
  for (const auto& links : report.link_wavelets) {
    for (const std::uint32_t count : links) add(count);
  }
  for (const EdgeOutput& output : report.edge_outputs) {
    for (const std::uint64_t number :
         {std::uint64_t{output.pe.x}, std::uint64_t{output.pe.y}, output.first_cycle,
          output.last_cycle, std::uint64_t{output.color}}) {
      add(number);
    }
    for (const std::uint32_t word : output.words) add(word);
  }
  return all;
}

Result<Report> run_once(std::span<const std::uint8_t> data, std::size_t threads, bool trains) {
  Builder builder(data);
  auto layout = builder.build();
  RunOptions options{.threads = threads, .trains = trains, .max_cycles = 20'000};
  auto report = run(*layout, options);
  if (!report.ok()) must_explain(report.error());
  return report;
}

}  // namespace
}  // namespace tensorpress::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tensorpress::fuzz;
  const std::span bytes(data, size);
  const auto whole = run_once(bytes, 1, true);
  if (size % 4 == 0) {  // threads wait for each other in every cycle: slow
    must(outcome(whole) == outcome(run_once(bytes, 3, true)), "threads change nothing");
  }
  // A broken promise to be alone is an error of trains only.
  if (whole.ok()) {
    must(outcome(whole) == outcome(run_once(bytes, 1, false)), "trains change nothing");
  }
  return 0;
}
