#include <algorithm>
#include <cmath>

#include "codecs/dense/lattice/exact.h"
#include "codecs/dense/lattice/folding.h"
#include "codecs/dense/residuals/coding.h"
#include "codecs/dense/wavelet/band_rows.h"
#include "codecs/dense/wavelet/header.h"
#include "codecs/dense/wavelet/wavelet.h"
#include "kernels/rans/rans.h"

namespace tensorpress::dense {
namespace {

// Larger quanta are no work for this predictor.
constexpr double kMostQuantum = 0x1p29;
constexpr double kMostCorrection = 0x1p20;
// Corrections where none were expected are stored as they are; with more of them, all places are
// coded.
constexpr std::size_t kMostSurprises = 16;
// Where a list of zeros takes more than a byte for so many values, they are kept by a rule instead.
constexpr std::size_t kValuesAZeroByte = 800;
// Mean magnitudes in contexts stay below this.
constexpr double kMeanMagnitude = 24;
// Magnitudes that weights are fitted to, a group.
constexpr std::size_t kFitSamples = 8000;

// The bits that a quantum costs more than the next smaller one, by class, in sixteenths: from
// log2(1 + 1 / m) with m in the middle of the class.
constexpr std::array<std::uint8_t, kernels::kScaleClasses> kBitsOfOneMore = {
    160, 124, 116, 108, 100, 92, 84, 77, 69, 61, 54, 46, 40, 33, 27, 22,
    18,  14,  11,  8,   6,   4,  3,  2,  2,  1,  1,  1,  0,  0,  0,  0};

template <class T>
class WaveletEncoder {
 public:
  WaveletEncoder(const Extents& extents, double bound, const WaveletMode& mode,
                 ChunkWorkspace& workspace)
      : mode_(mode),
        bound_(bound),
        steps_(bound, mode.step),
        pyramid_(extents, mode.filter, mode.ends),
        workspace_(workspace),
        buffers_(workspace.memory.of<WaveletBuffers>()),
        contexts_(buffers_.contexts, pyramid_) {
    header_.filter = mode.filter;
    header_.ends = mode.ends;
    header_.step = mode.step;
  }

  /// `filled` has values in holes, `originals` NaN.
  bool run(std::span<const T> filled, std::span<const T> originals, bool has_zeros) {
    if (pyramid_.levels() == 0) return false;
    if (!place(filled)) return false;
    if (has_zeros) originals = keep_zeros(originals);
    scan_bands();
    if (mode_.fit_weights) fit_band_weights();
    quantize();
    pyramid_.synthesize(memory_.data(), scratch().data(), workspace_.isa);
    find_corrections(originals);
    if (outliers_.size() > originals.size() / 8 + 1) return false;
    code_corrections(originals);
    return true;
  }

  std::size_t corrections() const { return corrected_; }

  std::optional<std::size_t> write(std::span<std::byte> output) {
    header_.outliers = !outliers_.empty();
    header_.zeros = !zeros_.runs.empty();
    TableMap map, correction_map;
    std::vector<std::byte> maps;
    choose_maps(map, correction_map, maps);
    const std::size_t groups = compact(map, correction_map);
    header_.vectors = vectors_for(groups);
    std::vector<std::byte> bytes;
    write_header(header_, bytes);
    bytes.insert(bytes.end(), maps.begin(), maps.end());
    if (header_.outliers) append_outliers(outliers_, bytes);
    if (header_.zeros) append_zeros(zeros_, bytes);
    if (bytes.size() > output.size()) return std::nullopt;
    std::ranges::copy(bytes, output.begin());
    const auto room = output.subspan(bytes.size());
    const auto coded = buffers_.coded.reserve(room.size() + kernels::RansEncoder::kSlackBytes + 64);
    kernels::RansEncoder encoder;
    encoder.start(coded, header_.vectors, groups);
    kernels::rans_kernels(workspace_.isa)
        .encode_values(encoder, residual_tables().rans(), classes_.data(), groups, quanta_.data());
    const auto words = encoder.finish();
    if (!words || words->size() > room.size()) return std::nullopt;
    std::ranges::copy(*words, room.begin());
    return bytes.size() + words->size();
  }

 private:
  std::span<T> scratch() { return buffers_.scratch.reserve_as<T>(pyramid_.scratch_elements()); }

  // By a list where that is short, else by a rule. Returns the values to aim for: what is on the
  // list is zero.
  std::span<const T> keep_zeros(std::span<const T> originals) {
    zeros_ = list_zeros(originals, pyramid_.level(0).size, bound_);
    header_.snap = bytes_of(zeros_) > originals.size() / kValuesAZeroByte + 32;
    if (header_.snap) {
      zeros_ = {};
      return originals;
    }
    const auto aims = buffers_.aims.reserve_as<T>(originals.size());
    std::ranges::copy(originals, aims.begin());
    set_zeros(zeros_, aims);
    return aims;
  }

  // The chunk around zero, at level 0 of the pyramid, and its coefficients.
  bool place(std::span<const T> values) {
    double sum = 0;
    for (const T value : values) sum += static_cast<double>(value);
    const double offset =
        sum / static_cast<double>(values.size()) / static_cast<double>(steps_.coefficient);
    if (!(std::fabs(offset) < 0x1p52)) return false;
    header_.offset = static_cast<std::int64_t>(offset);
    offset_ = static_cast<T>(header_.offset) * steps_.coefficient;
    memory_ = buffers_.pyramid.reserve_as<T>(pyramid_.elements());
    std::ranges::fill(memory_, static_cast<T>(0));
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
        T most = 0, sum = 0;
        double total = 0;
        for (std::size_t z = 0; z < band.size[0]; ++z) {
          for (std::size_t y = 0; y < band.size[1]; ++y) {
            const T* const row = row_of(band, z, y);
            sum = 0;
            for (std::size_t x = 0; x < band.size[2]; ++x) {
              const T size = std::fabs(row[x]);
              most = std::max(most, size);
              sum += size;
            }
            total += static_cast<double>(sum);
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

  // Nearest quanta, for the fit.
  static std::int32_t nearest(T value, T inverse) {
    const T scaled = value * inverse;
    if (!(std::fabs(scaled) < static_cast<T>(kMostQuantum))) return 0;
    return static_cast<std::int32_t>(scaled +
                                     (scaled < 0 ? static_cast<T>(-0.5) : static_cast<T>(0.5)));
  }

  void fit_band_weights() {
    WeightFit fit;
    std::array<std::size_t, kBandGroups> period{}, seen{};
    std::array<std::size_t, kBandGroups> sizes{};
    for (int level = 0; level < pyramid_.levels(); ++level) {
      for (const unsigned which : Pyramid::kOrder) {
        WaveletBand band;
        if (!pyramid_.band(level, which, band) || header_.is_empty(band)) continue;
        sizes[group_of(band)] += band.size[0] * band.size[1] * band.size[2];
      }
    }
    for (std::size_t g = 0; g < kBandGroups; ++g) period[g] = sizes[g] / kFitSamples + 1;
    const T inverse = 1 / steps_.coefficient;
    BandRows rows(pyramid_, contexts_, header_.weights, workspace_.isa);
    rows.for_each([&](const WaveletBand& band) { return header_.is_empty(band); },
                  [&](const WaveletBand& band, const BandRow& row) {
                    if (band.which == 0) return true;
                    const T* const from = row_of(band, row.z, row.y);
                    const int shift = header_.shift[row.group];
                    for (std::size_t x = 0; x < row.count; ++x) {
                      row.magnitudes[x] = magnitude_of(nearest(from[x], inverse), shift);
                    }
                    std::size_t& at = seen[row.group];
                    for (; at < row.count; at += period[row.group]) {
                      fit.add(row.group, features_of(row, at), row.magnitudes[at]);
                    }
                    at -= row.count;
                    return true;
                  });
    header_.weights = fit.fitted();
    header_.own_weights = true;
  }

  // Quanta, classes, and the coefficients as a decoder will have them.
  void quantize() {
    const Extents& finest = pyramid_.level(0).size;
    const std::size_t all = padded_ + finest[0] * finest[1] * padded_count(finest[2]);
    quanta_ = buffers_.quanta.reserve_as<std::int32_t>(all + 64);
    classes_ = buffers_.classes.reserve_as<std::uint8_t>(all + 64);
    spans_.clear();
    used_ = 0;
    std::array<bool, kBandGroups> surprised{};
    CoarseDifferences coarse(pyramid_.level(pyramid_.levels()).size);
    const T inverse = 1 / steps_.coefficient;
    for (std::size_t c = 0; c < kernels::kScaleClasses; ++c) {
      const double bits = kBitsOfOneMore[c] / 16.0, thrift = mode_.thrift / 512.0;
      rise_[c] = static_cast<T>(0.5 - std::min(thrift * bits, 0.45));
      rise_from_zero_[c] = static_cast<T>(0.5 + std::min(thrift * (bits + 1), 0.45));
    }
    BandRows rows(pyramid_, contexts_, header_.weights, workspace_.isa);
    rows.for_each(
        [&](const WaveletBand& band) {
          if (!header_.is_empty(band)) return false;
          for (std::size_t z = 0; z < band.size[0]; ++z) {
            for (std::size_t y = 0; y < band.size[1]; ++y) {
              std::fill_n(row_of(band, z, y), band.size[2], static_cast<T>(0));
            }
          }
          return true;
        },
        [&](const WaveletBand& band, const BandRow& row) {
          T* const values = row_of(band, row.z, row.y);
          std::int32_t* const quanta = begin_span(row);
          if (band.which == 0) {
            quantize_coarse(row, values, inverse, coarse, quanta);
          } else {
            quantize_row(row, values, inverse, quanta);
          }
          for (std::size_t x = 0; x < row.count; ++x) {
            if (quanta[x] != 0 && row.classes[x] == 0) surprised[row.group] = true;
          }
          return true;
        });
    coefficient_spans_ = spans_.size();
    for (std::size_t g = 0; g < kBandGroups; ++g) {
      if (!surprised[g]) header_.silent |= static_cast<std::uint8_t>(1u << g);
    }
  }

  std::int32_t* begin_span(const BandRow& row) {
    std::int32_t* const quanta = quanta_.data() + used_;
    std::copy_n(row.classes, row.count, classes_.data() + used_);
    const std::size_t padded = padded_count(row.count);
    std::fill(quanta + row.count, quanta + padded, 0);
    std::fill(classes_.data() + used_ + row.count, classes_.data() + used_ + padded,
              std::uint8_t{0});
    spans_.push_back(
        {used_, static_cast<std::uint32_t>(row.count), static_cast<std::uint32_t>(row.group)});
    used_ += padded;
    return quanta;
  }

  void quantize_row(const BandRow& row, T* values, T inverse, std::int32_t* quanta) {
    const int shift = header_.shift[row.group];
    for (std::size_t x = 0; x < row.count; ++x) {
      const T size = std::min(std::fabs(values[x]) * inverse, static_cast<T>(kMostQuantum));
      const std::uint8_t c = row.classes[x];
      // NaN compares false and becomes zero.
      std::int32_t quantum =
          size >= rise_from_zero_[c] ? static_cast<std::int32_t>(size + rise_[c]) : 0;
      quantum = values[x] < 0 ? -quantum : quantum;
      quanta[x] = quantum;
      row.magnitudes[x] = magnitude_of(quantum, shift);
      values[x] = static_cast<T>(quantum) * steps_.coefficient;
    }
  }

  void quantize_coarse(const BandRow& row, T* values, T inverse, CoarseDifferences& coarse,
                       std::int32_t* quanta) {
    for (std::size_t x = 0; x < row.count; ++x) {
      const std::int32_t quantum = nearest(values[x], inverse);
      quanta[x] =
          static_cast<std::int32_t>(static_cast<std::uint32_t>(quantum) -
                                    static_cast<std::uint32_t>(coarse.prediction(row.z, row.y, x)));
      coarse.keep(row.z, row.y, x, quantum);
      row.magnitudes[x] = magnitude_of(quanta[x], header_.shift[row.group]);
      values[x] = static_cast<T>(quantum) * steps_.coefficient;
    }
  }

  // How many corrections each value needs; what they cannot reach is an outlier.
  void find_corrections(std::span<const T> originals) {
    const WaveletLevel& finest = pyramid_.level(0);
    corrections_ = buffers_.corrections.reserve_as<std::int32_t>(originals.size());
    const double inverse = 1 / static_cast<double>(steps_.correction);
    const bool keeps_zeros = header_.snap || !zeros_.runs.empty();
    std::size_t at = 0;
    corrected_ = 0;
    for (std::size_t z = 0; z < finest.size[0]; ++z) {
      for (std::size_t y = 0; y < finest.size[1]; ++y) {
        const T* const from = memory_.data() + finest.place(z, y, 0);
        for (std::size_t x = 0; x < finest.size[2]; ++x, ++at) {
          corrections_[at] = 0;
          const T original = originals[at];
          T value = from[x] + offset_;
          if (header_.snap) value = snapped(value, static_cast<T>(bound_));
          const double error = static_cast<double>(original) - static_cast<double>(value);
          if (std::isnan(original)) continue;
          if (original == 0 && keeps_zeros) {
            if (value != 0 && header_.snap) outliers_.push_back({at, original});
            continue;
          }
          if (std::fabs(error) <= bound_) continue;
          const double scaled = error * inverse;
          const bool reachable = std::fabs(scaled) < kMostCorrection;
          const auto count =
              reachable ? static_cast<std::int32_t>(scaled + (scaled < 0 ? -0.5 : 0.5)) : 0;
          const T corrected = value + static_cast<T>(count) * steps_.correction;
          const double left = static_cast<double>(original) - static_cast<double>(corrected);
          if (std::fabs(left) <= bound_ && count != 0) {
            corrections_[at] = count;
            ++corrected_;
          } else {
            outliers_.push_back({at, original});
          }
        }
      }
    }
    header_.corrections = corrected_ > kMostSurprises;
  }

  void code_corrections(std::span<const T> originals) {
    if (!header_.corrections) {
      for (std::size_t at = 0; corrected_ > 0 && at < originals.size(); ++at) {
        if (corrections_[at] != 0) outliers_.push_back({at, originals[at]});
      }
      return;
    }
    if (mode_.fit_weights) fit_correction_weights();
    const std::size_t before = used_, outliers_before = outliers_.size();
    for (const bool silent : {true, false}) {
      used_ = before;
      spans_.resize(coefficient_spans_);
      outliers_.resize(outliers_before);
      BandRows rows(pyramid_, contexts_, header_.weights, workspace_.isa);
      const bool done = rows.for_corrections([&](const BandRow& row) {
        const std::size_t start = (row.z * pyramid_.level(0).size[1] + row.y) * row.count;
        std::int32_t* const quanta = begin_span(row);
        for (std::size_t x = 0; x < row.count; ++x) {
          quanta[x] = corrections_[start + x];
          if (silent && quanta[x] != 0 && row.classes[x] == 0) {
            outliers_.push_back({start + x, originals[start + x]});
            quanta[x] = 0;
          }
          row.magnitudes[x] = magnitude_of(quanta[x], 0);
        }
        return !silent || outliers_.size() <= outliers_before + kMostSurprises;
      });
      if (!done) continue;
      if (silent) header_.silent |= static_cast<std::uint8_t>(1u << kCorrections);
      return;
    }
  }

  void fit_correction_weights() {
    WeightFit fit;
    const std::size_t period = corrections_.size() / (4 * kFitSamples) + 1;
    std::size_t at = 0;
    BandRows rows(pyramid_, contexts_, header_.weights, workspace_.isa);
    rows.for_corrections([&](const BandRow& row) {
      const std::size_t start = (row.z * pyramid_.level(0).size[1] + row.y) * row.count;
      for (std::size_t x = 0; x < row.count; ++x) {
        row.magnitudes[x] = magnitude_of(corrections_[start + x], 0);
      }
      for (; at < row.count; at += period) {
        fit.add(kCorrections, features_of(row, at), row.magnitudes[at]);
      }
      at -= row.count;
      return true;
    });
    kernels::ContextWeights weights = fit.fitted()[kCorrections];
    weights.floor = 0;  // nothing around: no correction expected
    header_.weights[kCorrections] = weights;
  }

  void choose_maps(TableMap& map, TableMap& correction_map, std::vector<std::byte>& bytes) {
    ResidualHistogram histogram, corrections;
    for (std::size_t s = 0; s < spans_.size(); ++s) {
      const RowSpan& span = spans_[s];
      const bool is_correction = s >= coefficient_spans_;
      ResidualHistogram& to = is_correction ? corrections : histogram;
      to.add(is_correction ? 0 : span.group, classes_.data() + span.start,
             quanta_.data() + span.start, span.count);
    }
    for (std::size_t g = 0; g < kBandGroups; ++g) {
      if (header_.is_silent(g)) histogram.used[g] &= ~1u;
    }
    if (header_.is_silent(kCorrections)) corrections.used[0] &= ~1u;
    map = choose_map(histogram, residual_tables(), &bytes).map;
    if (header_.corrections) {
      correction_map = choose_map(corrections, residual_tables(), &bytes).map;
    }
  }

  // Turns classes into tables and leaves out groups that need no bits; returns how many are left.
  std::size_t compact(const TableMap& map, const TableMap& correction_map) {
    constexpr std::size_t kGroup = kernels::kRansGroup;
    std::array<std::array<std::uint8_t, kernels::kScaleClasses>, kContextGroups> ids;
    for (std::size_t g = 0; g < kBandGroups; ++g) ids[g] = ids_of(map.ids[g], header_.is_silent(g));
    ids[kCorrections] = ids_of(correction_map.ids[0], header_.is_silent(kCorrections));
    std::size_t kept = 0;
    for (const RowSpan& span : spans_) {
      const auto& table = ids[span.group];
      for (std::size_t start = 0; start < span.count; start += kGroup) {
        const std::size_t from = span.start + start;
        const std::size_t real = std::min<std::size_t>(kGroup, span.count - start);
        std::uint8_t any = 0;
        for (std::size_t i = 0; i < kGroup; ++i) {
          const std::uint8_t id = i < real ? table[classes_[from + i]] : std::uint8_t{0};
          any |= classes_[kept + i] = id;
        }
        if (any == 0) continue;
        std::copy_n(quanta_.data() + from, kGroup, quanta_.data() + kept);
        kept += kGroup;
      }
    }
    return kept / kGroup;
  }

  const WaveletMode& mode_;
  double bound_;
  WaveletSteps<T> steps_;
  Pyramid pyramid_;
  ChunkWorkspace& workspace_;
  WaveletBuffers& buffers_;
  ContextMemory contexts_;
  WaveletHeader header_;
  T offset_ = 0;
  std::span<T> memory_;
  std::size_t padded_ = 0, used_ = 0, coefficient_spans_ = 0, corrected_ = 0;
  std::span<std::int32_t> quanta_, corrections_;
  std::span<std::uint8_t> classes_;
  std::vector<RowSpan> spans_;
  std::vector<Outlier<T>> outliers_;
  ZeroList zeros_;
  std::array<T, kernels::kScaleClasses> rise_{}, rise_from_zero_{};
};

}  // namespace

template <class T>
std::optional<WaveletCoded> encode_wavelet(const bounded::Field<T>& field, double bound,
                                           const WaveletMode& mode, std::span<std::byte> output,
                                           ChunkWorkspace& workspace) {
  const Folding folding = fold(field.shape);
  const auto originals = prepare_values(field, folding, workspace);
  std::span<const T> filled = field.values;
  if (folding.components > 1) {
    const auto folded =
        workspace.memory.of<WaveletBuffers>().values.template reserve_as<T>(field.values.size());
    transpose(field.values.data(), field.values.size() / folding.components, folding.components,
              folded.data());
    filled = folded;
  }
  WaveletEncoder<T> encoder(folding.extents, bound, mode, workspace);
  if (!encoder.run(filled, originals, field.has_zeros)) return std::nullopt;
  const auto bytes = encoder.write(output);
  return bytes ? std::optional(WaveletCoded{*bytes, encoder.corrections()}) : std::nullopt;
}

template std::optional<WaveletCoded> encode_wavelet(const bounded::Field<float>&, double,
                                                    const WaveletMode&, std::span<std::byte>,
                                                    ChunkWorkspace&);
template std::optional<WaveletCoded> encode_wavelet(const bounded::Field<double>&, double,
                                                    const WaveletMode&, std::span<std::byte>,
                                                    ChunkWorkspace&);

}  // namespace tensorpress::dense
