#include "metrics/stream_comparison.h"

#include "base/errors.h"

namespace tensorpress::metrics {
namespace {

constexpr std::uint64_t kMaxBytesForSsim = std::uint64_t{64} << 20;

bool has_ssim(const Shape& shape, DType dtype) {
  const std::size_t rank = shape.rank();
  return rank >= 2 && shape[rank - 1] >= kSsimWindow && shape[rank - 2] >= kSsimWindow &&
         shape.element_count() * size_of(dtype) <= kMaxBytesForSsim;
}

Tensor empty_tensor(DType dtype, const Shape& shape) {
  return {std::vector<std::byte>(shape.element_count() * size_of(dtype)), dtype, shape};
}

}  // namespace

StreamComparison::StreamComparison(TensorSource& original, const ComparisonOptions& options)
    : original_(original) {
  if (options.ssim && has_ssim(original.shape(), original.dtype())) {
    whole_original_ = empty_tensor(original.dtype(), original.shape());
    whole_copy_ = empty_tensor(original.dtype(), original.shape());
  }
}

Result<void> StreamComparison::expect(const StreamInfo& info) {
  if (original_.shape() != info.shape || original_.dtype() != info.dtype) {
    return bad_argument("the original is ", name_of(original_.dtype()), " ",
                        original_.shape().to_string(), " but the stream holds ",
                        name_of(info.dtype), " ", info.shape.to_string(),
                        "; compare it with the tensor it was made from");
  }
  if (const auto& kept = info.codec.kept_bound()) fill_values_ = kept->fill_values;
  return {};
}

Result<void> StreamComparison::write(const Region& region, const TensorView& copy) {
  TRY(const TensorView expected, original_.read(region, scratch_));
  TRY(const auto part, compare(expected, copy, fill_values_));
  statistics_.merge(part);
  if (whole_copy_) {
    copy_elements(expected, whole_original_->mutable_view().part(region));
    copy_elements(copy, whole_copy_->mutable_view().part(region));
  }
  return {};
}

std::optional<double> StreamComparison::ssim() const {
  const bool has_fills = !fill_values_.empty() && statistics_.nonfinite > 0;
  if (!whole_copy_ || has_fills) return std::nullopt;
  return mean_ssim(whole_original_->view(), whole_copy_->view(), statistics_.value_range());
}

}  // namespace tensorpress::metrics
