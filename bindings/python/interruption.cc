#include "interruption.h"

#include <thread>

namespace nb = nanobind;

namespace tensorpress::python {
namespace {

// Half of the tenth of a second that people notice; the other half is for the chunks under way.
// Looking takes the GIL, for which others may have to be waited for: not too often.
constexpr std::chrono::milliseconds kBetweenLooks(50);

/// Handlers run on Python's main thread only.
bool is_main_thread() {
  const nb::module_ threading = nb::module_::import_("threading");
  return threading.attr("get_ident")().equal(threading.attr("main_thread")().attr("ident"));
}

}  // namespace

Interruption::Interruption(std::size_t threads)
    : threads_(threads),
      signals_come_here_(is_main_thread()),
      next_look_(Clock::now() + kBetweenLooks) {}

Runner Interruption::runner() {
  return
      [this](std::size_t count, const std::function<void(std::size_t)>& task) { run(count, task); };
}

void Interruption::run(std::size_t count, const std::function<void(std::size_t)>& task) {
  const std::thread::id caller = std::this_thread::get_id();
  thread_runner(threads_)(count, [&](std::size_t i) {
    if (std::this_thread::get_id() == caller) look_for_signals();
    if (!stopped_) task(i);
  });
  if (stopped_) throw Interrupted();
}

void Interruption::look_for_signals() {
  if (!signals_come_here_ || stopped_ || Clock::now() < next_look_) return;
  const nb::gil_scoped_acquire held;
  if (PyErr_CheckSignals() != 0) stopped_ = true;
  next_look_ = Clock::now() + kBetweenLooks;
}

}  // namespace tensorpress::python
