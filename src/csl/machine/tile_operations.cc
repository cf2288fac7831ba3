// Operations on descriptors: synchronous ones hold the main thread, asynchronous ones are
// microthreads.
#include <bit>

#include "csl/machine/tile.h"

namespace tensorpress::csl {

std::uint32_t Tile::length_of(const Descriptor& descriptor) const {
  return descriptor.kind == DsdKind::mem4d ? program_->shapes[descriptor.length].length()
                                           : descriptor.length;
}

int Tile::color_of(const Descriptor& descriptor) const {
  if (descriptor.color < kColors) return descriptor.color;
  const QueueEntry& entry = program_->output_queues[descriptor.queue];
  return entry.set ? entry.color : 0;
}

Tile::InputQueue& Tile::queue_of(const Descriptor& descriptor, int& index) {
  index = descriptor.queued ? descriptor.queue : queue_of_color_[descriptor.color % kColors];
  return input_[static_cast<std::size_t>(index)];
}

std::int64_t Tile::value_of(Scalar scalar, const Wavelet& wavelet) const {
  return wrapped(scalar, static_cast<std::int64_t>(wavelet.payload));
}

std::uint32_t Tile::address(const Cursor& cursor, Scalar scalar, std::uint32_t k,
                            const Running& running) const {
  const Descriptor& dsd = cursor.descriptor;
  const std::int64_t element = dsd.kind == DsdKind::mem4d ? program_->shapes[dsd.length].offset(k)
                                                          : std::int64_t{dsd.stride} * k;
  const std::int64_t moved = dsd.indexed && running.indexed ? std::int64_t{running.index} * 2 : 0;
  return static_cast<std::uint16_t>(dsd.base + moved + element * bytes_of(scalar));
}

Tile::Cursor Tile::cursor(const Operand& operand, AsyncConfig& config, Running& running,
                          bool destination) {
  Cursor made;
  made.kind = operand.kind;
  if (operand.kind == OperandKind::scalar || operand.kind == OperandKind::address) {
    made.scalar = reg(operand.at);
    return made;
  }
  if (operand.kind == OperandKind::none) return made;
  if (operand.kind == OperandKind::dsr) {
    const Dsr& dsr = dsrs_[static_cast<std::size_t>(operand.file)][operand.at & 15u];
    if (!dsr.set) fail("DSR " + std::to_string(operand.at) + " is used before it is loaded");
    made.descriptor = Descriptor::unpacked(dsr.descriptor);
    made.dsr = operand.at & 15;
    made.file = operand.file;
    if (dsr.async) {
      config.async = true;
      if (dsr.done != ActionKind::none && running.then == ActionKind::none) {
        running.then = dsr.done;
        running.task = dsr.task;
      }
      if (dsr.on_control != ActionKind::none) {
        running.on_control = dsr.on_control;
        running.control_task = dsr.control_task;
        running.control_ends = true;
      }
    }
  } else {
    made.descriptor = Descriptor::unpacked(reg(operand.at));
  }
  made.memory = made.descriptor.kind;
  made.length = made.memory == DsdKind::fifo ? 0 : length_of(made.descriptor);
  if (made.memory == DsdKind::fabin) queue_of(made.descriptor, made.queue);
  if (made.memory == DsdKind::fabout && destination) made.queue = made.descriptor.queue;
  return made;
}

bool Tile::start(const DsdOperation& operation, std::uint16_t result) {
  AsyncConfig config = operation.config;
  Running made;
  made.active = true;
  made.form = operation.form;
  made.at = here();
  if (config.done.kind != ActionKind::none) {
    made.then = config.done.kind;
    made.task = static_cast<int>(reg(config.done.task));
  }
  if (config.on_control.kind != ActionKind::none) {
    made.on_control = config.on_control.kind;
    made.control_ends = true;
    if (config.on_control.task != kNoRegister)
      made.control_task = static_cast<int>(reg(config.on_control.task));
  }
  if (config.index != kNoRegister) {
    made.indexed = true;
    made.index = static_cast<std::uint16_t>(reg(config.index));
  }
  made.destination = cursor(operation.destination, config, made, true);
  for (int k = 0; k < operation.form->sources; ++k)
    made.sources[k] = cursor(operation.sources[k], config, made, false);
  if (fault_.set) return true;
  // The first length that is not 0, of the sources in front of the destination; scalars and FIFOs
  // have none.
  for (const Cursor* one : {&made.sources[0], &made.sources[1], &made.destination}) {
    if (made.length == 0) made.length = one->length;
  }
  bool described = false, fifo = false;
  for (const Cursor* one : {&made.sources[0], &made.sources[1], &made.destination}) {
    described = described || (one->memory != DsdKind::none && one->memory != DsdKind::fifo);
    fifo = fifo || one->memory == DsdKind::fifo;
  }
  if (!described) made.length = 1;
  if (described && made.length == 0) {  // nothing to do
    made.done = 0;
    made.result = config.async ? kNoRegister : result;
    finish(made, true);
    return true;
  }
  int thread = -1;
  if (config.async) {
    thread = made.destination.memory == DsdKind::fabout ? made.destination.queue : -1;
    for (int k = 0; k < 3 && thread < 0; ++k) {
      if (made.sources[k].memory == DsdKind::fabin) thread = made.sources[k].queue % kQueues;
    }
    if (config.microthread != kNoRegister) thread = static_cast<int>(reg(config.microthread)) & 7;
    if (thread < 0) thread = 0;
    if (microthreads_[static_cast<std::size_t>(thread)].active) return false;
  }
  for (const Cursor& one : made.sources) {
    if (one.memory == DsdKind::fabin) input_[static_cast<std::size_t>(one.queue)].taken = true;
  }
  if (config.async) {
    reg(result) = 1;
    microthreads_[static_cast<std::size_t>(thread)] = made;
  } else {
    made.result = result;
    made.fifo_ends = fifo;
    main_ = made;
  }
  return true;
}

void Tile::act(ActionKind kind, int task) {
  if (kind == ActionKind::activate) set_task(Code::activate, task);
  if (kind == ActionKind::unblock) set_task(Code::unblock, task);
}

void Tile::finish(Running& running, bool whole) {
  for (const Cursor& one : running.sources) {
    if (one.memory == DsdKind::fabin) input_[static_cast<std::size_t>(one.queue)].taken = false;
  }
  for (const Cursor* one : {&running.destination, &running.sources[0], &running.sources[1]}) {
    if (one->dsr < 0) continue;
    Dsr& dsr = dsrs_[static_cast<std::size_t>(one->file)][static_cast<std::size_t>(one->dsr)];
    if (dsr.saves_address && one->memory == DsdKind::mem1d) {
      Descriptor next = one->descriptor;
      const Scalar scalar = one == &running.destination ? running.form->to : running.form->from;
      next.base = static_cast<std::uint16_t>(address(*one, scalar, running.done, running));
      dsr.descriptor = next.packed();
    }
  }
  if (running.result != kNoRegister && !frames_.empty()) reg(running.result) = whole ? 1 : 0;
  const ActionKind then = running.then;
  const int task = running.task;
  running.active = false;
  act(then, task);
}

/// Whether a cursor can be read or written now. `ends`: it never will in this operation.
bool Tile::ready(const Running& running, const Cursor& cursor, Scalar scalar, bool reading,
                 bool& ends) {
  switch (cursor.memory) {
    case DsdKind::fabin: {
      const auto& wavelets = input_[static_cast<std::size_t>(cursor.queue)].wavelets;
      return !wavelets.empty();
    }
    case DsdKind::fabout:
      return output_[cursor.descriptor.queue].size() < output_depth_[cursor.descriptor.queue];
    case DsdKind::fifo: {
      Fifo& fifo = fifos_[cursor.descriptor.base];
      const FifoEntry& entry = program_->fifos[cursor.descriptor.base];
      if (reading) {
        if (fifo.used >= bytes_of(scalar)) return true;
        fifo.was_empty = true;
        ends = running.fifo_ends || entry.ends_when_empty;
        return false;
      }
      if (entry.bytes - fifo.used >= bytes_of(scalar)) return true;
      fifo.was_full = true;
      ends = running.fifo_ends;
      return false;
    }
    default:
      return true;
  }
}

std::int64_t Tile::read(Running& running, Cursor& cursor, Scalar scalar) {
  if (cursor.kind == OperandKind::scalar) return cursor.scalar;
  switch (cursor.memory) {
    case DsdKind::fabin: {
      auto& wavelets = input_[static_cast<std::size_t>(cursor.queue)].wavelets;
      const std::int64_t value = value_of(scalar, wavelets.front());
      wavelets.pop_front();
      return value;
    }
    case DsdKind::fifo: {
      Fifo& fifo = fifos_[cursor.descriptor.base];
      const FifoEntry& entry = program_->fifos[cursor.descriptor.base];
      const std::int64_t value = load(scalar, entry.address + fifo.first);
      fifo.first = (fifo.first + bytes_of(scalar)) % std::max<std::uint32_t>(entry.bytes, 1);
      fifo.used -= bytes_of(scalar);
      if (fifo.was_full && entry.activated_by_pop >= 0)
        act(ActionKind::activate, entry.activated_by_pop);
      fifo.was_full = false;
      return value;
    }
    default:
      return load(scalar, address(cursor, scalar, running.done, running));
  }
}

void Tile::write(Running& running, Cursor& cursor, Scalar scalar, std::int64_t value) {
  if (cursor.kind == OperandKind::address)
    return store(scalar, static_cast<std::uint16_t>(cursor.scalar), value);
  switch (cursor.memory) {
    case DsdKind::fabout: {
      Wavelet made{.payload = static_cast<std::uint32_t>(value),
                   .control = cursor.descriptor.control};
      if (bits_of(scalar) == 16) made.payload &= 0xffffu;
      if (cursor.descriptor.indexed && running.indexed)
        made.payload |= std::uint32_t{running.index} << 16;
      made.advances = cursor.descriptor.advances && running.done + 1 >= running.length;
      output_[cursor.descriptor.queue].push_back(
          {static_cast<std::uint8_t>(color_of(cursor.descriptor)), made});
      return;
    }
    case DsdKind::fifo: {
      Fifo& fifo = fifos_[cursor.descriptor.base];
      const FifoEntry& entry = program_->fifos[cursor.descriptor.base];
      const std::uint32_t at = (fifo.first + fifo.used) % std::max<std::uint32_t>(entry.bytes, 1);
      store(scalar, entry.address + at, value);
      fifo.used += bytes_of(scalar);
      if (fifo.was_empty && entry.activated_by_push >= 0)
        act(ActionKind::activate, entry.activated_by_push);
      fifo.was_empty = false;
      return;
    }
    default:
      return store(scalar, address(cursor, scalar, running.done, running), value);
  }
}

/// One cycle of an operation: as many elements as its width lets pass.
Tile::Progress Tile::advance(Running& running) {
  const OperationForm& form = *running.form;
  bool fabric = running.destination.memory == DsdKind::fabout;
  for (const Cursor& one : running.sources) fabric = fabric || one.memory == DsdKind::fabin;
  const unsigned width = fabric                                ? 1
                         : architecture_ == Architecture::wse2 ? form.width
                                                               : form.width3;
  for (unsigned k = 0; k < width; ++k) {
    bool ends = false, waits = false;
    for (int s = 0; s < form.sources; ++s)
      waits = waits || !ready(running, running.sources[s], form.from, true, ends);
    waits = waits || !ready(running, running.destination, form.to, false, ends);
    if (ends) {
      finish(running, false);
      return Progress::finished;
    }
    if (waits) return k == 0 ? Progress::waiting : Progress::worked;
    // A control wavelet ends the operation that waits for one.
    for (int s = 0; s < form.sources; ++s) {
      const Cursor& one = running.sources[s];
      if (one.memory != DsdKind::fabin) continue;
      auto& wavelets = input_[static_cast<std::size_t>(one.queue)].wavelets;
      if (!wavelets.front().control || !running.control_ends) continue;
      wavelets.pop_front();
      const ActionKind kind = running.on_control;
      const int task = running.control_task;
      running.then = ActionKind::none;
      finish(running, true);
      act(kind, task);
      return Progress::finished;
    }
    std::int64_t s[3] = {};
    for (int j = 0; j < form.sources; ++j) s[j] = read(running, running.sources[j], form.from);
    const Scalar to = form.to;
    if (form.operation != Operation::convert && form.from != to) {
      for (int j = 0; j < form.sources; ++j) s[j] = converted(form.from, to, s[j]);
    }
    std::int64_t value = 0;
    switch (form.operation) {
      case Operation::move:
        value = s[0];
        break;
      case Operation::add:
        value = computed(Operator::add, to, s[0], s[1]);
        break;
      case Operation::add_with_carry: {
        const std::int64_t sum = (s[0] & 0xffff) + (s[1] & 0xffff) + (carry_ ? 1 : 0);
        carry_ = sum > 0xffff;
        value = sum & 0xffff;
        break;
      }
      case Operation::subtract:
        value = computed(Operator::subtract, to, s[0], s[1]);
        break;
      case Operation::bit_and:
        value = s[0] & s[1];
        break;
      case Operation::bit_or:
        value = s[0] | s[1];
        break;
      case Operation::bit_xor:
        value = s[0] ^ s[1];
        break;
      case Operation::shift_right_signed:
      case Operation::shift_right:
        value = computed(Operator::shift_right, to, s[0], s[1] & 0xffff);
        break;
      case Operation::shift_left:
        value = computed(Operator::shift_left, to, s[0], s[1] & 0xffff);
        break;
      case Operation::multiply:
        value = computed(Operator::multiply, to, s[0], s[1]);
        break;
      case Operation::multiply_add:  // two roundings: whether the machine fuses them is not public
        value = computed(Operator::add, to, s[0], computed(Operator::multiply, to, s[1], s[2]));
        break;
      case Operation::maximum:
        value = compared(Operator::less, to, s[0], s[1]) ? s[1] : s[0];
        break;
      case Operation::negate:
        value = computed(Operator::negate, to, s[0], 0);
        break;
      case Operation::absolute:
        value = s[0] & (to == Scalar::f16 ? std::int64_t{0x7fff} : std::int64_t{0x7fffffff});
        break;
      case Operation::convert:
        value = converted(form.from, to, s[0]);
        break;
      case Operation::population:
        value = std::popcount(static_cast<std::uint16_t>(s[0]));
        break;
    }
    write(running, running.destination, to, value);
    ++running.done;
    if (running.length != 0x7fff && running.done >= running.length) {  // 0x7fff: without end
      finish(running, true);
      return Progress::finished;
    }
  }
  return Progress::worked;
}

}  // namespace tensorpress::csl
