// Ctrl-C while the library works. Python only notes a signal when it comes; its handler runs when
// the main thread is back in the interpreter, which may be minutes away. So on the main thread the
// runner that is given to the library looks for signals between two chunks. A handler that raises
// (KeyboardInterrupt, as a rule) ends the work: chunks under way are finished, no others are begun.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <cstddef>

#include "tensorpress/parallel.h"

namespace tensorpress::python {

/// Python's exception is set on the calling thread.
struct Interrupted {};

class Interruption {
 public:
  /// With the GIL held, on the thread that then calls the library without it.
  explicit Interruption(std::size_t threads);
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// For the options of one call, during which this must live. Throws Interrupted.
  Runner runner();

 private:
  using Clock = std::chrono::steady_clock;

  void run(std::size_t count, const std::function<void(std::size_t)>& task);
  void look_for_signals();

  std::size_t threads_;
  bool signals_come_here_;
  Clock::time_point next_look_;
  std::atomic<bool> stopped_ = false;
};

/// `work(runner)` without the GIL; raises what a signal's handler raised meanwhile.
template <class Work>
auto interruptible(std::size_t threads, const Work& work) {
  Interruption interruption(threads);
  try {
    const nanobind::gil_scoped_release released;
    return work(interruption.runner());
  } catch (const Interrupted&) {
    nanobind::raise_python_error();
  }
}

}  // namespace tensorpress::python
