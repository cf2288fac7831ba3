// Which task a tile runs next, and what it exchanges with the fabric and the host.
#include <algorithm>

#include "csl/machine/tile.h"

namespace tensorpress::csl {

Tile::Tile(const Program* program, Architecture architecture, int x, int y)
    : program_(program), architecture_(architecture), x_(x), y_(y), memory_(kSramBytes) {
  // Depths in wavelets, from the vendor's table of queues.
  static constexpr std::size_t kInput2[] = {6, 6, 4, 4, 2, 2, 2, 2},
                               kOutput2[] = {2, 2, 6, 6, 2, 2, 2, 2};
  static constexpr std::size_t kInput3[] = {8, 8, 4, 4, 4, 4, 4, 4};
  const bool wse2 = architecture == Architecture::wse2;
  queue_of_color_.fill(-1);
  for (std::size_t k = 0; k < input_.size(); ++k) {
    if (k < kQueues) {
      input_[k].depth = wse2 ? kInput2[k] : kInput3[k];
      output_depth_[k] = wse2 ? kOutput2[k] : 8;
      if (program->input_queues[k].set) {
        input_[k].color = program->input_queues[k].color;
        queue_of_color_[program->input_queues[k].color] = static_cast<int>(k);
      }
    } else {
      input_[k].color = static_cast<int>(k) - kImplicit;
    }
  }
  for (int color = 0; color < kColors; ++color) {
    if (queue_of_color_[static_cast<std::size_t>(color)] < 0)
      queue_of_color_[static_cast<std::size_t>(color)] = kImplicit + color;
  }
  std::copy(program->image.begin(), program->image.end(), memory_.begin());
  active_ = program->activated;
  // A color without a data task is blocked for control tasks until somebody unblocks it.
  blocked_ = program->blocked;
  for (int id = 0; id < kColors; ++id) {
    if (program->tasks[static_cast<std::size_t>(id)].kind == TaskKind::none &&
        (program->unblocked >> id & 1u) == 0) {
      blocked_ |= std::uint32_t{1} << id;
    }
  }
  fifos_.resize(program->fifos.size());
  for (const InitialDsr& load : program->dsrs) {
    Dsr& dsr = dsrs_[static_cast<std::size_t>(load.file)][load.number];
    dsr = {.descriptor = load.descriptor,
           .saves_address = load.saves_address,
           .async = load.async,
           .set = true,
           .done = load.done,
           .task = load.task};
  }
  registers_.resize(64);
}

void Tile::launch(int function, const std::vector<std::int64_t>& arguments) {
  calls_.push_back({function, arguments});
  commands_blocked_ = true;
}

bool Tile::can_receive(int color) const {
  const InputQueue& queue =
      input_[static_cast<std::size_t>(queue_of_color_[static_cast<std::size_t>(color)])];
  return queue.wavelets.size() < queue.depth;
}

void Tile::receive(int color, const Wavelet& wavelet) {
  input_[static_cast<std::size_t>(queue_of_color_[static_cast<std::size_t>(color)])]
      .wavelets.push_back(wavelet);
}

void Tile::enter(int function, const std::vector<std::int64_t>& arguments) {
  const FunctionCode& code = program_->functions[static_cast<std::size_t>(function)];
  frames_.push_back({function, 0, 0});
  if (registers_.size() < code.registers + arguments.size())
    registers_.resize(code.registers + arguments.size());
  for (std::size_t k = 0; k < arguments.size(); ++k) registers_[k] = arguments[k];
}

void Tile::set_task(Code code, std::int64_t task) {
  if (task < 0 || task >= kTaskIds) {
    fail("there is no task id " + std::to_string(task));
    return;
  }
  const std::uint32_t bit = std::uint32_t{1} << task;
  if (code == Code::activate) active_ |= bit;
  if (code == Code::block) blocked_ |= bit;
  if (code == Code::unblock) blocked_ &= ~bit;
}

/// The next task, the one with the lowest id first; local tasks before wavelets, commands of the
/// host last.
bool Tile::pick_task(std::uint64_t now) {
  constexpr std::uint64_t kSwitch = 4;  // cycles
  for (int color = 0; torn_down_ != 0 && color < kColors; ++color) {
    if ((torn_down_ >> color & 1u) == 0) continue;
    torn_down_ &= ~(std::uint32_t{1} << color);
    const int handler = program_->teardown_handlers[static_cast<std::size_t>(color)];
    if (handler < 0) continue;
    enter(handler, {});
    busy_until_ = now + kSwitch;
    return true;
  }
  const std::uint32_t candidates = active_ & ~blocked_;
  for (int id = 0; candidates != 0 && id < kTaskIds; ++id) {
    if ((candidates >> id & 1u) == 0) continue;
    const TaskEntry& task = program_->tasks[static_cast<std::size_t>(id)];
    if (task.kind != TaskKind::local) {
      active_ &= ~(std::uint32_t{1} << id);
      continue;
    }
    active_ &= ~(std::uint32_t{1} << id);
    enter(task.function, {});
    busy_until_ = now + kSwitch;
    return true;
  }
  for (std::size_t k = 0; k < input_.size(); ++k) {
    InputQueue& queue = input_[k];
    if (queue.wavelets.empty() || queue.taken || queue.color < 0) continue;
    const int id = architecture_ == Architecture::wse2 ? queue.color : static_cast<int>(k);
    if (id >= kTaskIds || (blocked_ >> id & 1u) != 0) continue;
    const Wavelet wavelet = queue.wavelets.front();
    const TaskEntry* task = &program_->tasks[static_cast<std::size_t>(id)];
    std::uint32_t payload = wavelet.payload;
    if (wavelet.control) {
      task = &program_->control_tasks[wavelet.payload >> 16 & 63u];
      payload &= 0xffffu;
      if (task->kind == TaskKind::none) {
        if (program_->tasks[static_cast<std::size_t>(id)].kind == TaskKind::data)
          queue.wavelets.pop_front();
        continue;  // nobody wants it
      }
    } else if (task->kind != TaskKind::data) {
      continue;
    }
    queue.wavelets.pop_front();
    std::vector<std::int64_t> arguments;
    unsigned shift = 0;
    for (const Scalar scalar : task->parameters) {
      arguments.push_back(
          wrapped(scalar, static_cast<std::int64_t>(std::uint64_t{payload} >> shift)));
      shift += bits_of(scalar);
    }
    enter(task->function, arguments);
    busy_until_ = now + kSwitch;
    return true;
  }
  if (!calls_.empty()) {
    const Call call = std::move(calls_.front());
    calls_.pop_front();
    enter(call.function, call.arguments);
    calling_ = true;
    busy_until_ = now + kSwitch;
    return true;
  }
  return false;
}

bool Tile::step(std::uint64_t now) {
  if (fault_.set) return false;
  bool worked = false;
  if (main_.active) {
    const Progress progress = advance(main_);
    worked = progress != Progress::waiting;
  } else if (busy_until_ > now) {
    worked = true;
  } else if (!frames_.empty() || pick_task(now)) {
    worked = run(now);
  }
  // One microthread a cycle works, in turn.
  for (std::size_t k = 0; k < microthreads_.size(); ++k) {
    Running& thread = microthreads_[(turn_ + k) % microthreads_.size()];
    if (!thread.active) continue;
    if (advance(thread) != Progress::waiting) {
      turn_ = (turn_ + k + 1) % microthreads_.size();
      worked = true;
      break;
    }
  }
  return worked;
}

std::string Tile::waits_for(const Sources& sources) const {
  const auto line = [&](Position at) {
    const Sources::Place place = sources.place(at);
    return std::string(place.path) + ":" + std::to_string(place.line);
  };
  std::string out;
  const auto name = [&](const Running& running) {
    if (!running.active) return;
    out += "  @" + std::string(running.form->name) + " of " + line(running.at) + " has done " +
           std::to_string(running.done) + " of " + std::to_string(running.length);
    for (const Cursor* cursor : {&running.sources[0], &running.sources[1], &running.sources[2]}) {
      if (cursor->queue >= 0 && input_[static_cast<std::size_t>(cursor->queue)].wavelets.empty()) {
        out += ", waits for color " +
               std::to_string(input_[static_cast<std::size_t>(cursor->queue)].color);
      }
    }
    if (running.destination.memory == DsdKind::fabout)
      out += ", sends color " + std::to_string(color_of(running.destination.descriptor));
    out += "\n";
  };
  name(main_);
  for (const Running& thread : microthreads_) name(thread);
  for (int id = 0; id < kTaskIds; ++id) {
    if ((active_ & blocked_) >> id & 1u)
      out += "  task " + std::to_string(id) + " is active and blocked\n";
  }
  for (const InputQueue& queue : input_) {
    if (!queue.wavelets.empty())
      out += "  " + std::to_string(queue.wavelets.size()) + " wavelets of color " +
             std::to_string(queue.color) + " are not read\n";
  }
  if (!out.empty()) out = "PE (" + std::to_string(x_) + ", " + std::to_string(y_) + "):\n" + out;
  return out;
}

}  // namespace tensorpress::csl
