// What one processing element runs: tasks, activated by other tasks, by wavelets or by vector
// operations that are done. The shape is that of CSL: a task runs to its end; operations with the
// fabric go on beside it, an element a cycle, and activate a task when they are done.
//
//   class Sum : public wafer::PeProgram {             // adds its number to what comes from the
//   east
//     void start(wafer::Pe& pe) override { pe.forward_add(kIn, kOut, own_, kDone); }
//     void on_task(wafer::Pe& pe, wafer::Task task) override { pe.finish(); }
//     ...
//   };
//
// A program is used by one thread at a time and shares nothing with others. What it keeps in
// members is its memory: it says in memory() how much of the PE's 48 KB that is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tensorpress/wafer/fabric.h"

namespace tensorpress::wafer {

/// A program's name for one of its tasks, or for a stage of its work.
using Task = std::uint8_t;
inline constexpr Task kNoTask = 255;
using Stage = std::uint8_t;
inline constexpr unsigned kStages = 16;

struct MemoryItem {
  std::string_view name;  // a literal
  std::size_t bytes = 0;
};

enum class Arithmetic : std::uint8_t { u32, f32 };

namespace engine {
class Strip;
}

/// A processing element as its program sees it during a task.
class Pe {
 public:
  PeAt at() const { return at_; }

  /// Cycles since the wafer was started, as this task stands. Hardware has no such clock.
  std::uint64_t now() const { return now_; }
  /// The PE's own counter, which started when it pleased; reading it takes cycles.
  std::uint64_t timestamp();

  /// Works for so many cycles, which count for `stage`.
  void spend(std::uint64_t cycles, Stage stage = 0);
  /// A vector operation on memory: elements of 32 bits, each reading `reads` and writing `writes`
  /// operands through the PE's memory ports (128 bits read, 64 bits written a cycle), after one
  /// cycle to issue it.
  void vector_operation(std::size_t elements, unsigned reads, unsigned writes, Stage stage = 0);
  /// Time that stands for `bits` read and written, without taking any: for occupancy.
  void touch_memory(std::uint64_t bits_read, std::uint64_t bits_written);

  void activate(Task task);

  /// Sends one wavelet; the next task waits until the output queue has taken it.
  void send(Color color, std::uint32_t word, bool advance = false);
  /// Sends `words` from memory, an element a cycle, beside what follows; they must live until then.
  /// `advance` marks the last one. Then `then` is activated.
  void send(Color color, std::span<const std::uint32_t> words, bool advance = false,
            Task then = kNoTask);

  /// Receives to.size() words into memory, then activates `then`. At most one operation waits for
  /// a color; a second one begins when the first is done.
  void receive(Color color, std::span<std::uint32_t> to, Task then);
  /// to[i] += what comes.
  void receive_add(Color color, std::span<std::uint32_t> to, Task then,
                   Arithmetic arithmetic = Arithmetic::u32);
  /// Sends own[i] + what comes, each a cycle to issue and a cycle to add after it came.
  void forward_add(Color in, Color out, std::span<const std::uint32_t> own, Task then,
                   Arithmetic arithmetic = Arithmetic::u32);
  /// kept[i] = what comes; own[i] + what comes is sent on: a link of an exclusive scan.
  void forward_scan(Color in, Color out, std::span<const std::uint32_t> own,
                    std::span<std::uint32_t> kept, Task then,
                    Arithmetic arithmetic = Arithmetic::u32);

  /// Notes that the program's work is done now; of several calls the last counts.
  void finish();

 private:
  friend class engine::Strip;
  Pe(engine::Strip& strip, std::uint32_t index, PeAt at, std::uint64_t now)
      : strip_(strip), index_(index), at_(at), now_(now) {}

  engine::Strip& strip_;
  std::uint32_t index_;
  PeAt at_;
  std::uint64_t now_;
};

class PeProgram {
 public:
  virtual ~PeProgram() = default;

  /// What it takes of the 48 KB: code, tables, buffers. Asked once, when it is placed.
  virtual std::vector<MemoryItem> memory() const { return {}; }
  /// Runs at cycle 0.
  virtual void start(Pe& pe) = 0;
  virtual void on_task(Pe& /*pe*/, Task /*task*/) {}
  /// A wavelet came whose color no receive operation waits for; only for colors in data_tasks().
  virtual void on_wavelet(Pe& /*pe*/, Color /*color*/, std::uint32_t /*word*/) {}
  /// Bit c set: wavelets of color c activate on_wavelet.
  virtual std::uint32_t data_tasks() const { return 0; }
};

}  // namespace tensorpress::wafer
