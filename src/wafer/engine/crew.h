// Strips side by side: all work on the same cycle, then what crosses their borders is handed over,
// then all go on to the earliest cycle at which anything happens anywhere. Cycles with much to do
// are shared among threads; the others are done by one, because waiting for each other would take
// longer, and very much longer where other programs have the cores. What happens is the same.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <vector>

#include "tensorpress/result.h"
#include "wafer/engine/strip.h"

namespace tensorpress::wafer::engine {

class Crew {
 public:
  /// Cycles with at least `shared_from` events are shared among as many threads as there are
  /// strips.
  Crew(std::vector<std::unique_ptr<Strip>> strips, std::uint32_t shared_from);

  /// Until nothing happens any more, a strip fails, or a cycle beyond `max_cycles` comes. What
  /// programs throw, and what a lack of memory throws, on whatever thread, is thrown here when all
  /// threads have ended.
  Result<void> work(std::uint64_t max_cycles);

  const std::vector<std::unique_ptr<Strip>>& strips() const { return strips_; }
  /// It was stopped before `max_cycles`.
  bool ended() const { return ended_; }

 private:
  enum : std::uint64_t { kStart = kNever - 1, kQuit = kNever - 2 };  // instead of a cycle

  void run(std::uint64_t max_cycles);
  void begin_round(std::uint64_t what);
  void do_together(std::uint64_t what);
  void do_alone(std::size_t strip, std::uint64_t what) noexcept;
  void follow(std::size_t strip);
  void hand_over();

  std::vector<std::unique_ptr<Strip>> strips_;
  std::uint32_t shared_from_;
  bool ended_ = true;
  std::vector<std::exception_ptr> thrown_;  // by strip
  std::uint64_t what_ = 0;                  // to do in this round
  std::atomic<std::uint32_t> round_{0};
  std::atomic<std::uint32_t> busy_{0};
};

}  // namespace tensorpress::wafer::engine
