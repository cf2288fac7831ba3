#include "codecs/dense/codec.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/errors.h"
#include "codecs/bounded/bounded_codec.h"
#include "codecs/dense/guide.h"
#include "codecs/dense/interpolation/interpolation.h"
#include "codecs/dense/lattice/folding.h"
#include "codecs/dense/lorenzo/lorenzo.h"
#include "codecs/dense/lorenzo/plan.h"
#include "codecs/dense/recurring/coding.h"
#include "codecs/dense/recurring/copies.h"
#include "codecs/dense/wavelet/trial.h"
#include "codecs/dense/wavelet/wavelet.h"
#include "codecs/registry.h"

namespace tensorpress::dense {
namespace {

// The first byte of what a chunk's coder wrote.
enum Predictor : std::uint8_t { kLorenzo = 0, kInterpolation = 1, kWavelet = 2, kRecurring = 3 };

// Choosing how to interpolate a chunk takes samples of it; smaller chunks would spend too much on
// that, larger ones leave threads without work on fields of a few megabytes.
constexpr std::uint64_t kChunkValues = std::uint64_t{1} << 19;
// Up to here both predictors are tried; beyond, samples choose.
constexpr std::uint64_t kTryBothValues = std::uint64_t{1} << 16;
// Samples lack the coarsest levels, so interpolation is estimated some percent too high.
constexpr double kLorenzoAdvantage = 0.93;
// What samples foretell of Lorenzo may be so much too high.
constexpr double kLorenzoMayWin = 0.96;
// Interpolation is taken into account where wavelets need more than this of what it is estimated
// at.
constexpr double kWaveletAdvantage = 0.9;
// Values that recur and take less than this of what others are estimated at are not tried
// otherwise.
constexpr double kPaletteAdvantage = 0.85;
constexpr double kPaletteAdvantageOverWavelets = 0.5;
// Where interpolation takes less than this of what Lorenzo takes in the first chunk of a stream, or
// the reverse, the others are not asked.
constexpr double kClearlyBetter = 0.92;
// Wavelets that take so much more in a block of the first chunk are not tried in the others.
constexpr double kLosesEverywhere = 1.02;
// How much more than the first chunk is expected to take, others like it may.
constexpr double kGuidedSlack = 1.25;
// Below so many bits a value a chunk is nearly empty.
constexpr double kNearlyEmptyBits = 0.05;
// Below so many, more than one mode of interpolation is tried, and what is estimated may be far too
// low.
constexpr double kFewBits = 0.2;
constexpr double kTrustInFew = 0.125;
constexpr std::size_t kFewBytes = 2048;  // of a chunk
// Adaptive coding takes some 50 ns a value and bit: as much as all else in chunks of so many
// values, or bits a value.
constexpr std::size_t kMostAdaptedValues = std::size_t{1} << 19;
constexpr double kMostAdaptedBits = 0.5;
constexpr double kEndless = std::numeric_limits<double>::infinity();

struct ChoiceBuffers {
  AlignedBuffer other;  // what the second predictor wrote
  AlignedBuffer wavelet, plain_wavelet, best_wavelet;
  AlignedBuffer palette, best_palette;
  AlignedBuffer copied, new_planes;
};

class Dense final : public bounded::TypedFieldCoder<Dense> {
 public:
  explicit Dense(Effort effort) : effort_(effort) {}

  Shape preferred_chunk_shape(const Shape& shape, DType /*dtype*/) const override {
    if (effort_ == Effort::fast) return chunk_shape_of(shape, kLorenzoChunkValues);
    if (const auto cubes = wavelet_chunk_shape(shape)) return *cubes;
    return chunk_shape_of(shape, kChunkValues);
  }

  bool guides() const override { return effort_ == Effort::normal; }
  std::shared_ptr<const ChunkGuide> guide(const bounded::Field<float>& first, double bound,
                                          ChunkWorkspace& workspace) const override {
    return guide_as(first, bound, workspace);
  }
  std::shared_ptr<const ChunkGuide> guide(const bounded::Field<double>& first, double bound,
                                          ChunkWorkspace& workspace) const override {
    return guide_as(first, bound, workspace);
  }

 private:
  friend TypedFieldCoder;

  template <class T>
  std::optional<std::size_t> encode_as(const bounded::Field<T>& field, double bound,
                                       std::span<std::byte> output,
                                       ChunkWorkspace& workspace) const {
    if (effort_ == Effort::fast) {
      const auto plan = plan_lorenzo(field, bound, LorenzoModel::standard(), workspace.isa);
      return by_lorenzo(field, bound, plan, output, workspace);
    }
    const auto copies = find_copies(field);
    if (!copies) return by_values(field, bound, output, workspace);
    const auto copied = by_copies(field, bound, *copies, output.size(), workspace);
    if (copied.empty()) return by_values(field, bound, output, workspace);
    // Few copies may cost more than they save: neighbours are torn apart.
    if (effort_ == Effort::best || 2 * copies->copied() < copies->planes) {
      const auto whole = by_values(field, bound, output.first(copied.size() - 1), workspace);
      if (whole) return whole;
    }
    std::ranges::copy(copied, output.begin());
    return copied.size();
  }

  // The planes that are new, and where the others come from.
  template <class T>
  std::span<const std::byte> by_copies(const bounded::Field<T>& field, double bound,
                                       const Copies& copies, std::size_t room,
                                       ChunkWorkspace& workspace) const {
    auto& buffers = workspace.memory.of<ChoiceBuffers>();
    std::vector<std::byte> head = {std::byte{kRecurring}};
    append_copies(copies, head);
    const auto to = buffers.copied.reserve(room);
    if (head.size() > room) return {};
    std::ranges::copy(head, to.begin());
    std::vector<bounded::Hole> holes;
    const auto values = buffers.new_planes.reserve_as<T>(field.values.size());
    const auto part = coded_part(field, copies, values, holes);
    const auto bytes = by_values(part, bound, to.subspan(head.size()), workspace);
    return bytes ? to.first(head.size() + *bytes) : std::span<const std::byte>();
  }

  // A chunk and what is known about it before anything is tried.
  template <class T>
  struct Chunk {
    const bounded::Field<T>& field;
    double bound;
    ChunkWorkspace& workspace;
    std::optional<LorenzoPlan> plan;
    ZeroList zeros;
    InterpolationEstimate estimate = {};

    Chunk(const bounded::Field<T>& values, double at_most, ChunkWorkspace& in)
        : field(values),
          bound(at_most),
          workspace(in),
          plan(plan_lorenzo(values, at_most, LorenzoModel::standard(), in.isa)) {}

    void find_zeros() { zeros = zeros_of(field, bound, workspace); }

    // Needed for all that follows but lorenzo_bits().
    void estimate_others() { estimate = estimate_interpolation(field, bound, zeros, workspace); }

    // Bits a value.
    double lorenzo_bits() const {
      return plan ? expected_bits(*plan, field.values.size()) : kEndless;
    }
    double others_bits() const { return std::min(lorenzo_bits(), estimate.bits_per_value); }
    bool suits_wavelets() const { return dense::suits_wavelets(field.shape, others_bits()); }
  };

  // Without copies.
  template <class T>
  std::optional<std::size_t> by_values(const bounded::Field<T>& field, double bound,
                                       std::span<std::byte> output,
                                       ChunkWorkspace& workspace) const {
    Chunk<T> chunk(field, bound, workspace);
    chunk.find_zeros();
    if (const auto guided = by_guide(chunk, output)) return guided;
    chunk.estimate_others();
    const double others_bits = chunk.others_bits();
    const double trust = others_bits < kFewBits ? kTrustInFew : 1;
    const PaletteEffort quick = {.most_bits = others_bits / trust *
                                              static_cast<double>(field.values.size())};
    const auto numbered = effort_ == Effort::best
                              ? by_best_palette(field, bound, quick, output.size(), workspace)
                              : by_palette(field, bound, quick, output.size(), workspace);
    // What wavelets take is not estimated here; it may be half of what the others do.
    const double advantage =
        chunk.suits_wavelets() ? kPaletteAdvantageOverWavelets : kPaletteAdvantage;
    const bool certain = !numbered.empty() && effort_ != Effort::best &&
                         !nearly_empty(numbered.size(), field) &&
                         bits_of(numbered.size(), field) < advantage * others_bits;
    if (!certain) {
      const auto room = numbered.empty() ? output : output.first(numbered.size() - 1);
      const auto predicted = by_predictors(chunk, room);
      if (predicted || numbered.empty()) return predicted;
    }
    std::ranges::copy(numbered, output.begin());
    return numbered.size();
  }

  // As the stream's first chunk is coded best, if this one is like it; nothing if it is not.
  template <class T>
  std::optional<std::size_t> by_guide(Chunk<T>& chunk, std::span<std::byte> output) const {
    const auto* const guide = static_cast<const Guide*>(chunk.workspace.guide);
    const bounded::Field<T>& field = chunk.field;
    if (guide == nullptr || effort_ != Effort::normal || field.mean_counts ||
        (field.has_zeros && !guide->has_zeros) || !guide->suits(chunk.lorenzo_bits())) {
      return std::nullopt;
    }
    const double most_bits = std::min(guide->most_bits(chunk.lorenzo_bits()), chunk.lorenzo_bits());
    const PaletteEffort quick = {.most_bits = most_bits * static_cast<double>(field.values.size())};
    if (!by_palette(field, chunk.bound, quick, output.size(), chunk.workspace).empty()) {
      return std::nullopt;
    }
    if (guide->way == Guide::Way::wavelet) return by_guided_wavelet(chunk, most_bits, output);
    const auto bytes = by_way_of(*guide, chunk, output);
    if (!bytes || bits_of(*bytes, field) < kFewBits || bits_of(*bytes, field) > most_bits) {
      return std::nullopt;
    }
    return bytes;
  }

  template <class T>
  std::optional<std::size_t> by_way_of(const Guide& guide, Chunk<T>& chunk,
                                       std::span<std::byte> output) const {
    if (guide.way == Guide::Way::lorenzo) {
      return by_lorenzo(chunk.field, chunk.bound, chunk.plan, output, chunk.workspace);
    }
    const InterpolationMode own = first_mode(chunk.field, chunk.bound);
    chunk.estimate.mode = guide.interpolation;
    chunk.estimate.mode.shrink = own.shrink;
    chunk.estimate.mode.level_limit = own.level_limit;
    chunk.estimate.mode.keep_zeros = own.keep_zeros && guide.interpolation.keep_zeros;
    return by_interpolation(chunk, output);
  }

  template <class T>
  std::optional<std::size_t> by_guided_wavelet(Chunk<T>& chunk, double most_bits,
                                               std::span<std::byte> output) const {
    const bounded::Field<T>& field = chunk.field;
    if (!dense::suits_wavelets(field.shape, most_bits) ||
        (field.has_zeros && field.shape.rank() == 2)) {
      return std::nullopt;
    }
    const auto mode = wavelet_mode_of(field, chunk.bound, chunk.workspace);
    const auto transformed = by_wavelet(chunk, mode, output.size());
    if (transformed.empty() || bits_of(transformed.size(), field) > most_bits) return std::nullopt;
    if (nearly_empty(transformed.size(), field)) {
      chunk.estimate_others();
      const auto others = by_others(chunk, output);
      if (others && *others <= transformed.size()) return others;
    }
    std::ranges::copy(transformed, output.begin());
    return transformed.size();
  }

  template <class T>
  std::shared_ptr<const ChunkGuide> guide_as(const bounded::Field<T>& field, double bound,
                                             ChunkWorkspace& workspace) const {
    if (field.mean_counts || field.values.size() <= kTryBothValues || find_copies(field)) {
      return nullptr;
    }
    // Without its zeros first, for listing them takes long and wavelets do not ask for them.
    Chunk<T> chunk(field, bound, workspace);
    chunk.estimate_others();
    Guide guide;
    guide.has_zeros = field.has_zeros;
    guide.lorenzo_bits = chunk.lorenzo_bits();
    guide.bits = chunk.others_bits();
    if (!(guide.lorenzo_bits < kEndless) || guide.bits < kNearlyEmptyBits) return nullptr;
    if (chunk.suits_wavelets()) {
      if (is_trial_size(field.shape)) return nullptr;
      const auto trial = try_wavelet(field, bound, chunk.estimate.mode, false, workspace);
      if (trial.says_little) return nullptr;
      if (trial.wins) {
        guide.way = Guide::Way::wavelet;
        guide.bits *= kWaveletAdvantage;
        return std::make_shared<const Guide>(guide);
      }
      if (trial.share < kLosesEverywhere) return nullptr;
    }
    if (field.has_zeros) {
      chunk.find_zeros();
      chunk.estimate_others();
    }
    guide.interpolation = chunk.estimate.mode;
    guide.bits = kGuidedSlack * chunk.others_bits();
    const double interpolated = chunk.estimate.bits_per_value;
    if (interpolated < kClearlyBetter * guide.lorenzo_bits) {
      guide.way = Guide::Way::interpolation;
    } else if (guide.lorenzo_bits < kClearlyBetter * interpolated) {
      guide.way = Guide::Way::lorenzo;
    } else {
      return nullptr;
    }
    return std::make_shared<const Guide>(guide);
  }

  // By one of the three predictors of values.
  template <class T>
  std::optional<std::size_t> by_predictors(const Chunk<T>& chunk,
                                           std::span<std::byte> output) const {
    const bounded::Field<T>& field = chunk.field;
    const bool suits_wavelets = chunk.suits_wavelets();
    const bool all_steps = effort_ == Effort::best && !field.mean_counts;
    if (suits_wavelets && !all_steps && !field.mean_counts && is_trial_size(field.shape)) {
      return by_both(chunk, output);
    }
    std::span<const std::byte> transformed;
    WaveletTrial trial;
    if (suits_wavelets && all_steps) {
      transformed = by_best_wavelet(chunk, output.size());
    } else if (suits_wavelets) {
      trial = try_wavelet(field, chunk.bound, chunk.estimate.mode, chunk.others_bits() < kFewBits,
                          chunk.workspace);
      if (trial.wins) transformed = by_wavelet(chunk, trial.mode, output.size());
    }
    // What samples foretell is a few percent off, and more for planes that have zeros.
    const bool certain = !transformed.empty() &&
                         (field.mean_counts || (effort_ != Effort::best && !trial.says_little &&
                                                !(field.has_zeros && field.shape.rank() == 2) &&
                                                !nearly_empty(transformed.size(), field) &&
                                                bits_of(transformed.size(), field) <
                                                    kWaveletAdvantage * chunk.others_bits()));
    if (!certain) {
      const auto others = by_others(chunk, output);
      if (others && suits_wavelets && !trial.wins && !all_steps && !field.mean_counts &&
          nearly_empty(*others, field)) {
        transformed = by_wavelet(chunk, trial.mode, *others);
      }
      if (others && (transformed.empty() || *others <= transformed.size())) return others;
    }
    if (transformed.empty()) return std::nullopt;
    std::ranges::copy(transformed, output.begin());
    return transformed.size();
  }

  // Of a chunk so small that a trial would cost as much.
  template <class T>
  std::optional<std::size_t> by_both(const Chunk<T>& chunk, std::span<std::byte> output) const {
    const auto others = by_others(chunk, output);
    auto& buffers = chunk.workspace.memory.template of<ChoiceBuffers>();
    const auto whole = buffers.wavelet.reserve(output.size());
    const auto coded = code_wavelet(chunk, WaveletMode(), whole);
    if (!coded) return others;
    const WaveletMode mode = mode_after(*coded, chunk.field.values.size(), others);
    const std::size_t room = others ? *others - 1 : output.size();
    const auto transformed = mode.step == WaveletMode().step
                                 ? or_without_weights(chunk, mode, whole.first(coded->bytes))
                                 : by_wavelet(chunk, mode, room);
    if (transformed.empty() || transformed.size() > room) return others;
    std::ranges::copy(transformed, output.begin());
    return transformed.size();
  }

  template <class T>
  static double bits_of(std::size_t bytes, const bounded::Field<T>& field) {
    return 8.0 * static_cast<double>(bytes) / static_cast<double>(field.values.size());
  }

  // Samples say little about a chunk that takes so few bits: all ways are tried.
  template <class T>
  static bool nearly_empty(std::size_t bytes, const bounded::Field<T>& field) {
    return bits_of(bytes, field) < kNearlyEmptyBits;
  }

  // What takes longer need not be smaller.
  template <class T>
  static std::span<const std::byte> by_best_palette(const bounded::Field<T>& field, double bound,
                                                    const PaletteEffort& quick, std::size_t room,
                                                    ChunkWorkspace& workspace) {
    const auto thorough = by_palette(field, bound, {.thorough = true}, room, workspace);
    auto& buffers = workspace.memory.of<ChoiceBuffers>();
    std::swap(buffers.palette, buffers.best_palette);
    const std::size_t left = thorough.empty() ? room : thorough.size() - 1;
    const auto other = by_palette(field, bound, quick, left, workspace);
    return other.empty() ? thorough : other;
  }

  // Nothing where values do not recur.
  template <class T>
  static std::span<const std::byte> by_palette(const bounded::Field<T>& field, double bound,
                                               const PaletteEffort& effort, std::size_t room,
                                               ChunkWorkspace& workspace) {
    const auto to = workspace.memory.of<ChoiceBuffers>().palette.reserve(room);
    if (to.empty()) return {};
    to[0] = std::byte{kRecurring};
    const auto bytes = encode_palette(field, bound, effort, to.subspan(1), workspace);
    return bytes ? to.first(*bytes + 1) : std::span<const std::byte>();
  }

  template <class T>
  std::span<const std::byte> by_best_wavelet(const Chunk<T>& chunk, std::size_t room) const {
    auto& buffers = chunk.workspace.memory.template of<ChoiceBuffers>();
    std::span<const std::byte> best;
    WaveletMode mode;
    for (const std::uint8_t step : kWaveletSteps) {
      const auto bytes = by_wavelet(chunk, {.step = step}, room);
      if (bytes.empty() || (!best.empty() && bytes.size() >= best.size())) continue;
      std::swap(buffers.wavelet, buffers.best_wavelet);
      best = bytes;
      mode.step = step;
    }
    if (best.empty() || !may_adapt(best.size(), chunk.field)) return best;
    mode.rare = 0;
    const auto bytes = by_wavelet(chunk, mode, best.size() - 1);
    return bytes.empty() ? best : bytes;
  }

  // Whether adaptive coding of any density may be tried: it takes long.
  template <class T>
  static bool may_adapt(std::size_t bytes, const bounded::Field<T>& field) {
    return field.values.size() <= kMostAdaptedValues || bits_of(bytes, field) < kMostAdaptedBits;
  }

  template <class T>
  std::span<const std::byte> by_wavelet(const Chunk<T>& chunk, const WaveletMode& mode,
                                        std::size_t room) const {
    const auto to = chunk.workspace.memory.template of<ChoiceBuffers>().wavelet.reserve(room);
    const auto coded = code_wavelet(chunk, mode, to);
    return coded ? or_without_weights(chunk, mode, to.first(coded->bytes))
                 : std::span<const std::byte>();
  }

  // Weights of its own take as much as they save where a chunk takes little.
  template <class T>
  static std::span<const std::byte> or_without_weights(const Chunk<T>& chunk, WaveletMode mode,
                                                       std::span<const std::byte> coded) {
    if (coded.size() > kFewBytes) return coded;
    auto& buffers = chunk.workspace.memory.template of<ChoiceBuffers>();
    mode.fit_weights = false;
    const auto to = buffers.plain_wavelet.reserve(coded.size() - 1);
    const auto plain = code_wavelet(chunk, mode, to);
    if (!plain) return coded;
    std::swap(buffers.wavelet, buffers.plain_wavelet);
    return to.first(plain->bytes);
  }

  template <class T>
  static std::optional<WaveletCoded> code_wavelet(const Chunk<T>& chunk, const WaveletMode& mode,
                                                  std::span<std::byte> output) {
    if (output.empty()) return std::nullopt;
    output[0] = std::byte{kWavelet};
    auto coded = encode_wavelet(chunk.field, chunk.bound, mode, chunk.zeros, output.subspan(1),
                                chunk.workspace);
    if (coded) coded->bytes += 1;
    return coded;
  }

  template <class T>
  std::optional<std::size_t> by_others(const Chunk<T>& chunk, std::span<std::byte> output) const {
    const bounded::Field<T>& field = chunk.field;
    const double lorenzo_bits = chunk.lorenzo_bits();
    const bool try_both = effort_ == Effort::best || field.values.size() <= kTryBothValues;
    if (!try_both && lorenzo_bits < kLorenzoAdvantage * chunk.estimate.bits_per_value) {
      const auto bytes = by_lorenzo(field, chunk.bound, chunk.plan, output, chunk.workspace);
      if (!bytes || bits_of(*bytes, field) >= kFewBits) return bytes;
    }
    const auto bytes = by_interpolation(chunk, output);
    const double bits = bytes ? bits_of(*bytes, field) : kEndless;
    // What Lorenzo takes is known better from samples than what interpolation takes.
    if (!try_both && bits <= kLorenzoMayWin * lorenzo_bits && bits >= kFewBits) return bytes;
    return or_by_lorenzo(bytes, chunk, output);
  }

  // What interpolation wrote, or in its place what Lorenzo takes if that is smaller.
  template <class T>
  std::optional<std::size_t> or_by_lorenzo(std::optional<std::size_t> interpolated,
                                           const Chunk<T>& chunk,
                                           std::span<std::byte> output) const {
    const auto other = chunk.workspace.memory.template of<ChoiceBuffers>().other.reserve(
        interpolated ? *interpolated - 1 : output.size());
    const auto predicted = by_lorenzo(chunk.field, chunk.bound, chunk.plan, other, chunk.workspace);
    if (!predicted) return interpolated;
    std::ranges::copy(other.first(*predicted), output.begin());
    return predicted;
  }

  template <class T>
  std::optional<std::size_t> by_interpolation(const Chunk<T>& chunk,
                                              std::span<std::byte> output) const {
    if (output.empty()) return std::nullopt;
    output[0] = std::byte{kInterpolation};
    const auto bytes = encode_interpolation(chunk.field, chunk.bound, chunk.estimate.mode,
                                            chunk.zeros, output.subspan(1), chunk.workspace);
    if (!bytes) return std::nullopt;
    std::size_t least = *bytes;
    const auto try_mode = [&](const InterpolationMode& mode) {
      const auto other =
          chunk.workspace.memory.template of<ChoiceBuffers>().other.reserve(least - 1);
      const auto coded =
          encode_interpolation(chunk.field, chunk.bound, mode, chunk.zeros, other, chunk.workspace);
      if (!coded) return;
      std::ranges::copy(other.first(*coded), output.begin() + 1);
      least = *coded;
    };
    InterpolationMode mode = chunk.estimate.mode;
    if (bits_of(least, chunk.field) < kFewBits) {
      try_mode(along_all_axes(mode, chunk.field));
      if (chunk.field.has_zeros) {
        mode.keep_zeros = !mode.keep_zeros;
        try_mode(mode);
        mode.keep_zeros = !mode.keep_zeros;
      }
    }
    if (effort_ == Effort::best && may_adapt(least, chunk.field)) {
      mode.rare = 0;
      try_mode(mode);
    }
    return least + 1;
  }

  // The simplest mode, which samples underestimate where little is coded.
  template <class T>
  static InterpolationMode along_all_axes(const InterpolationMode& from,
                                          const bounded::Field<T>& field) {
    const Extents extents = fold(field.shape).extents;
    InterpolationMode mode;
    for (std::size_t axis = 0; axis < 3; ++axis) mode.along[axis] = extents[axis] > 1;
    mode.level_limit = from.level_limit;
    mode.shrink = from.shrink;
    mode.raise = from.raise;
    return mode;
  }

  template <class T>
  static std::optional<std::size_t> by_lorenzo(const bounded::Field<T>& field, double bound,
                                               const std::optional<LorenzoPlan>& plan,
                                               std::span<std::byte> output,
                                               ChunkWorkspace& workspace) {
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
      case kWavelet:
        return decode_wavelet(body, shape, bound, output, workspace);
      case kRecurring:
        if (has_copies(body)) return decode_copies(body, shape, bound, output, workspace);
        return decode_palette(body, output, workspace);
      default:
        return corrupt("a chunk names predictor ", static_cast<int>(input[0]),
                       ", which dense does not have");
    }
  }

  template <class T>
  Result<void> decode_copies(std::span<const std::byte> input, const Shape& shape, double bound,
                             std::span<T> output, ChunkWorkspace& workspace) const {
    ByteReader reader(input);
    TRY(const auto copies, read_copies(reader, shape));
    TRY(const auto coded, reader.take(reader.remaining()));
    if (coded.size() > 1 && coded[0] == std::byte{kRecurring} && has_copies(coded.subspan(1))) {
      return corrupt("a chunk has copies within copies");
    }
    const std::size_t new_values = (copies.planes - copies.copied()) * copies.unit;
    RETURN_IF_ERROR(
        decode_as(coded, copies.coded_shape(shape), bound, output.first(new_values), workspace));
    put_copies(copies, output);
    return {};
  }

  Effort effort_;
};

constexpr std::array kParameters = {
    bounded::kBoundParameter, bounded::kLimitParameter, bounded::kFillParameter,
    ParameterInfo{"effort", "normal", "fast|normal|best",
                  "fast: Lorenzo alone; normal: samples choose among four predictors for each "
                  "chunk; best: all are tried"}};

constexpr std::array kHdf5Parameters = {
    PackedParameter{"effort", 0, 3, {"normal", "fast", "best"}}};

constexpr std::pair<std::string_view, Effort> kEfforts[] = {
    {"fast", Effort::fast}, {"normal", Effort::normal}, {"best", Effort::best}};

Result<std::unique_ptr<ChunkCodec>> create(std::span<const Parameter> parameters) {
  TRY(auto common, bounded::parse(parameters));
  const auto given = std::ranges::find(parameters, "effort", &Parameter::name);
  for (const auto& [name, effort] : kEfforts) {
    if (given->value == name)
      return bounded::make_bounded_codec(make_dense(effort), std::move(common));
  }
  return bad_argument("effort '", given->value, "' is not known; dense has fast, normal and best");
}

}  // namespace

std::unique_ptr<bounded::FieldCoder> make_dense(Effort effort) {
  return std::make_unique<Dense>(effort);
}

extern constinit const RegisteredCodec kCodec = {
    {.name = "dense",
     .summary = "error-bounded, the default: Lorenzo, interpolation, wavelets or a palette, rANS",
     .parameters = kParameters,
     .error_bounded = true},
    create,
    nullptr,
    {.number = 1, .parameters = kHdf5Parameters}};

}  // namespace tensorpress::dense
