#include "wafer/engine/crew.h"

#include <algorithm>
#include <system_error>
#include <thread>

#include "base/errors.h"

namespace tensorpress::wafer::engine {
namespace {

/// Waits while `value` is `old`: a moment in a loop, then asleep.
void wait_while(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  constexpr unsigned kSpins = 2000;
  for (unsigned spins = 0; value.load(std::memory_order_acquire) == old; ++spins) {
    if (spins > kSpins) value.wait(old, std::memory_order_acquire);
  }
}

}  // namespace

Crew::Crew(std::vector<std::unique_ptr<Strip>> strips, std::uint32_t shared_from)
    : strips_(std::move(strips)), shared_from_(shared_from), thrown_(strips_.size()) {}

Result<void> Crew::work(std::uint64_t max_cycles) {
  std::vector<std::jthread> threads;
  // Whatever is thrown from here on: threads that wait for a round would never be joined.
  struct Dismissal {
    Crew& crew;
    ~Dismissal() { crew.begin_round(kQuit); }
  } const before_joining{*this};
  for (std::size_t i = 1; i < strips_.size(); ++i) {
    try {
      threads.emplace_back([this, i] { follow(i); });
    } catch (const std::system_error&) {
      return too_large("the system gives no ", strips_.size(), " threads; ask for fewer");
    }
  }
  do_together(kStart);
  run(max_cycles);
  return {};
}

void Crew::run(std::uint64_t max_cycles) {
  for (;;) {
    hand_over();
    std::uint64_t cycle = kNever;
    for (const auto& strip : strips_) {
      cycle = std::min(cycle, strip->next());
      if (strip->failure()) return;
    }
    if (cycle == kNever) return;
    ended_ = cycle <= max_cycles;
    if (!ended_) return;
    std::size_t events = 0;
    for (const auto& strip : strips_) events += strip->events_at(cycle);
    if (strips_.size() > 1 && events >= shared_from_) {
      do_together(cycle);
    } else {
      for (const auto& strip : strips_) strip->work(cycle);
    }
  }
}

void Crew::hand_over() {
  for (std::size_t i = 0; i + 1 < strips_.size(); ++i) {
    strips_[i + 1]->take_in(strips_[i]->to_below());
    strips_[i]->to_below().clear();
    strips_[i]->take_in(strips_[i + 1]->to_above());
    strips_[i + 1]->to_above().clear();
  }
}

void Crew::begin_round(std::uint64_t what) {
  what_ = what;
  busy_.store(static_cast<std::uint32_t>(strips_.size() - 1), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
}

/// The first strip by the caller, each other by its thread. What one of them threw is thrown again
/// when all are done; of several, that of the first strip, as one thread would have it.
void Crew::do_together(std::uint64_t what) {
  begin_round(what);
  do_alone(0, what);
  for (std::uint32_t busy = busy_.load(std::memory_order_acquire); busy != 0;
       busy = busy_.load(std::memory_order_acquire)) {
    wait_while(busy_, busy);
  }
  for (const std::exception_ptr& thrown : thrown_) {
    if (thrown) std::rethrow_exception(thrown);
  }
}

void Crew::do_alone(std::size_t strip, std::uint64_t what) noexcept {
  try {
    if (what == kStart) {
      strips_[strip]->start();
    } else {
      strips_[strip]->work(what);
    }
  } catch (...) {
    thrown_[strip] = std::current_exception();
  }
}

void Crew::follow(std::size_t strip) {
  for (std::uint32_t round = 0;; ++round) {
    wait_while(round_, round);
    const std::uint64_t what = what_;
    if (what == kQuit) return;
    do_alone(strip, what);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

}  // namespace tensorpress::wafer::engine
