// A stream beside its original, a chunk at a time: the sink that measures while others decompress.
#pragma once

#include <optional>
#include <vector>

#include "metrics/metrics.h"
#include "tensorpress/stream.h"
#include "tensorpress/streaming.h"

namespace tensorpress::metrics {

struct ComparisonOptions {
  /// SSIM needs both tensors whole: those of more than 64 MiB go without.
  bool ssim = false;
};

class StreamComparison : public TensorSink {
 public:
  explicit StreamComparison(TensorSource& original, const ComparisonOptions& options = {});

  /// Before the first chunk. A stream of another shape or dtype is an error.
  Result<void> expect(const StreamInfo& info);
  Result<void> write(const Region& region, const TensorView& copy) override;

  const ErrorStatistics& statistics() const { return statistics_; }
  /// Absent if it was not asked for, cannot be had or if there are fill values.
  std::optional<double> ssim() const;

 private:
  TensorSource& original_;
  AlignedBuffer scratch_;
  std::vector<double> fill_values_;
  ErrorStatistics statistics_;
  std::optional<Tensor> whole_original_;
  std::optional<Tensor> whole_copy_;
};

}  // namespace tensorpress::metrics
