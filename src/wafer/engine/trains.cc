// Words that come in over the edge or leave by it, moved at once where their links are theirs
// alone. What a train does is written down here in closed form; that it is what the wavelets would
// have done one by one is what tests/unit/wafer/sameness_test.cc shows.
#include <algorithm>

#include "base/text.h"
#include "wafer/engine/names.h"
#include "wafer/engine/strip.h"

namespace tensorpress::wafer::engine {

Failure Strip::no_route(std::uint32_t pe, Color color) const {
  return {text(place_name(mesh_.at(pe)), " uses color ", unsigned{color},
               ", which has no route there")};
}

Failure Strip::not_alone(std::uint32_t pe, Color color) const {
  return {.sentence = text(place_name(mesh_.at(pe)), " sends color ", unsigned{color},
                           " while it sends words to an edge output that promises to be alone; "
                           "leave `alone` out"),
          .not_alone = true};
}

void Strip::inject(std::uint32_t number) {
  Injection& injection = injections_[number];
  const EdgeInput& input = *injection.input;
  if (injection.next == 0 && injection.chain != kNoChain) {
    deal(number);
    injection.chain = kNoChain;
    if (injection.next > 0) {  // the rest one by one, if there is one
      if (injection.next < input.words.size()) {
        wheel_.push(cycle_ + injection.next, {.word = number, .kind = EventKind::inject});
      }
      return;
    }
  }
  if (injection.outstanding >= machine().router_queue) {
    injection.waits = true;
    return;
  }
  const std::size_t i = injection.next++;
  ++injection.outstanding;
  ++sent_;
  ++hops_;
  wheel_.push(cycle_ + machine().hop,
              {.pe = mesh_.index(input.pe),
               .word = input.words[i],
               .kind = EventKind::to_router,
               .port = static_cast<std::uint8_t>(input.edge),
               .color = mesh_.dense[input.color],
               .advance = input.advance_every != 0 && (i + 1) % input.advance_every == 0});
  if (injection.next < input.words.size()) {
    wheel_.push(cycle_ + 1, {.word = number, .kind = EventKind::inject});
  }
}

// As many trains as find a PE that waits for exactly theirs.
void Strip::deal(std::uint32_t number) {
  Injection& injection = injections_[number];
  Chain& chain = mesh_.chains[injection.chain];
  const std::size_t trains = injection.input->words.size() / injection.input->advance_every;
  std::size_t train = 0, dealt = 0;  // the places up to the last one that got a train
  for (std::size_t place = 0; train < trains && place < chain.pes.size(); ++place) {
    if (chain.passes[place]) continue;
    if (!deal_one(chain, *injection.input, place, train)) break;
    ++train;
    dealt = place + 1;
    injection.next += injection.input->advance_every;
  }
  // Until the last of them has passed, each link is theirs.
  for (std::size_t place = 0; place + 1 < dealt; ++place) {
    PeState& state = mesh_.pes[chain.pes[place]];
    state.dealt_way = static_cast<std::uint8_t>(opposite(chain.down));
    state.dealt_until = cycle_ + injection.next + (place + 1) * machine().hop;
  }
}

// Train number t for place k leaves the host after t others, crosses the edge and k links, and goes
// down the ramp.
bool Strip::deal_one(Chain& chain, const EdgeInput& input, std::size_t place, std::size_t train) {
  const std::uint32_t pe = chain.pes[place];
  const std::uint32_t length = input.advance_every;
  const std::uint64_t first =
      cycle_ + train * length + (place + 1) * machine().hop + machine().ramp;
  const Operation* const operation = operation_for(pe, chain.color);
  PeState& state = mesh_.pes[pe];
  if (operation == nullptr || operation->kind != OperationKind::store || operation->ready > first ||
      operation->done != 0 || operation->count != length) {
    return false;
  }
  state.ramp_down_from = first;
  state.ramp_down_until = first + length - 1;
  if (mesh_.route(pe, chain.color).count > 1) mesh_.position(pe, chain.color) = 1;
  chain.words[place] += length;
  sent_ += length;
  hops_ += (place + 1) * length;
  wheel_.push(state.ramp_down_until, {.pe = pe,
                                      .word = static_cast<std::uint32_t>(trains_.size()),
                                      .kind = EventKind::train,
                                      .color = chain.color});
  trains_.push_back({input.words.data() + train * length, length});
  return true;
}

void Strip::take_train(std::uint32_t pe, std::uint32_t number, unsigned color) {
  const Train& train = trains_[number];
  Operation& operation = *operation_for(pe, color);
  std::copy_n(train.words, train.count - 1, operation.to);
  operation.done = train.count - 1;
  received_ += train.count - 1;
  consume(pe, operation, train.words[train.count - 1]);
  wake_now(pe);
}

void Strip::collect(std::uint32_t pe, const Send& send) {
  const std::size_t row = pe / mesh_.width;
  Chain& chain = mesh_.chains[mesh_.collecting[row * mesh_.colors + send.color]];
  PeState& state = mesh_.pes[pe];
  const auto place = static_cast<std::size_t>(std::ranges::find(chain.pes, pe) - chain.pes.begin());
  const Color color = mesh_.color_of[send.color];
  if (place == chain.pes.size() || chain.passes[place]) {
    fail(pe, no_route(pe, color));
    return;
  }
  if (send.then != kNoTask || state.outbox != kNil) {
    fail(pe, not_alone(pe, color));
    return;
  }
  auto& waiting = chain.waiting[place].emplace_back();
  waiting.ready = std::max(send.ready, state.ramp_up_until);
  waiting.advance = send.advance;
  if (send.words == nullptr) {
    waiting.words.assign(1, send.word);
  } else {
    waiting.words.assign(send.words, send.words + send.count);
  }
  if (state.dealt_way == static_cast<std::uint8_t>(chain.down) &&
      waiting.ready + machine().ramp < state.dealt_until) {
    fail(pe, not_alone(pe, color));
    return;
  }
  state.ramp_up_until = waiting.ready + send.count;
  // Its way out is theirs from now on, and so is that of the routers before it that pass them on.
  for (std::size_t i = place + 1; i-- > 0 && (i == place || chain.passes[i]);) {
    PeState& on_the_way = mesh_.pes[chain.pes[i]];
    on_the_way.collected_way = static_cast<std::uint8_t>(chain.down);
    on_the_way.collected_from = std::min(on_the_way.collected_from, waiting.ready + machine().ramp);
  }
  collect_turns(chain);
}

// The words of place k go up the ramp, over k links and the edge, after everything before them.
void Strip::collect_turns(Chain& chain) {
  while (chain.next < chain.pes.size()) {
    if (chain.passes[chain.next]) {
      ++chain.next;
      continue;
    }
    if (chain.sent >= chain.waiting[chain.next].size()) break;
    const std::uint32_t pe = chain.pes[chain.next];
    Chain::Waiting& waiting = chain.waiting[chain.next][chain.sent++];
    const std::uint64_t way = machine().ramp + (chain.next + 1) * machine().hop;
    const std::uint64_t first = std::max(waiting.ready + way, chain.edge_free);
    const std::size_t count = waiting.words.size();
    chain.edge_free = first + count;
    chain.words[chain.next] += count;
    sent_ += count;
    received_ += count;
    hops_ += (chain.next + 1) * count;
    last_ = std::max(last_, chain.edge_free - 1);
    EdgeOutput& output = edge_output(chain.pes.front(), chain.down, chain.color);
    if (output.words.empty()) output.first_cycle = first;
    output.last_cycle = chain.edge_free - 1;
    output.words.insert(output.words.end(), waiting.words.begin(), waiting.words.end());
    if (waiting.advance && mesh_.route(pe, chain.color).count > 1) {
      chain.waiting[chain.next].erase(
          chain.waiting[chain.next].begin(),
          chain.waiting[chain.next].begin() + static_cast<std::ptrdiff_t>(chain.sent));
      ++chain.next;
      chain.sent = 0;
    } else {
      waiting.words = {};
    }
  }
}

}  // namespace tensorpress::wafer::engine
