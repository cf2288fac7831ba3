// What a PE does in a cycle: its ramp takes a wavelet up, its operations take words, its tasks
// start.
#include <algorithm>
#include <bit>

#include "wafer/engine/strip.h"

namespace tensorpress::wafer::engine {
namespace {

std::uint32_t sum_of(std::uint32_t a, std::uint32_t b, Arithmetic arithmetic) {
  if (arithmetic == Arithmetic::u32) return a + b;
  return std::bit_cast<std::uint32_t>(std::bit_cast<float>(a) + std::bit_cast<float>(b));
}

}  // namespace

void Strip::step_ramp(std::uint32_t pe) {
  PeState& state = mesh_.pes[pe];
  std::uint32_t passed = 0;  // colors whose first send cannot go: those behind it wait too
  std::uint32_t before = kNil;
  for (std::uint32_t node = state.outbox; node != kNil; node = sends_.next(node)) {
    Send& send = sends_[node];
    const std::uint32_t bit = 1u << send.color;
    std::uint8_t& outstanding = mesh_.outstanding(pe, kUpRamp, send.color);
    if ((passed & bit) != 0 || send.ready > cycle_ || outstanding >= machine().router_queue) {
      passed |= bit;
      before = node;
      continue;
    }
    const bool last = send.done + 1 == send.count;
    ++outstanding;
    ++sent_;
    wheel_.push(cycle_ + machine().ramp,
                {.pe = pe,
                 .word = send.words == nullptr ? send.word : send.words[send.done],
                 .kind = EventKind::to_router,
                 .port = static_cast<std::uint8_t>(Port::ramp),
                 .color = send.color,
                 .advance = send.advance && last});
    ++send.done;
    if (last) {
      if (send.awaited) --state.unsent;
      const Task then = send.then;
      sends_.remove(state.outbox, before, node);
      if (then != kNoTask) activate(pe, cycle_ + 1, then);
    }
    if (state.outbox != kNil) wake(pe, cycle_ + 1);
    return;
  }
}

void Strip::step_pe(std::uint32_t pe) {
  step_operations(pe);
  step_tasks(pe);
}

Operation* Strip::operation_for(std::uint32_t pe, unsigned color) {
  for (std::uint32_t node = mesh_.pes[pe].operations; node != kNil; node = operations_.next(node)) {
    if (operations_[node].color == color) return &operations_[node];
  }
  return nullptr;
}

void Strip::step_operations(std::uint32_t pe) {
  PeState& state = mesh_.pes[pe];
  if (state.operations == kNil) return;
  std::uint32_t served = 0;  // an operation takes a word a cycle
  std::uint32_t before = kNil;
  for (std::uint32_t node = state.inbox; node != kNil;) {
    const InboxWord word = inbox_[node];
    const std::uint32_t next = inbox_.next(node);
    const std::uint32_t bit = 1u << word.color;
    Operation* const operation = operation_for(pe, word.color);
    if (operation == nullptr || (served & bit) != 0 || operation->ready > cycle_) {
      if (operation != nullptr) wake(pe, std::max(operation->ready, cycle_ + 1));
      served |= bit;
      before = node;
    } else {
      served |= bit;
      inbox_.remove(state.inbox, before, node);
      free_slot(pe, kUpRamp, word.color);
      consume(pe, *operation, word.word);
    }
    node = next;
  }
}

void Strip::consume(std::uint32_t pe, Operation& operation, std::uint32_t word) {
  const std::uint32_t i = operation.done++;
  std::uint64_t done = cycle_;
  ++received_;
  switch (operation.kind) {
    case OperationKind::store:
      operation.to[i] = word;
      break;
    case OperationKind::add:
      operation.to[i] = sum_of(operation.to[i], word, operation.arithmetic);
      done += machine().issue + machine().add;
      break;
    case OperationKind::scan:
      operation.to[i] = word;
      [[fallthrough]];
    case OperationKind::forward: {
      done += machine().issue + machine().add;
      const Color out = mesh_.color_of[operation.out];
      post(pe, Send{.ready = done, .word = sum_of(operation.own[i], word, operation.arithmetic)},
           out);
      break;
    }
  }
  last_ = std::max(last_, done);
  if (operation.done < operation.count) return;
  const Task then = operation.then;
  PeState& state = mesh_.pes[pe];
  std::uint32_t before = kNil;
  for (std::uint32_t node = state.operations; node != kNil; node = operations_.next(node)) {
    if (&operations_[node] == &operation) {
      operations_.remove(state.operations, before, node);
      break;
    }
    before = node;
  }
  if (then != kNoTask) activate(pe, done, then);
}

void Strip::step_tasks(std::uint32_t pe) {
  PeState& state = mesh_.pes[pe];
  std::uint32_t best = kNil, best_before = kNil, before = kNil;
  for (std::uint32_t node = state.tasks; node != kNil; node = tasks_.next(node)) {
    if (best == kNil || tasks_[node].ready < tasks_[best].ready) {
      best = node;
      best_before = before;
    }
    before = node;
  }
  const bool task = best != kNil && tasks_[best].ready <= cycle_;
  std::uint32_t word_node = kNil, word_before = kNil;
  if (!task && state.data_tasks != 0) {
    for (std::uint32_t node = state.inbox; node != kNil; node = inbox_.next(node)) {
      const unsigned color = inbox_[node].color;
      if ((state.data_tasks >> color & 1u) != 0 && operation_for(pe, color) == nullptr) {
        word_node = node;
        break;
      }
      word_before = node;
    }
  }
  if (!task && word_node == kNil) return;
  if (state.unsent > machine().output_queue) return;  // the ramp goes on and looks here again
  if (state.busy_until > cycle_) {
    wake(pe, state.busy_until);
    return;
  }
  if (task) {
    const Task name = tasks_[best].task;
    tasks_.remove(state.tasks, best_before, best);
    run_task(pe, name);
  } else {
    const InboxWord word = inbox_[word_node];
    inbox_.remove(state.inbox, word_before, word_node);
    free_slot(pe, kUpRamp, word.color);
    ++received_;
    run_wavelet(pe, word.color, word.word);
  }
}

void Strip::run_task(std::uint32_t pe, Task task) {
  Pe context(*this, pe, mesh_.at(pe), cycle_ + machine().task_activation);
  mesh_.pes[pe].program->on_task(context, task);
  task_ended(pe, context.now(), {.pe = context.at(), .kind = TraceKind::task, .what = task});
}

void Strip::run_wavelet(std::uint32_t pe, unsigned color, std::uint32_t word) {
  Pe context(*this, pe, mesh_.at(pe), cycle_ + machine().task_activation);
  mesh_.pes[pe].program->on_wavelet(context, mesh_.color_of[color], word);
  task_ended(pe, context.now(),
             {.pe = context.at(), .kind = TraceKind::task, .what = kNoTask, .word = word});
}

void Strip::task_ended(std::uint32_t pe, std::uint64_t until, TraceEvent event) {
  PeState& state = mesh_.pes[pe];
  state.busy_until = std::max(until, cycle_ + 1);
  state.busy_cycles += static_cast<std::uint32_t>(state.busy_until - cycle_);
  last_ = std::max(last_, state.busy_until);
  ++task_count_;
  if (state.tasks != kNil || state.inbox != kNil) wake(pe, state.busy_until);
  if (mesh_.options.trace) {
    event.begin = cycle_;
    event.end = state.busy_until;
    trace_.push_back(event);
  }
}

// --- What a running task asks for ----------------------------------------------------------------

void Strip::spend(std::uint32_t pe, std::uint64_t begin, std::uint64_t cycles, Stage stage) {
  if (cycles == 0 || stage >= kStages) return;
  StageReport& sum = stages_[stage];
  sum.first_begin = sum.cycles == 0 ? begin : std::min(sum.first_begin, begin);
  sum.last_end = std::max(sum.last_end, begin + cycles);
  sum.cycles += cycles;
  if (mesh_.options.trace) {
    trace_.push_back({begin, begin + cycles, mesh_.at(pe), TraceKind::stage, stage, Port::ramp, 0});
  }
}

void Strip::activate(std::uint32_t pe, std::uint64_t when, Task task) {
  tasks_.append(mesh_.pes[pe].tasks, {when, task});
  // Of this very cycle: the caller looks at the tasks next.
  if (when > cycle_ || !running_) wake(pe, when);
}

void Strip::post(std::uint32_t pe, Operation operation, Color in, Color out) {
  const bool sends =
      operation.kind == OperationKind::forward || operation.kind == OperationKind::scan;
  const unsigned color = in < kColors ? mesh_.dense[in] : kNoColor;
  if (color == kNoColor || (sends && (out >= kColors || mesh_.dense[out] == kNoColor))) {
    fail(pe, no_route(pe, color == kNoColor ? in : out));
    return;
  }
  operation.color = static_cast<std::uint8_t>(color);
  if (sends) operation.out = mesh_.dense[out];
  if (operation.count == 0) {
    if (operation.then != kNoTask)
      activate(pe, std::max(operation.ready, cycle_ + 1), operation.then);
    return;
  }
  operations_.append(mesh_.pes[pe].operations, operation);
  if (mesh_.pes[pe].inbox != kNil) wake(pe, std::max(operation.ready, cycle_ + 1));
}

void Strip::post(std::uint32_t pe, Send send, Color color) {
  const unsigned dense = color < kColors ? mesh_.dense[color] : kNoColor;
  if (dense == kNoColor || mesh_.route(pe, dense).count == 0) {
    fail(pe, no_route(pe, color));
    return;
  }
  send.color = static_cast<std::uint8_t>(dense);
  if (send.count == 0) {
    if (send.then != kNoTask) activate(pe, std::max(send.ready, cycle_ + 1), send.then);
    return;
  }
  PeState& state = mesh_.pes[pe];
  if (mesh_.collecting[std::size_t{pe / mesh_.width} * mesh_.colors + dense] != kNoChain) {
    collect(pe, send);
    return;
  }
  if (send.ready < state.ramp_up_until) {
    fail(pe, not_alone(pe, color));
    return;
  }
  if (send.awaited) ++state.unsent;
  sends_.append(state.outbox, send);
  // A send that is posted by a step of this cycle's is seen in the next one at the earliest.
  wake(pe, running_ ? std::max(send.ready, cycle_ + 1) : send.ready);
}

}  // namespace tensorpress::wafer::engine
