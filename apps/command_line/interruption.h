// Ctrl-C and SIGTERM during long work: the next write fails, so that unfinished files are cleaned
// up on the usual way out; then the signal ends the program as it would have. A second Ctrl-C ends
// it at once.
#pragma once

#include "tensorpress/streaming.h"

namespace tensorpress::cli {

/// From here on signals are noted instead of ending the program.
void note_interruptions();
/// Ends the program by the noted signal, if there was one.
void end_if_interrupted();

/// An error once a signal was noted. To be asked once more before a file is renamed: threads may
/// have written the rest of it while this one had no turn to take the signal.
Result<void> check_interruption();

/// Passes bytes on until a signal was noted.
class InterruptibleByteSink : public ByteSink {
 public:
  explicit InterruptibleByteSink(ByteSink& sink) : sink_(sink) {}
  Result<void> append(std::span<const std::byte> bytes) override;
  bool can_rewind() const override { return sink_.can_rewind(); }
  Result<void> rewind() override { return sink_.rewind(); }

 private:
  ByteSink& sink_;
};

/// Passes elements on until a signal was noted.
class InterruptibleTensorSink : public TensorSink {
 public:
  explicit InterruptibleTensorSink(TensorSink& sink) : sink_(sink) {}
  Result<void> write(const Region& region, const TensorView& elements) override;
  /// Whether an error came from here and not from where the elements come from.
  bool failed() const { return failed_; }

 private:
  TensorSink& sink_;
  bool failed_ = false;
};

}  // namespace tensorpress::cli
