#include "command_line/interruption.h"

#include <csignal>

#include "base/errors.h"

namespace tensorpress::cli {
namespace {

volatile std::sig_atomic_t noted_signal = 0;

void note_signal(int signal) {
  noted_signal = signal;
}

}  // namespace

Result<void> check_interruption() {
  if (noted_signal != 0) return io_error("interrupted");
  return {};
}

void note_interruptions() {
  struct sigaction action = {};
  action.sa_handler = note_signal;
  // A second signal meets the default and ends the program.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

void end_if_interrupted() {
  if (noted_signal == 0) return;
  std::signal(noted_signal, SIG_DFL);
  std::raise(noted_signal);
}

Result<void> InterruptibleByteSink::append(std::span<const std::byte> bytes) {
  RETURN_IF_ERROR(check_interruption());
  return sink_.append(bytes);
}

Result<void> InterruptibleTensorSink::write(const Region& region, const TensorView& elements) {
  auto done = check_interruption();
  if (done.ok()) done = sink_.write(region, elements);
  failed_ = !done.ok();
  return done;
}

}  // namespace tensorpress::cli
