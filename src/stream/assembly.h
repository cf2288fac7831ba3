// A stream as it is put together: what stands before the chunks, their records in order, and what
// stands behind them.
#pragma once

#include "stream/bounds/limit_search.h"
#include "stream/bounds/trial.h"
#include "stream/plan.h"
#include "tensorpress/streaming.h"

namespace tensorpress::stream {

class StreamAssembly {
 public:
  /// What is passed by reference must outlive this.
  StreamAssembly(const StreamPlan& plan, ByteSink& sink, const CompressOptions& options)
      : plan_(plan), sink_(sink), options_(options), totals_(plan.opening.size()) {}

  Result<void> begin() { return sink_.append(plan_.opening); }
  /// A complete record; chunks come in ascending order.
  Result<void> append(std::uint64_t number, const CompressedChunk& chunk,
                      std::span<const std::byte> record);
  Result<StreamInfo> finish();

  /// What was written, for those who look for a limit.
  Outcome outcome(const StreamInfo& info) const;

 private:
  const StreamPlan& plan_;
  ByteSink& sink_;
  const CompressOptions& options_;
  StreamTotals totals_;
  Trial tried_;
  std::uint64_t elements_done_ = 0;
};

}  // namespace tensorpress::stream
