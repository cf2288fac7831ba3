#include <algorithm>
#include <cmath>
#include <limits>

#include "codecs/dense/adaptive/zero_flags.h"
#include "codecs/dense/lattice/exact.h"
#include "codecs/dense/lattice/folding.h"
#include "codecs/dense/wavelet/band_rows.h"
#include "codecs/dense/wavelet/coded_rows.h"
#include "codecs/dense/wavelet/header.h"
#include "codecs/dense/wavelet/lanes.h"
#include "codecs/dense/wavelet/wavelet.h"
#include "kernels/coefficients/coefficients.h"

namespace tensorpress::dense {
namespace {

constexpr double kMostCorrection = 0x1p20;
// Corrections where none were expected are stored as they are; with more of them, all places are
// coded.
constexpr std::size_t kMostSurprises = 16;
// Longer lists of zeros are replaced by flags.
constexpr std::size_t kShortList = 40;
constexpr std::size_t kFlagsHead = 4;  // bytes that say that they follow
// Where a list of zeros takes more than a byte for so many values, they are kept by a rule instead.
constexpr std::size_t kValuesAZeroByte = 800;
// Mean magnitudes in contexts stay below this.
constexpr double kMeanMagnitude = 24;

// The bits that a quantum costs more than the next smaller one, by class, in sixteenths: from
// log2(1 + 1 / m) with m in the middle of the class.
constexpr std::array<std::uint8_t, kernels::kScaleClasses> kBitsOfOneMore = {
    160, 124, 116, 108, 100, 92, 84, 77, 69, 61, 54, 46, 40, 33, 27, 22,
    18,  14,  11,  8,   6,   4,  3,  2,  2,  1,  1,  1,  0,  0,  0,  0};

template <class T>
class WaveletEncoder {
 public:
  WaveletEncoder(const Extents& extents, const Pyramid::Axes& axes, double bound,
                 const WaveletMode& mode, ChunkWorkspace& workspace)
      : mode_(mode),
        bound_(bound),
        steps_(bound, mode.step),
        pyramid_(extents, mode.filter, mode.ends, axes),
        workspace_(workspace),
        shared_(workspace.memory.of<PredictorBuffers>()),
        buffers_(workspace.memory.of<WaveletBuffers>()),
        contexts_(shared_.contexts, pyramid_),
        kernels_(kernels::coefficient_kernels<T>(workspace.isa)) {
    header_.filter = mode.filter;
    header_.ends = mode.ends;
    header_.step = mode.step;
  }

  /// `filled` has values in holes, `originals` NaN.
  bool run(std::span<const T> filled, std::span<const T> originals, const ZeroList& zeros) {
    if (pyramid_.levels() == 0) return false;
    if (!place(filled)) return false;
    if (!zeros.runs.empty()) originals = keep_zeros(originals, zeros);
    scan_bands();
    if (mode_.fit_weights) fit_band_weights();
    quantize();
    find_corrections(originals);
    if (outliers_.size() > originals.size() / 8 + 1) return false;
    code_corrections(originals);
    if (zeros_flagged_) find_zero_flags(originals);
    return true;
  }

  std::size_t corrections() const { return corrected_; }

  std::optional<std::size_t> write(std::span<std::byte> output) {
    header_.outliers = !outliers_.empty();
    header_.zeros = !zeros_.runs.empty();
    header_.own_weights = header_.weights != standard_context_weights();
    std::vector<std::byte> tables, bytes;
    if (!header_.is_adaptive()) {
      const std::uint64_t cost = rows_->choose_tables(header_, tables, workspace_.isa);
      header_.vectors = vectors_for(rows_->groups(), cost);
    }
    write_header(header_, bytes);
    bytes.insert(bytes.end(), tables.begin(), tables.end());
    if (header_.outliers) append_outliers(outliers_, bytes);
    if (zeros_flagged_ && zero_flags_.size() + kFlagsHead < bytes_of(zeros_)) {
      append_zero_flags(zero_flags_, bytes);
    } else if (header_.zeros) {
      append_zeros(zeros_, bytes);
    }
    if (header_.is_adaptive()) {
      BitEncoder coder;
      rows_->write_adaptive(coder);
      const std::vector<std::byte>& bits = coder.finish();
      bytes.insert(bytes.end(), bits.begin(), bits.end());
    }
    if (bytes.size() > output.size()) return std::nullopt;
    std::ranges::copy(bytes, output.begin());
    if (header_.is_adaptive()) return bytes.size();
    const auto words = rows_->write(header_.vectors, output.subspan(bytes.size()), workspace_.isa);
    return words ? std::optional(bytes.size() + *words) : std::nullopt;
  }

 private:
  std::span<T> scratch() { return buffers_.scratch.reserve_as<T>(pyramid_.scratch_elements()); }

  // By a list where that is short, else by flags of what comes out as nearly zero, and by a rule
  // where such values are everywhere. Returns the values to aim for: what is on the list is zero.
  std::span<const T> keep_zeros(std::span<const T> originals, const ZeroList& zeros) {
    const std::size_t bytes = bytes_of(zeros);
    header_.snap = bytes > originals.size() / kValuesAZeroByte + kShortList;
    zeros_flagged_ = !header_.snap && bytes > kShortList;
    if (header_.snap) return originals;
    zeros_ = zeros;
    if (zeros_flagged_) return originals;
    const auto aims = buffers_.aims.reserve_as<T>(originals.size());
    std::ranges::copy(originals, aims.begin());
    set_zeros(zeros_, aims);
    return aims;
  }

  // The chunk around zero, at level 0 of the pyramid, and its coefficients.
  bool place(std::span<const T> values) {
    // About the mean.
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < values.size(); i += 7, ++count) {
      sum += static_cast<double>(values[i]);
    }
    const double offset = sum / count / static_cast<double>(steps_.coefficient);
    if (!(std::fabs(offset) < 0x1p52)) return false;
    header_.offset = static_cast<std::int64_t>(offset);
    offset_ = static_cast<T>(header_.offset) * steps_.coefficient;
    memory_ = shared_.values.reserve_as<T>(pyramid_.elements());
    pyramid_.clear_margins(memory_.data());
    const WaveletLevel& finest = pyramid_.level(0);
    const T* from = values.data();
    for (std::size_t z = 0; z < finest.size[0]; ++z) {
      for (std::size_t y = 0; y < finest.size[1]; ++y, from += finest.size[2]) {
        T* const to = memory_.data() + finest.place(z, y, 0);
        for (std::size_t x = 0; x < finest.size[2]; ++x) to[x] = from[x] - offset_;
      }
    }
    pyramid_.analyze(memory_.data(), scratch().data(), workspace_.isa);
    return true;
  }

  T* row_of(const WaveletBand& band, std::size_t z, std::size_t y) {
    return memory_.data() +
           pyramid_.level(band.level).place(band.from[0] + z, band.from[1] + y, band.from[2]);
  }

  // Which bands are empty, and how large magnitudes are.
  void scan_bands() {
    std::array<double, kBandGroups> sums{}, counts{};
    const double inverse = 1 / static_cast<double>(steps_.coefficient);
    const T least = steps_.coefficient / 2;
    padded_ = 0;
    for (int level = 0; level < pyramid_.levels(); ++level) {
      for (const unsigned which : Pyramid::kOrder) {
        WaveletBand band;
        if (!pyramid_.band(level, which, band)) continue;
        T most = 0;
        double total = 0;
        first_peak_[number_of(band)] = peaks_.size();
        for (std::size_t z = 0; z < band.size[0]; ++z) {
          for (std::size_t y = 0; y < band.size[1]; ++y) {
            const auto row = kernels_.measure(row_of(band, z, y), band.size[2]);
            peaks_.push_back(row.largest);
            most = std::max(most, row.largest);
            total += static_cast<double>(row.sum);
          }
        }
        const std::size_t rows = band.size[0] * band.size[1];
        padded_ += rows * padded_count(band.size[2]);
        if (most < least) header_.empty |= std::uint64_t{1} << number_of(band);
        sums[group_of(band)] += total * inverse;
        counts[group_of(band)] += static_cast<double>(rows * band.size[2]);
      }
    }
    const Extents& coarsest = pyramid_.level(pyramid_.levels()).size;
    padded_ += coarsest[0] * coarsest[1] * padded_count(coarsest[2]);
    for (std::size_t group = 0; group < kBandGroups; ++group) {
      double mean = counts[group] > 0 ? sums[group] / counts[group] : 0;
      for (; mean > kMeanMagnitude && header_.shift[group] < 24; mean /= 2) ++header_.shift[group];
    }
  }

  // True if all of a row's quanta are zero, whatever its classes are.
  bool is_tiny(const WaveletBand& band, const BandRow& row) const {
    const T peak = peaks_[first_peak_[number_of(band)] + row.z * band.size[1] + row.y];
    return peak * (1 / steps_.coefficient) < static_cast<T>(0.49);
  }

  void fit_band_weights() {
    WeightFit fit(workspace_.isa);
    std::array<std::size_t, kBandGroups> period{}, seen{};
    std::array<std::size_t, kBandGroups> sizes{};
    for (int level = 0; level < pyramid_.levels(); ++level) {
      for (const unsigned which : Pyramid::kOrder) {
        WaveletBand band;
        if (!pyramid_.band(level, which, band) || header_.is_empty(band)) continue;
        sizes[group_of(band)] += band.size[0] * band.size[1] * band.size[2];
      }
    }
    for (std::size_t g = 0; g < kBandGroups; ++g) period[g] = sizes[g] / mode_.fit_samples + 1;
    const T inverse = 1 / steps_.coefficient;
    BandRows rows(pyramid_, contexts_, workspace_.isa);
    rows.for_each([&](const WaveletBand& band) { return header_.is_empty(band); },
                  [&](const WaveletBand& band, const BandRow& row) {
                    if (band.which == 0) return RowResult::zeros;
                    const bool tiny = is_tiny(band, row);
                    std::size_t& at = seen[row.group];
                    if (!tiny) {
                      kernels_.magnitudes(row_of(band, row.z, row.y), row.count, inverse,
                                          header_.shift[row.group], row.magnitudes);
                    }
                    for (; at < row.count; at += period[row.group]) {
                      if (tiny && row.is_quiet) {
                        fit.add_nothing(row.group);
                      } else {
                        fit.add(row.group, features_of(row, at),
                                tiny ? std::uint16_t{0} : row.magnitudes[at]);
                      }
                    }
                    at -= row.count;
                    return tiny ? RowResult::zeros : RowResult::some;
                  });
    header_.weights = fit.fitted();
  }

  // Quanta, classes, and the coefficients as a decoder will have them.
  void quantize() {
    const Extents& finest = pyramid_.level(0).size;
    rows_.emplace(shared_, padded_ + finest[0] * finest[1] * padded_count(finest[2]));
    std::array<bool, kBandGroups> surprised{};
    CoarseDifferences coarse(pyramid_.level(pyramid_.levels()).size);
    quantizer_.step = steps_.coefficient;
    quantizer_.inverse = 1 / steps_.coefficient;
    for (std::size_t c = 0; c < kernels::kScaleClasses; ++c) {
      const double bits = kBitsOfOneMore[c] / 16.0, thrift = mode_.thrift / 512.0;
      quantizer_.rise[c] = static_cast<T>(0.5 - std::min(thrift * bits, 0.45));
      quantizer_.from_zero[c] = static_cast<T>(0.5 + std::min(thrift * (bits + 1), 0.45));
    }
    BandRows rows(pyramid_, contexts_, header_.weights, workspace_.isa);
    rows.for_each(
        [&](const WaveletBand& band) {
          if (!header_.is_empty(band)) return false;
          pyramid_.clear(band, memory_.data());
          return true;
        },
        [&](const WaveletBand& band, const BandRow& row) {
          T* const values = row_of(band, row.z, row.y);
          if (band.which != 0 && is_tiny(band, row)) {
            std::fill_n(values, row.count, static_cast<T>(0));
            rows_->add_zeros(row);
            return RowResult::zeros;
          }
          std::int32_t* const quanta = rows_->begin(row);
          if (band.which == 0) {
            quantize_coarse(row, values, coarse, quanta);
          } else {
            quantizer_.shift = header_.shift[row.group];
            kernels_.quantize(quantizer_, row.classes, row.count, values, quanta, row.magnitudes);
          }
          if (!surprised[row.group]) surprised[row.group] = has_surprise(row, quanta);
          return RowResult::some;
        });
    for (std::size_t g = 0; g < kBandGroups; ++g) {
      if (!surprised[g]) header_.silent |= static_cast<std::uint8_t>(1u << g);
    }
  }

  // A quantum where the contexts expect none at all.
  static bool has_surprise(const BandRow& row, const std::int32_t* quanta) {
    std::int32_t any = 0;
    for (std::size_t x = 0; x < row.count; ++x) any |= row.classes[x] == 0 ? quanta[x] : 0;
    return any != 0;
  }

  void quantize_coarse(const BandRow& row, T* values, CoarseDifferences& coarse,
                       std::int32_t* quanta) {
    for (std::size_t x = 0; x < row.count; ++x) {
      const std::int32_t quantum = kernels::nearest_quantum(values[x], quantizer_.inverse);
      quanta[x] =
          static_cast<std::int32_t>(static_cast<std::uint32_t>(quantum) -
                                    static_cast<std::uint32_t>(coarse.prediction(row.z, row.y, x)));
      coarse.keep(row.z, row.y, x, quantum);
      row.magnitudes[x] = kernels::magnitude_of(quanta[x], header_.shift[row.group]);
      values[x] = static_cast<T>(quantum) * steps_.coefficient;
    }
  }

  // The values as a decoder will have them, and how many corrections each needs; what these cannot
  // reach is an outlier.
  void find_corrections(std::span<const T> originals) {
    const WaveletLevel& finest = pyramid_.level(0);
    const std::size_t count = finest.size[2];
    corrections_ = buffers_.corrections.reserve_as<std::int32_t>(originals.size());
    corrected_rows_.assign(finest.size[0] * finest.size[1], 0);
    const auto misses = buffers_.misses.reserve_as<std::uint8_t>(count / kernels::kMissBlock + 1);
    // Surely within the bound, with the rounding of a difference. By the rule for zeros every value
    // is looked at.
    const T sure = header_.snap
                       ? static_cast<T>(-1)
                       : static_cast<T>(bound_ * (1 - 8 * std::numeric_limits<T>::epsilon()));
    corrected_ = 0;
    pyramid_.synthesize(memory_.data(), scratch().data(), workspace_.isa, [&](std::size_t z) {
      for (std::size_t y = 0; y < finest.size[1]; ++y) {
        const T* const row = memory_.data() + finest.place(z, y, 0);
        const std::size_t start = (z * finest.size[1] + y) * count;
        kernels_.find_misses(row, offset_, originals.data() + start, sure, count, misses.data());
        for (std::size_t x = 0; x < count; ++x) {
          if (misses[x / kernels::kMissBlock] == 0) {
            x += kernels::kMissBlock - 1;
          } else {
            correct(row[x] + offset_, originals[start + x], start + x);
          }
        }
      }
      return true;
    });
    if (hardly_any(rows_->count_not_zero() + corrected_, rows_->size(), mode_.rare)) {
      header_.vectors = kAdaptive;
      header_.silent = 0;
    }
    header_.corrections = corrected_ > (header_.is_adaptive() ? 0 : kMostSurprises);
  }

  void correct(T value, T original, std::size_t at) {
    if (std::isnan(original)) return;
    if (header_.snap) value = snapped(value, static_cast<T>(bound_));
    if (original == 0 && (header_.snap || (!zeros_flagged_ && !zeros_.runs.empty()))) {
      if (value != 0 && header_.snap) outliers_.push_back({at, original});
      return;
    }
    const double error = static_cast<double>(original) - static_cast<double>(value);
    if (std::fabs(error) <= bound_) return;
    const double scaled = error / static_cast<double>(steps_.correction);
    const bool reachable = std::fabs(scaled) < kMostCorrection;
    const auto count =
        reachable ? static_cast<std::int32_t>(scaled + (scaled < 0 ? -0.5 : 0.5)) : 0;
    const T corrected = value + static_cast<T>(count) * steps_.correction;
    const double left = static_cast<double>(original) - static_cast<double>(corrected);
    if (std::fabs(left) <= bound_ && count != 0) {
      const std::size_t width = pyramid_.level(0).size[2];
      auto& any = corrected_rows_[at / width];
      if (any == 0) std::fill_n(corrections_.data() + at / width * width, width, 0);
      any = 1;
      corrections_[at] = count;
      ++corrected_;
    } else {
      outliers_.push_back({at, original});
    }
  }

  void code_corrections(std::span<const T> originals) {
    if (!header_.corrections) {
      for (std::size_t at = 0; corrected_ > 0 && at < originals.size(); ++at) {
        if (any_correction(at) && corrections_[at] != 0) outliers_.push_back({at, originals[at]});
      }
      return;
    }
    if (mode_.fit_weights) fit_correction_weights();
    const std::size_t outliers_before = outliers_.size();
    for (const bool silent : {true, false}) {
      if (silent && header_.is_adaptive()) continue;
      rows_->begin_corrections();
      outliers_.resize(outliers_before);
      BandRows rows(pyramid_, contexts_, header_.weights, workspace_.isa);
      const bool done = rows.for_corrections([&](const BandRow& row) {
        const std::size_t start = (row.z * pyramid_.level(0).size[1] + row.y) * row.count;
        if (!any_correction(start)) {
          rows_->add_zeros(row);
          return RowResult::zeros;
        }
        std::int32_t* const quanta = rows_->begin(row);
        for (std::size_t x = 0; x < row.count; ++x) {
          quanta[x] = corrections_[start + x];
          if (silent && quanta[x] != 0 && row.classes[x] == 0) {
            outliers_.push_back({start + x, originals[start + x]});
            quanta[x] = 0;
          }
          row.magnitudes[x] = kernels::magnitude_of(quanta[x], 0);
        }
        return !silent || outliers_.size() <= outliers_before + kMostSurprises ? RowResult::some
                                                                               : RowResult::failed;
      });
      if (!done) continue;
      if (silent) header_.silent |= static_cast<std::uint8_t>(1u << kCorrections);
      return;
    }
  }

  // From the values as a decoder has them in the end.
  void find_zero_flags(std::span<const T> originals) {
    const WaveletLevel& finest = pyramid_.level(0);
    const auto values = buffers_.aims.reserve_as<T>(originals.size());
    T* to = values.data();
    for (std::size_t z = 0; z < finest.size[0]; ++z) {
      for (std::size_t y = 0; y < finest.size[1]; ++y) {
        const T* const row = memory_.data() + finest.place(z, y, 0);
        const std::size_t count = finest.size[2];
        const std::size_t start = (z * finest.size[1] + y) * count;
        for (std::size_t x = 0; x < count; ++x) to[x] = row[x] + offset_;
        if (header_.corrections && any_correction(start)) {
          for (std::size_t x = 0; x < count; ++x) {
            to[x] = to[x] + static_cast<T>(corrections_[start + x]) * steps_.correction;
          }
        }
        to += count;
      }
    }
    for (const Outlier<T>& outlier : outliers_) values[outlier.position] = outlier.value;
    zero_flags_ = flag_zeros<T>(values, originals, finest.size, bound_);
  }

  // In the row of this value; the others' corrections are not set.
  bool any_correction(std::size_t at) const {
    return corrected_rows_[at / pyramid_.level(0).size[2]] != 0;
  }

  void fit_correction_weights() {
    WeightFit fit(workspace_.isa);
    const std::size_t period = corrections_.size() / (2 * mode_.fit_samples) + 1;
    std::size_t at = 0;
    BandRows rows(pyramid_, contexts_, workspace_.isa);
    rows.for_corrections([&](const BandRow& row) {
      const std::size_t start = (row.z * pyramid_.level(0).size[1] + row.y) * row.count;
      const bool any = any_correction(start);
      for (std::size_t x = 0; any && x < row.count; ++x) {
        row.magnitudes[x] = kernels::magnitude_of(corrections_[start + x], 0);
      }
      for (; at < row.count; at += period) {
        if (!any && row.is_quiet) {
          fit.add_nothing(kCorrections);
        } else {
          fit.add(kCorrections, features_of(row, at), any ? row.magnitudes[at] : std::uint16_t{0});
        }
      }
      at -= row.count;
      return any ? RowResult::some : RowResult::zeros;
    });
    kernels::ContextWeights weights = fit.fitted()[kCorrections];
    weights.floor = 0;  // nothing around: no correction expected
    header_.weights[kCorrections] = weights;
  }

  const WaveletMode& mode_;
  double bound_;
  WaveletSteps<T> steps_;
  Pyramid pyramid_;
  ChunkWorkspace& workspace_;
  PredictorBuffers& shared_;
  WaveletBuffers& buffers_;
  ContextMemory contexts_;
  WaveletHeader header_;
  T offset_ = 0;
  std::span<T> memory_;
  std::size_t padded_ = 0, corrected_ = 0;
  std::vector<T> peaks_;  // the largest coefficient of each row of the bands
  std::array<std::size_t, Pyramid::kMostLevels * Pyramid::kBands> first_peak_{};
  std::optional<CodedRows> rows_;
  std::span<std::int32_t> corrections_;
  std::vector<std::uint8_t> corrected_rows_;  // which have any
  std::vector<Outlier<T>> outliers_;
  ZeroList zeros_;
  bool zeros_flagged_ = false;
  std::vector<std::byte> zero_flags_;
  const kernels::CoefficientKernels<T>& kernels_;
  kernels::CoefficientQuantizer<T> quantizer_;
};

// `originals` has NaN in holes. Zeros are listed as they come in rows.
template <class T>
std::optional<WaveletCoded> encode_lanes(const bounded::Field<T>& field,
                                         std::span<const T> originals, const Lanes& lanes,
                                         double bound, const WaveletMode& mode,
                                         std::span<std::byte> output, ChunkWorkspace& workspace) {
  auto& buffers = workspace.memory.of<WaveletBuffers>();
  const auto filled = buffers.values.template reserve_as<T>(lanes.values());
  lanes.gather(field.values, field.values.back(), filled);
  const auto wanted = buffers.lanes.template reserve_as<T>(lanes.values());
  lanes.gather(originals, std::numeric_limits<T>::quiet_NaN(), wanted);
  const ZeroList zeros =
      field.has_zeros ? list_zeros<T>(wanted, lanes.extents(), bound) : ZeroList();
  WaveletEncoder<T> encoder(lanes.extents(), kAlongLanes, bound, mode, workspace);
  if (!encoder.run(filled, wanted, zeros)) return std::nullopt;
  const auto bytes = encoder.write(output);
  return bytes ? std::optional(WaveletCoded{*bytes, encoder.corrections()}) : std::nullopt;
}

}  // namespace

template <class T>
std::optional<WaveletCoded> encode_wavelet(const bounded::Field<T>& field, double bound,
                                           const WaveletMode& mode, const ZeroList& zeros,
                                           std::span<std::byte> output, ChunkWorkspace& workspace) {
  const Folding folding = fold(field.shape);
  const auto originals = prepare_values(field, folding, workspace);
  std::span<const T> filled = field.values;
  if (const Lanes lanes = Lanes::of(field.shape); lanes.exist()) {
    return encode_lanes(field, originals, lanes, bound, mode, output, workspace);
  }
  if (folding.components > 1) {
    const auto folded =
        workspace.memory.of<WaveletBuffers>().values.template reserve_as<T>(field.values.size());
    transpose(field.values.data(), field.values.size() / folding.components, folding.components,
              folded.data());
    filled = folded;
  }
  WaveletEncoder<T> encoder(folding.extents, Pyramid::kAllAxes, bound, mode, workspace);
  if (!encoder.run(filled, originals, zeros)) return std::nullopt;
  const auto bytes = encoder.write(output);
  return bytes ? std::optional(WaveletCoded{*bytes, encoder.corrections()}) : std::nullopt;
}

template std::optional<WaveletCoded> encode_wavelet(const bounded::Field<float>&, double,
                                                    const WaveletMode&, const ZeroList&,
                                                    std::span<std::byte>, ChunkWorkspace&);
template std::optional<WaveletCoded> encode_wavelet(const bounded::Field<double>&, double,
                                                    const WaveletMode&, const ZeroList&,
                                                    std::span<std::byte>, ChunkWorkspace&);

}  // namespace tensorpress::dense
