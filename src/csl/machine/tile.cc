// Tasks and scalar code.
#include "csl/machine/tile.h"

#include "base/text.h"

#include <algorithm>
#include <cmath>

namespace tensorpress::csl {

void Tile::fail(std::string message) {
  if (fault_.set) return;
  fault_ = {true, here(),
            "PE (" + std::to_string(x_) + ", " + std::to_string(y_) + "): " + std::move(message)};
}

Position Tile::here() const {
  if (frames_.empty()) return {};
  const FunctionCode& code = program_->functions[static_cast<std::size_t>(frames_.back().function)];
  const std::size_t at = frames_.back().next == 0 ? 0 : frames_.back().next - 1;
  return at < code.places.size() ? code.places[at] : Position{};
}

std::int64_t Tile::load(Scalar scalar, std::uint32_t address) {
  const std::uint32_t bytes = bytes_of(scalar);
  if (address + bytes > kSramBytes) {
    fail("a read at byte " + std::to_string(address) + " lies outside of SRAM");
    return 0;
  }
  std::uint64_t bits = 0;
  for (std::uint32_t k = 0; k < bytes; ++k) bits |= std::uint64_t{memory_[address + k]} << (8 * k);
  return wrapped(scalar, static_cast<std::int64_t>(bits));
}

void Tile::store(Scalar scalar, std::uint32_t address, std::int64_t value) {
  const std::uint32_t bytes = bytes_of(scalar);
  if (address + bytes > kSramBytes) {
    fail("a write at byte " + std::to_string(address) + " lies outside of SRAM");
    return;
  }
  for (std::uint32_t k = 0; k < bytes; ++k)
    memory_[address + k] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> (8 * k));
}

/// Runs instructions until one needs time to pass.
bool Tile::run(std::uint64_t now) {
  std::uint64_t at = std::max(now, busy_until_);
  const std::uint64_t began = at;
  while (!fault_.set) {
    Frame& frame = frames_.back();
    const FunctionCode& code = program_->functions[static_cast<std::size_t>(frame.function)];
    if (frame.next >= code.code.size()) {
      fail("the code of '" + code.name + "' has no end");
      break;
    }
    const Instruction& one = code.code[frame.next++];
    const auto needs_now =
        one.code == Code::operation || one.code == Code::receive || one.code == Code::send ||
        one.code == Code::activate || one.code == Code::block || one.code == Code::unblock ||
        one.code == Code::load_dsr ||
        (one.code == Code::native && one.part == static_cast<std::uint8_t>(Hook::unblock_commands));
    if ((needs_now && at > now) || at > began + 1000) {
      // What others see happens at its cycle.
      --frame.next;
      break;
    }
    ++instructions_;
    at += cycles_of(one);
    std::int64_t* r = registers_.data() + frame.base;
    switch (one.code) {
      case Code::move:
        r[one.a] = r[one.b];
        break;
      case Code::constant:
        r[one.a] = program_->constants[static_cast<std::size_t>(one.where)];
        break;
      case Code::compute:
        r[one.a] = computed(one.op, one.scalar, r[one.b], r[one.c]);
        break;
      case Code::compare:
        r[one.a] = compared(one.op, one.scalar, r[one.b], r[one.c]) ? 1 : 0;
        break;
      case Code::convert:
        r[one.a] = converted(one.other, one.scalar, r[one.b]);
        break;
      case Code::address:
        r[one.a] = static_cast<std::uint16_t>((one.b == kNoRegister ? 0 : r[one.b]) +
                                              r[one.c] * one.where);
        break;
      case Code::load:
        r[one.a] =
            load(one.scalar,
                 static_cast<std::uint16_t>((one.b == kNoRegister ? 0 : r[one.b]) + one.where));
        break;
      case Code::store:
        store(one.scalar,
              static_cast<std::uint16_t>((one.b == kNoRegister ? 0 : r[one.b]) + one.where),
              r[one.a]);
        break;
      case Code::jump:
        frame.next = static_cast<std::uint32_t>(one.where);
        break;
      case Code::jump_unless:
        if (r[one.a] == 0) frame.next = static_cast<std::uint32_t>(one.where);
        break;
      case Code::call: {
        if (frames_.size() >= 64) {
          fail("calls are nested deeper than 64");
          break;
        }
        const std::uint32_t base = frame.base + one.a;
        const std::size_t needed =
            base + program_->functions[static_cast<std::size_t>(one.where)].registers + 1u;
        if (registers_.size() < needed) registers_.resize(needed);
        frames_.push_back({one.where, 0, base});
        break;
      }
      case Code::leave: {
        const std::int64_t result = one.a == kNoRegister ? 0 : r[one.a];
        r[0] = result;
        frames_.pop_back();
        if (frames_.empty()) {
          calling_ = false;
          busy_until_ = at;
          return true;
        }
        break;
      }
      case Code::operation:
        if (!start(program_->operations[static_cast<std::size_t>(one.where)], one.a)) {
          --frame.next;  // its microthread is busy
          busy_until_ = now;
          return at > began + cycles_of(one);
        }
        if (main_.active) {
          busy_until_ = at;
          return true;
        }
        break;
      case Code::map_length:
        r[one.a] = static_cast<std::int64_t>(length_of(Descriptor::unpacked(r[one.b])));
        break;
      case Code::map_address: {
        Cursor cursor;
        cursor.kind = OperandKind::descriptor;
        cursor.descriptor = Descriptor::unpacked(r[one.b]);
        cursor.memory = cursor.descriptor.kind;
        r[one.a] = address(cursor, one.scalar, static_cast<std::uint32_t>(r[one.c]), Running{});
        break;
      }
      case Code::receive: {
        int index = 0;
        InputQueue& queue = queue_of(Descriptor::unpacked(r[one.b]), index);
        if (queue.wavelets.empty()) {
          --frame.next;
          busy_until_ = now;
          return at > began + cycles_of(one);
        }
        r[one.a] = value_of(one.scalar, queue.wavelets.front());
        queue.wavelets.pop_front();
        break;
      }
      case Code::send: {
        const Descriptor to = Descriptor::unpacked(r[one.b]);
        if (output_[to.queue].size() >= output_depth_[to.queue]) {
          --frame.next;
          busy_until_ = now;
          return at > began + cycles_of(one);
        }
        output_[to.queue].push_back(
            {static_cast<std::uint8_t>(color_of(to)),
             {static_cast<std::uint32_t>(r[one.a]) & (bits_of(one.scalar) == 16 ? 0xffffu : ~0u),
              to.control, false}});
        break;
      }
      case Code::activate:
      case Code::block:
      case Code::unblock:
        set_task(one.code, r[one.a]);
        break;
      case Code::describe: {
        Descriptor made = Descriptor::unpacked(r[one.b]);
        switch (static_cast<Part>(one.part)) {
          case Part::base:
            made.base = static_cast<std::uint16_t>(r[one.c]);
            break;
          case Part::length:
            made.length = static_cast<std::uint16_t>(r[one.c]);
            break;
          case Part::stride:
            made.stride = static_cast<std::int8_t>(r[one.c]);
            break;
          case Part::offset:
            made.base = static_cast<std::uint16_t>(made.base + r[one.c] * one.where);
            break;
        }
        r[one.a] = made.packed();
        break;
      }
      case Code::load_dsr: {
        const DsrLoad& what = program_->loads[static_cast<std::size_t>(one.where)];
        Dsr& dsr = dsrs_[static_cast<std::size_t>(what.file)][what.number];
        dsr = {.descriptor = r[what.descriptor],
               .saves_address = what.saves_address,
               .async = what.config.async,
               .set = true,
               .done = what.config.done.kind,
               .on_control = what.config.on_control.kind};
        if (what.config.done.task != kNoRegister)
          dsr.task = static_cast<std::uint16_t>(r[what.config.done.task]);
        if (what.config.on_control.task != kNoRegister)
          dsr.control_task = static_cast<std::uint16_t>(r[what.config.on_control.task]);
        break;
      }
      case Code::check:
        if (r[one.a] == 0) fail("an assertion does not hold");
        break;
      case Code::native:
        native(one, at);
        break;
    }
  }
  busy_until_ = at;
  return true;
}

bool Tile::native(const Instruction& one, std::uint64_t now) {
  std::int64_t* r = registers_.data() + frames_.back().base;
  const auto rounded = [&](double (*function)(double)) {
    r[one.a] =
        bits_of_real(one.scalar, function(static_cast<double>(real_of(one.scalar, r[one.b]))));
  };
  switch (static_cast<Hook>(one.part)) {
    case Hook::unblock_commands:
      commands_blocked_ = false;
      break;
    case Hook::square_root:
      rounded(std::sqrt);
      break;
    case Hook::sine:
      rounded(std::sin);
      break;
    case Hook::cosine:
      rounded(std::cos);
      break;
    case Hook::exponential:
      rounded(std::exp);
      break;
    case Hook::logarithm:
      rounded(std::log);
      break;
    case Hook::cycle_counter:
      r[one.a] = static_cast<std::int64_t>(now);
      break;
    case Hook::x_coordinate:
      r[one.a] = x_;
      break;
    case Hook::y_coordinate:
      r[one.a] = y_;
      break;
    case Hook::print:
    case Hook::trace: {
      // `other` says that the value is the number of a string.
      std::string words;
      if (one.other == Scalar::boolean) {
        words = program_->strings[static_cast<std::size_t>(r[one.b])];
      } else if (is_real(one.scalar)) {
        words = text(real_of(one.scalar, r[one.b]));
      } else {
        words = text(r[one.b]);
      }
      if (lines_.size() >= 100'000) break;
      if (static_cast<Hook>(one.part) == Hook::trace) {
        const std::string& key = program_->strings[static_cast<std::size_t>(r[one.c])];
        lines_.push_back(text("trace\t", x_, "\t", y_, "\t", key, "\t", words));
      } else {
        lines_.push_back(text("@", now, " P", x_, ".", y_, ": ", words));
      }
      break;
    }
    case Hook::set_route:
      route_changes_.push_back(
          {static_cast<int>(r[one.b]) % kColors, static_cast<std::uint32_t>(r[one.c])});
      break;
  }
  return true;
}

}  // namespace tensorpress::csl
