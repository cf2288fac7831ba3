#include "wafer/engine/strip.h"

#include <algorithm>

#include "base/text.h"
#include "wafer/engine/names.h"

namespace tensorpress::wafer::engine {
namespace {

constexpr unsigned kRamp = static_cast<unsigned>(Port::ramp);

}  // namespace

Strip::Strip(MeshState& mesh, std::uint32_t first_row, std::uint32_t end_row)
    : mesh_(mesh), first_pe_(first_row * mesh.width), end_pe_(end_row * mesh.width) {
  const auto inputs = mesh.layout.edge_inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::uint32_t pe = mesh.index(inputs[i].pe);
    if (!owns(pe) || inputs[i].words.empty()) continue;
    const unsigned color = mesh.dense[inputs[i].color];
    injection_at_[edge_key(pe, static_cast<unsigned>(inputs[i].edge), color)] =
        static_cast<std::uint32_t>(injections_.size());
    injections_.push_back({.input = &inputs[i], .chain = mesh.dealing[i]});
  }
}

void Strip::start() {
  for (std::uint32_t pe = first_pe_; pe < end_pe_; ++pe) {
    PeState& state = mesh_.pes[pe];
    if (state.program == nullptr) continue;
    Pe context(*this, pe, mesh_.at(pe), 0);
    state.program->start(context);
    state.busy_until = context.now();
    state.busy_cycles += static_cast<std::uint32_t>(context.now());
    last_ = std::max(last_, context.now());
  }
  for (std::uint32_t i = 0; i < injections_.size(); ++i) {
    wheel_.push(injections_[i].input->start, {.word = i, .kind = EventKind::inject});
  }
}

void Strip::work(std::uint64_t cycle) {
  cycle_ = cycle;
  running_ = true;
  wheel_.take(cycle, events_);
  event_count_ += events_.size();
  active_.clear();
  for (const Event& event : events_) take(event);
  for (const std::uint32_t pe : active_) {
    PeState& state = mesh_.pes[pe];
    state.active = false;
    if (state.wavelets != kNil) step_router(pe);
    if (state.outbox != kNil) step_ramp(pe);
    if (state.inbox != kNil || state.tasks != kNil) step_pe(pe);
  }
  for (const Pop& pop : pops_) give_back(pop);
  pops_.clear();
}

void Strip::take_in(const std::vector<Message>& messages) {
  for (const Message& message : messages) wheel_.push(message.cycle, message.event);
}

void Strip::wake_now(std::uint32_t pe) {
  PeState& state = mesh_.pes[pe];
  if (state.active) return;
  state.active = true;
  active_.push_back(pe);
}

void Strip::take(const Event& event) {
  switch (event.kind) {
    case EventKind::to_router:
      wavelets_.append(mesh_.pes[event.pe].wavelets,
                       {event.word, event.port, event.color, event.advance});
      wake_now(event.pe);
      break;
    case EventKind::to_pe:
      inbox_.append(mesh_.pes[event.pe].inbox, {event.word, event.color});
      wake_now(event.pe);
      break;
    case EventKind::wake:
      wake_now(event.pe);
      break;
    case EventKind::credit:
      if (credit(event.pe, event.port, event.color)) wake_now(event.pe);
      break;
    case EventKind::train:
      take_train(event.pe, event.word, event.color);
      break;
    case EventKind::inject:
      inject(event.word);
      break;
  }
}

// --- Router --------------------------------------------------------------------------------------

void Strip::step_router(std::uint32_t pe) {
  PeState& state = mesh_.pes[pe];
  unsigned taken = 0;  // ways out that carry a wavelet in this cycle
  bool retry = false;
  if (wavelets_.next(state.wavelets) == kNil) {
    const std::uint32_t node = state.wavelets;
    const Wavelet wavelet = wavelets_[node];
    if (try_forward(pe, wavelet, taken, retry)) {
      wavelets_.remove(state.wavelets, kNil, node);
      state.last_granted = static_cast<std::uint8_t>(wavelet.color * kPorts + wavelet.port);
    } else if (retry) {
      wake(pe, cycle_ + 1);
    }
    return;
  }
  // The first wavelet of every queue, those after the one that went last in front.
  struct Head {
    unsigned turn;
    std::uint32_t node;
  };
  constexpr unsigned kQueues = kColors * kPorts;
  Head heads[kQueues];
  std::size_t count = 0;
  std::array<std::uint64_t, 2> seen = {};
  bool more = false;
  for (std::uint32_t node = state.wavelets; node != kNil; node = wavelets_.next(node)) {
    const unsigned queue = wavelets_[node].color * kPorts + wavelets_[node].port;
    const std::uint64_t bit = std::uint64_t{1} << queue % 64;
    if ((seen[queue / 64] & bit) != 0) {
      more = true;
      continue;
    }
    seen[queue / 64] |= bit;
    heads[count++] = {(queue + kQueues - state.last_granted - 1) % kQueues, node};
  }
  std::sort(heads, heads + count, [](const Head& a, const Head& b) { return a.turn < b.turn; });
  bool granted = false;
  for (std::size_t i = 0; i < count; ++i) {
    const Wavelet wavelet = wavelets_[heads[i].node];
    if (!try_forward(pe, wavelet, taken, retry)) continue;
    std::uint32_t before = kNil;
    for (std::uint32_t node = state.wavelets; node != heads[i].node; node = wavelets_.next(node)) {
      before = node;
    }
    wavelets_.remove(state.wavelets, before, heads[i].node);
    if (!granted) {
      state.last_granted = static_cast<std::uint8_t>(wavelet.color * kPorts + wavelet.port);
    }
    granted = true;
  }
  if (state.wavelets != kNil && (retry || (granted && more))) wake(pe, cycle_ + 1);
}

bool Strip::try_forward(std::uint32_t pe, const Wavelet& wavelet, unsigned& taken, bool& retry) {
  const CompiledRoute& route = mesh_.route(pe, wavelet.color);
  std::uint8_t& at = mesh_.position(pe, wavelet.color);
  const Position& position = route.positions[at];
  if (!position.from.has(Port{wavelet.port})) return false;  // until the switch moves
  if ((taken & position.to.bits) != 0) {
    retry = true;
    return false;
  }
  for (unsigned way = 0; way < kPorts; ++way) {
    if ((position.to.bits >> way & 1u) == 0) continue;
    if (mesh_.outstanding(pe, way, wavelet.color) >= capacity(way)) return false;  // until a credit
    const PeState& state = mesh_.pes[pe];
    const std::uint64_t lands = cycle_ + machine().ramp;
    const bool to_receiver =
        way == kRamp && lands >= state.ramp_down_from && lands <= state.ramp_down_until;
    const bool among_dealt = way == state.dealt_way && cycle_ < state.dealt_until;
    const bool among_collected = way == state.collected_way && cycle_ >= state.collected_from;
    if (to_receiver || among_dealt || among_collected) {
      fail(pe,
           {.sentence = text("a wavelet of color ", unsigned{mesh_.color_of[wavelet.color]},
                             " came to ", place_name(mesh_.at(pe)),
                             " in the way of words that promise to be alone; leave `alone` out"),
            .not_alone = true});
      return false;
    }
  }
  taken |= position.to.bits;
  forward(pe, wavelet, position.to);
  if (wavelet.advance && route.count > 1) {
    const auto next = static_cast<std::uint8_t>(at + 1);
    const std::uint8_t moved = next < route.count ? next : route.ring ? std::uint8_t{0} : at;
    if (moved != at) {
      at = moved;
      retry = true;  // others may have waited for this
    }
  }
  return true;
}

void Strip::forward(std::uint32_t pe, const Wavelet& wavelet, PortSet to) {
  unsigned copies = 0;
  for (unsigned way = 0; way < kPorts; ++way) {
    if ((to.bits >> way & 1u) == 0) continue;
    ++copies;
    if (way == kRamp) {
      ++mesh_.outstanding(pe, way, wavelet.color);
      wheel_.push(
          cycle_ + machine().ramp,
          {.pe = pe, .word = wavelet.word, .kind = EventKind::to_pe, .color = wavelet.color});
      continue;
    }
    ++hops_;
    ++mesh_.link_wavelets[pe][way];
    const auto port = Port{static_cast<std::uint8_t>(way)};
    if (mesh_.options.trace) {
      trace_.push_back({cycle_, cycle_ + machine().hop, mesh_.at(pe), TraceKind::wavelet,
                        mesh_.color_of[wavelet.color], port, wavelet.word});
    }
    PeAt beside;
    if (!mesh_.layout.neighbour(mesh_.at(pe), port, beside)) {
      leave_edge(pe, port, wavelet.color, wavelet.word);
      continue;
    }
    ++mesh_.outstanding(pe, way, wavelet.color);
    deliver(mesh_.index(beside), cycle_ + machine().hop,
            {.pe = mesh_.index(beside),
             .word = wavelet.word,
             .kind = EventKind::to_router,
             .port = static_cast<std::uint8_t>(opposite(port)),
             .color = wavelet.color,
             .advance = wavelet.advance});
  }
  copied_ += copies - 1;
  free_slot(pe, wavelet.port, wavelet.color);
}

void Strip::leave_edge(std::uint32_t pe, Port port, unsigned color, std::uint32_t word) {
  EdgeOutput& output = edge_output(pe, port, color);
  const std::uint64_t lands = cycle_ + machine().hop;
  if (output.words.empty()) output.first_cycle = lands;
  output.last_cycle = lands;
  output.words.push_back(word);
  last_ = std::max(last_, lands);
  ++received_;
}

EdgeOutput& Strip::edge_output(std::uint32_t pe, Port port, unsigned color) {
  const auto [place, fresh] = edge_output_at_.try_emplace(
      edge_key(pe, static_cast<unsigned>(port), color), edge_outputs_.size());
  if (fresh) edge_outputs_.push_back({mesh_.at(pe), port, mesh_.color_of[color], {}, 0, 0});
  return edge_outputs_[place->second];
}

void Strip::deliver(std::uint32_t pe, std::uint64_t cycle, const Event& event) {
  if (owns(pe)) {
    wheel_.push(cycle, event);
  } else {
    (pe < first_pe_ ? to_above_ : to_below_).push_back({cycle, event});
  }
}

// --- Credits -------------------------------------------------------------------------------------

// The queue of `color` at the port `way` of `pe` has a free slot, which its sender hears of a
// cycle later.
void Strip::free_slot(std::uint32_t pe, unsigned way, unsigned color) {
  pops_.push_back({pe, static_cast<std::uint8_t>(way), static_cast<std::uint8_t>(color)});
}

void Strip::give_back(const Pop& pop) {
  if (pop.way >= kRamp) {  // between a PE and its own router: up from the ramp, or down to it
    if (credit(pop.pe, pop.way == kRamp ? kUpRamp : kRamp, pop.color)) wake(pop.pe, cycle_ + 1);
    return;
  }
  const auto port = Port{pop.way};
  PeAt beside;
  if (!mesh_.layout.neighbour(mesh_.at(pop.pe), port, beside)) {
    Injection& injection = injections_[injection_at_.at(edge_key(pop.pe, pop.way, pop.color))];
    --injection.outstanding;
    if (injection.waits) {
      injection.waits = false;
      wheel_.push(cycle_ + 1, {.word = static_cast<std::uint32_t>(&injection - injections_.data()),
                               .kind = EventKind::inject});
    }
    return;
  }
  const std::uint32_t sender = mesh_.index(beside);
  const auto way = static_cast<std::uint8_t>(opposite(port));
  if (!owns(sender)) {
    deliver(sender, cycle_ + 1,
            {.pe = sender, .kind = EventKind::credit, .port = way, .color = pop.color});
  } else if (credit(sender, way, pop.color)) {
    wake(sender, cycle_ + 1);
  }
}

// Within a strip this is called after all steps of a cycle, across strips before those of the
// next: the same to every sender. True when the sender may have waited for it.
bool Strip::credit(std::uint32_t pe, unsigned way, unsigned color) {
  return mesh_.outstanding(pe, way, color)-- == capacity(way);
}

// --- What the whole run needs --------------------------------------------------------------------

std::uint64_t Strip::clock_offset(std::uint32_t pe) const {
  const std::uint32_t seed = mesh_.options.clock_seed;
  if (seed == 0) return 0;
  std::uint64_t mixed = (std::uint64_t{seed} << 32 | pe) * 0x9E3779B97F4A7C15u;
  mixed ^= mixed >> 29;
  return mixed >> 40;
}

void Strip::list_waiting_pes(std::vector<std::string>& sentences, std::size_t limit) {
  for (std::uint32_t pe = first_pe_; pe < end_pe_ && sentences.size() < limit; ++pe) {
    const PeState& state = mesh_.pes[pe];
    const auto color_name = [&](unsigned color) {
      return text("color ", unsigned{mesh_.color_of[color]}, " (",
                  mesh_.layout.color_name(mesh_.color_of[color]), ")");
    };
    const std::string name = place_name(mesh_.at(pe));
    if (state.operations != kNil) {
      const Operation& operation = operations_[state.operations];
      sentences.push_back(text(name, " waits for ", operation.count - operation.done,
                               " more words of ", color_name(operation.color)));
    } else if (state.inbox != kNil) {
      sentences.push_back(text(name, " has words of ", color_name(inbox_[state.inbox].color),
                               " that no task takes"));
    } else if (state.wavelets != kNil) {
      const Wavelet& wavelet = wavelets_[state.wavelets];
      sentences.push_back(text("the router of ", name, " holds a wavelet of ",
                               color_name(wavelet.color), " from the ",
                               name_of(Port{wavelet.port})));
    } else if (state.outbox != kNil) {
      sentences.push_back(text(name, " cannot send ", color_name(sends_[state.outbox].color)));
    } else if (state.tasks != kNil) {
      sentences.push_back(
          text(name, " has task ", unsigned{tasks_[state.tasks].task}, " that cannot start"));
    }
  }
}

void Strip::list_waiting_host(std::vector<std::string>& sentences, std::size_t limit) const {
  for (const Injection& injection : injections_) {
    if (injection.next >= injection.input->words.size() || sentences.size() >= limit) continue;
    sentences.push_back(text("the host cannot send color ", unsigned{injection.input->color},
                             " into ", place_name(injection.input->pe)));
  }
}

void Strip::list_waiting_chains(std::vector<std::string>& sentences, std::size_t limit) const {
  for (const Chain& chain : mesh_.chains) {
    if (chain.deals || !owns(chain.pes.front())) continue;
    for (std::size_t i = 0; i < chain.waiting.size(); ++i) {
      const std::size_t done = i == chain.next ? chain.sent : 0;
      if (chain.waiting[i].size() == done || sentences.size() >= limit) continue;
      sentences.push_back(text(place_name(mesh_.at(chain.pes[i])), " cannot send color ",
                               unsigned{mesh_.color_of[chain.color]}, ": it is the turn of ",
                               place_name(mesh_.at(chain.pes[chain.next]))));
      break;
    }
  }
}

void Strip::add_to(Report& report) const {
  report.cycles = std::max(report.cycles, last_);
  report.wavelet_hops += hops_;
  report.wavelets_sent += sent_;
  report.wavelets_copied += copied_;
  report.wavelets_received += received_;
  report.tasks += task_count_;
  report.bits_read += bits_read_;
  report.bits_written += bits_written_;
  report.events += event_count_;
  for (unsigned stage = 0; stage < kStages; ++stage) {
    StageReport& sum = report.stages[stage];
    const StageReport& own = stages_[stage];
    if (own.cycles == 0) continue;
    sum.first_begin =
        sum.cycles == 0 ? own.first_begin : std::min(sum.first_begin, own.first_begin);
    sum.last_end = std::max(sum.last_end, own.last_end);
    sum.cycles += own.cycles;
  }
  report.edge_outputs.insert(report.edge_outputs.end(), edge_outputs_.begin(), edge_outputs_.end());
  report.trace.insert(report.trace.end(), trace_.begin(), trace_.end());
}

}  // namespace tensorpress::wafer::engine
