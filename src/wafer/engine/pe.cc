#include "tensorpress/wafer/program.h"

#include <algorithm>

#include "wafer/engine/strip.h"

namespace tensorpress::wafer {

using engine::Operation;
using engine::OperationKind;
using engine::Send;

std::uint64_t Pe::timestamp() {
  spend(strip_.machine().timestamp);
  return now_ + strip_.clock_offset(index_);
}

void Pe::spend(std::uint64_t cycles, Stage stage) {
  strip_.spend(index_, now_, cycles, stage);
  now_ += cycles;
}

void Pe::vector_operation(std::size_t elements, unsigned reads, unsigned writes, Stage stage) {
  const Machine& machine = strip_.machine();
  const std::uint64_t bits_read = std::uint64_t{32} * elements * reads;
  const std::uint64_t bits_written = std::uint64_t{32} * elements * writes;
  const std::uint64_t reading = (bits_read + machine.read_bits - 1) / machine.read_bits;
  const std::uint64_t writing = (bits_written + machine.write_bits - 1) / machine.write_bits;
  strip_.touch_memory(bits_read, bits_written);
  spend(machine.issue + std::max(reading, writing), stage);
}

void Pe::touch_memory(std::uint64_t bits_read, std::uint64_t bits_written) {
  strip_.touch_memory(bits_read, bits_written);
}

void Pe::activate(Task task) {
  strip_.activate(index_, now_, task);
}

void Pe::send(Color color, std::uint32_t word, bool advance) {
  strip_.post(index_, Send{.ready = now_, .word = word, .advance = advance, .awaited = true},
              color);
}

void Pe::send(Color color, std::span<const std::uint32_t> words, bool advance, Task then) {
  strip_.post(index_,
              Send{.ready = now_,
                   .words = words.data(),
                   .count = static_cast<std::uint32_t>(words.size()),
                   .advance = advance,
                   .then = then},
              color);
}

void Pe::receive(Color color, std::span<std::uint32_t> to, Task then) {
  strip_.post(index_,
              Operation{.ready = now_,
                        .to = to.data(),
                        .count = static_cast<std::uint32_t>(to.size()),
                        .kind = OperationKind::store,
                        .then = then},
              color, color);
}

void Pe::receive_add(Color color, std::span<std::uint32_t> to, Task then, Arithmetic arithmetic) {
  strip_.post(index_,
              Operation{.ready = now_,
                        .to = to.data(),
                        .count = static_cast<std::uint32_t>(to.size()),
                        .kind = OperationKind::add,
                        .arithmetic = arithmetic,
                        .then = then},
              color, color);
}

void Pe::forward_add(Color in, Color out, std::span<const std::uint32_t> own, Task then,
                     Arithmetic arithmetic) {
  strip_.post(index_,
              Operation{.ready = now_,
                        .own = own.data(),
                        .count = static_cast<std::uint32_t>(own.size()),
                        .kind = OperationKind::forward,
                        .arithmetic = arithmetic,
                        .then = then},
              in, out);
}

void Pe::forward_scan(Color in, Color out, std::span<const std::uint32_t> own,
                      std::span<std::uint32_t> kept, Task then, Arithmetic arithmetic) {
  strip_.post(index_,
              Operation{.ready = now_,
                        .to = kept.data(),
                        .own = own.data(),
                        .count = static_cast<std::uint32_t>(std::min(own.size(), kept.size())),
                        .kind = OperationKind::scan,
                        .arithmetic = arithmetic,
                        .then = then},
              in, out);
}

void Pe::finish() {
  strip_.finish(index_, now_);
}

}  // namespace tensorpress::wafer
