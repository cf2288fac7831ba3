#include "codecs/dense/codec.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/errors.h"
#include "codecs/bounded/bounded_codec.h"
#include "codecs/dense/interpolation/interpolation.h"
#include "codecs/dense/lorenzo/lorenzo.h"
#include "codecs/dense/lorenzo/plan.h"

namespace tensorpress::dense {
namespace {

// The first byte of what a chunk's coder wrote.
enum Predictor : std::uint8_t { kLorenzo = 0, kInterpolation = 1 };

// Choosing how to interpolate a chunk takes samples of it; smaller chunks would spend too much on
// that, larger ones leave threads without work on fields of a few megabytes.
constexpr std::uint64_t kChunkValues = std::uint64_t{1} << 19;
// Up to here both predictors are tried; beyond, samples choose.
constexpr std::uint64_t kTryBothValues = std::uint64_t{1} << 16;
// Samples lack the coarsest levels, so interpolation is estimated some percent too high.
constexpr double kLorenzoAdvantage = 0.93;
constexpr double kEndless = std::numeric_limits<double>::infinity();

// Behind the buffers of the predictors, which do not run at the same time.
constexpr std::size_t kOtherBytes = 15;

class Dense final : public bounded::TypedFieldCoder<Dense> {
 public:
  explicit Dense(Effort effort) : effort_(effort) {}

  Shape preferred_chunk_shape(const Shape& shape, DType /*dtype*/) const override {
    return chunk_shape_of(shape, effort_ == Effort::fast ? kLorenzoChunkValues : kChunkValues);
  }

 private:
  friend TypedFieldCoder;

  template <class T>
  std::optional<std::size_t> encode_as(const bounded::Field<T>& field, double bound,
                                       std::span<std::byte> output,
                                       ChunkWorkspace& workspace) const {
    const auto plan = plan_lorenzo(field, bound, LorenzoModel::standard(), workspace.isa);
    if (effort_ == Effort::fast) return by_lorenzo(field, bound, plan, output, workspace);
    const auto estimate = estimate_interpolation(field, bound, workspace);
    const double lorenzo_bits = plan ? expected_bits(*plan, field.values.size()) : kEndless;
    const bool try_both = field.values.size() <= kTryBothValues;
    if (!try_both && lorenzo_bits < kLorenzoAdvantage * estimate.bits_per_value) {
      return by_lorenzo(field, bound, plan, output, workspace);
    }
    const auto bytes = by_interpolation(field, bound, estimate.mode, output, workspace);
    const double bits =
        bytes ? 8.0 * static_cast<double>(*bytes) / static_cast<double>(field.values.size())
              : kEndless;
    // What Lorenzo takes is known better from samples than what interpolation takes.
    if (!try_both && bits <= lorenzo_bits) return bytes;
    return or_by_lorenzo(bytes, field, bound, plan, output, workspace);
  }

  // What interpolation wrote, or in its place what Lorenzo takes if that is smaller.
  template <class T>
  std::optional<std::size_t> or_by_lorenzo(std::optional<std::size_t> interpolated,
                                           const bounded::Field<T>& field, double bound,
                                           const std::optional<LorenzoPlan>& plan,
                                           std::span<std::byte> output,
                                           ChunkWorkspace& workspace) const {
    const auto other =
        workspace.buffers[kOtherBytes].reserve(interpolated ? *interpolated - 1 : output.size());
    const auto predicted = by_lorenzo(field, bound, plan, other, workspace);
    if (!predicted) return interpolated;
    std::ranges::copy(other.first(*predicted), output.begin());
    return predicted;
  }

  template <class T>
  std::optional<std::size_t> by_interpolation(const bounded::Field<T>& field, double bound,
                                              const InterpolationMode& mode,
                                              std::span<std::byte> output,
                                              ChunkWorkspace& workspace) const {
    if (output.empty()) return std::nullopt;
    output[0] = std::byte{kInterpolation};
    const auto bytes = encode_interpolation(field, bound, mode, output.subspan(1), workspace);
    return bytes ? std::optional(*bytes + 1) : std::nullopt;
  }

  template <class T>
  std::optional<std::size_t> by_lorenzo(const bounded::Field<T>& field, double bound,
                                        const std::optional<LorenzoPlan>& plan,
                                        std::span<std::byte> output,
                                        ChunkWorkspace& workspace) const {
    if (!plan || output.empty()) return std::nullopt;
    output[0] = std::byte{kLorenzo};
    const auto bytes = encode_lorenzo(field, bound, *plan, output.subspan(1), workspace);
    return bytes ? std::optional(*bytes + 1) : std::nullopt;
  }

  template <class T>
  Result<void> decode_as(std::span<const std::byte> input, const Shape& shape, double bound,
                         std::span<T> output, ChunkWorkspace& workspace) const {
    if (input.empty()) return truncated("a chunk ends before its predictor");
    const auto body = input.subspan(1);
    switch (static_cast<std::uint8_t>(input[0])) {
      case kLorenzo:
        return decode_lorenzo(body, shape, bound, output, workspace);
      case kInterpolation:
        return decode_interpolation(body, shape, bound, output, workspace);
      default:
        return corrupt("a chunk names predictor ", static_cast<int>(input[0]),
                       ", which dense does not have");
    }
  }

  Effort effort_;
};

constexpr std::array kParameters = {
    bounded::kBoundParameter, bounded::kLimitParameter, bounded::kFillParameter,
    ParameterInfo{"effort", "best", "fast|best",
                  "best: the better of two predictors for each chunk; fast: Lorenzo alone"}};

Result<std::unique_ptr<ChunkCodec>> create(std::span<const Parameter> parameters) {
  TRY(auto common, bounded::parse(parameters));
  const auto effort = std::ranges::find(parameters, "effort", &Parameter::name);
  if (effort->value != "fast" && effort->value != "best") {
    return bad_argument("effort '", effort->value, "' is not known; dense has fast and best");
  }
  return bounded::make_bounded_codec(
      make_dense(effort->value == "fast" ? Effort::fast : Effort::best), std::move(common));
}

}  // namespace

std::unique_ptr<bounded::FieldCoder> make_dense(Effort effort) {
  return std::make_unique<Dense>(effort);
}

constinit const RegisteredCodec kCodec = {
    {.name = "dense",
     .summary = "error-bounded, the default: Lorenzo or interpolation, interleaved rANS",
     .parameters = kParameters,
     .error_bounded = true},
    create};

}  // namespace tensorpress::dense
