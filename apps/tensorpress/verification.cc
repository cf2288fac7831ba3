#include "verification.h"

#include <cstdlib>
#include <limits>
#include <memory>

#include "array_files.h"
#include "base/errors.h"
#include "codecs/bounded/parameters.h"
#include "files/byte_files.h"
#include "interruption.h"
#include "messages.h"
#include "metrics/metrics.h"
#include "paths.h"
#include "progress_bar.h"
#include "stream/reader.h"

namespace tensorpress::cli {
namespace {

/// SSIM needs both tensors whole; larger ones are compared without it.
constexpr std::uint64_t kMaxBytesForSsim = std::uint64_t{64} << 20;
constexpr std::uint64_t kSsimWindow = 11;

bool wants_ssim(const Shape& shape, DType dtype) {
  const std::size_t rank = shape.rank();
  return rank >= 2 && shape[rank - 1] >= kSsimWindow && shape[rank - 2] >= kSsimWindow &&
         shape.element_count() * size_of(dtype) <= kMaxBytesForSsim;
}

Tensor empty_tensor(DType dtype, const Shape& shape) {
  return {std::vector<std::byte>(shape.element_count() * size_of(dtype)), dtype, shape};
}

/// Takes the decompressed chunks and compares each with the same region of the original.
class Comparison : public stream::TensorSink {
 public:
  explicit Comparison(stream::TensorSource& original) : original_(original) {
    if (wants_ssim(original.shape(), original.dtype())) {
      whole_original_ = empty_tensor(original.dtype(), original.shape());
      whole_copy_ = empty_tensor(original.dtype(), original.shape());
    }
  }

  /// Before the first chunk.
  Result<void> expect(const StreamInfo& info) {
    TRY(fill_values_, bounded::parse_fills(info.codec.parameter("fill")));
    return {};
  }

  Result<void> write(const Region& region, const TensorView& copy) override {
    TRY(const TensorView expected, original_.read(region, scratch_));
    TRY(const auto part, metrics::compare(expected, copy, fill_values_));
    statistics_.merge(part);
    if (whole_copy_) {
      copy_elements(expected, whole_original_->mutable_view().part(region));
      copy_elements(copy, whole_copy_->mutable_view().part(region));
    }
    return {};
  }

  const metrics::ErrorStatistics& statistics() const { return statistics_; }
  std::optional<double> ssim() const {
    const bool has_fills = !fill_values_.empty() && statistics_.nonfinite > 0;
    if (!whole_copy_ || has_fills) return std::nullopt;
    return metrics::mean_ssim(whole_original_->view(), whole_copy_->view(),
                              statistics_.value_range());
  }

 private:
  stream::TensorSource& original_;
  AlignedBuffer scratch_;
  std::vector<double> fill_values_;
  metrics::ErrorStatistics statistics_;
  std::optional<Tensor> whole_original_;
  std::optional<Tensor> whole_copy_;
};

Result<void> check_same_kind(const stream::TensorSource& original, const StreamInfo& info) {
  if (original.shape() == info.shape && original.dtype() == info.dtype) return {};
  return bad_argument("the original is ", name_of(original.dtype()), " ",
                      original.shape().to_string(), " but the stream holds ", name_of(info.dtype),
                      " ", info.shape.to_string(), "; compare it with the tensor it was made from");
}

/// Sends every chunk of the stream to the comparison.
Result<StreamInfo> read_into(const std::string& path, stream::TensorSource& original,
                             Comparison& comparison, const stream::ReadOptions& options) {
  if (is_pipe(path)) {
    const auto input = files::standard_input();
    const auto make_sink =
        [&](const StreamInfo& info) -> Result<std::unique_ptr<stream::TensorSink>> {
      RETURN_IF_ERROR(check_same_kind(original, info));
      RETURN_IF_ERROR(comparison.expect(info));
      return std::unique_ptr<stream::TensorSink>(
          std::make_unique<InterruptibleTensorSink>(comparison));
    };
    return stream::read_sequentially(*input, make_sink, options);
  }
  TRY(const auto source, files::open_bytes(path));
  TRY(const auto reader, stream::StreamReader::open(*source));
  RETURN_IF_ERROR(check_same_kind(original, reader.info()));
  RETURN_IF_ERROR(comparison.expect(reader.info()));
  InterruptibleTensorSink interruptible(comparison);
  RETURN_IF_ERROR(reader.read_all(interruptible, options));
  return reader.info();
}

/// What is wrong with the errors of a stream that promised a bound; "" when nothing is.
std::string broken_bound(const metrics::ErrorStatistics& measured, const Codec& codec) {
  const auto bound = Bound::parse(codec.parameter("bound"));
  if (!bound.ok()) return {};
  const double limit = std::strtod(std::string(codec.parameter("limit")).c_str(), nullptr);
  if (bound->kind() == Bound::Kind::pointwise_relative) {
    if (measured.max_pointwise_error <= bound->value()) return {};
    return text("an error of ", measured.max_pointwise_error, " of the value exceeds the bound ",
                bound->value());
  }
  if (!(measured.max_abs_error <= limit)) {
    return text("the error ", measured.max_abs_error, " exceeds the bound ", limit);
  }
  if (bound->kind() == Bound::Kind::psnr && measured.psnr_db() < bound->value()) {
    return text("the PSNR of ", measured.psnr_db(), " dB is below ", bound->value());
  }
  return {};
}

Verification judge(const metrics::ErrorStatistics& measured, const std::optional<double>& ssim,
                   const StreamInfo& info) {
  const std::optional<double> stored_l2_error = info.statistic("l2_error");
  Verification result;
  Json& fields = result.fields;
  fields["max_abs_error"] = measured.max_abs_error;
  fields["max_rel_error"] = measured.max_rel_error();
  if (const auto bound = info.codec.parameter("bound"); !bound.empty()) {
    fields["bound"] = bound;
    fields["limit"] = std::strtod(std::string(info.codec.parameter("limit")).c_str(), nullptr);
    if (bound.starts_with("pw-rel")) fields["max_pointwise_error"] = measured.max_pointwise_error;
  }
  fields["psnr_db"] = measured.psnr_db();
  fields["nrmse"] = measured.nrmse();
  if (ssim) fields["ssim"] = *ssim;
  fields["l2_error"] = measured.l2_error();
  fields["stored_l2_error"] = stored_l2_error ? Json(*stored_l2_error) : Json(nullptr);
  if (!stored_l2_error) {
    result.reason = "the stream stores no l2_error to check against";
  } else if (auto broken = broken_bound(measured, info.codec); !broken.empty()) {
    result.reason = std::move(broken);
  } else if (!(measured.l2_error() <= *stored_l2_error)) {
    result.reason =
        text("the L2 error ", measured.l2_error(), " exceeds the stored ", *stored_l2_error);
  } else if (measured.mismatched_nonfinite > 0) {
    result.reason =
        text(measured.mismatched_nonfinite, " NaN, infinite or fill values came back changed");
  }
  result.ok = result.reason.empty();
  fields["ok"] = result.ok;
  return result;
}

/// The variable of a NetCDF or HDF5 file that a stream says it was made from; "" if it does not.
std::string variable_of(const std::string& original, const std::string& stream_path) {
  if (is_pipe(stream_path) || files::array_format_of(original) == files::ArrayFormat::other) {
    return {};
  }
  const auto source = files::open_bytes(stream_path);
  if (!source.ok()) return {};
  const auto reader = stream::StreamReader::open(**source);
  if (!reader.ok()) return {};
  const auto notes = files::netcdf_notes(reader->info().attributes);
  return notes.ok() && *notes ? (*notes)->variable : std::string();
}

}  // namespace

Result<Verification> verify_stream(const std::string& original,
                                   const std::optional<files::RawFormat>& raw,
                                   const std::string& stream_path, std::size_t threads,
                                   const std::string& variable) {
  if (is_pipe(original) && is_pipe(stream_path)) {
    return bad_argument("the original and the stream cannot both be standard input");
  }
  RETURN_IF_ERROR(prepare_for(original));
  TRY(const auto source, about(original, files::open_tensor(original, raw, files::Access::in_order,
                                                            variable.empty() && !raw
                                                                ? variable_of(original, stream_path)
                                                                : variable)));
  Comparison comparison(*source);
  ProgressBar bar("verifying");
  stream::ReadOptions options;
  options.threads = threads;
  options.max_bytes = std::numeric_limits<std::uint64_t>::max();  // it is compared chunk by chunk
  options.progress = bar.callback();
  TRY(const StreamInfo info,
      about(stream_path, read_into(stream_path, *source, comparison, options)));
  return judge(comparison.statistics(), comparison.ssim(), info);
}

}  // namespace tensorpress::cli
