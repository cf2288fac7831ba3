#include <algorithm>
#include <cstring>
#include <optional>

#include "codecs/dense/adaptive/quanta.h"
#include "codecs/dense/lattice/exact.h"
#include "codecs/dense/lattice/folding.h"
#include "codecs/dense/predictor_buffers.h"
#include "codecs/dense/residuals/coding.h"
#include "codecs/dense/wavelet/band_rows.h"
#include "codecs/dense/wavelet/header.h"
#include "codecs/dense/wavelet/lanes.h"
#include "codecs/dense/wavelet/wavelet.h"
#include "kernels/coefficients/coefficients.h"
#include "kernels/interpolation/interpolation.h"
#include "kernels/rans/rans.h"

namespace tensorpress::dense {
namespace {

template <class T>
class WaveletDecoder {
 public:
  WaveletDecoder(const WaveletHeader& header, const Extents& extents, const Pyramid::Axes& axes,
                 double bound, ChunkWorkspace& workspace)
      : header_(header),
        pyramid_(extents, header.filter, header.ends, axes),
        steps_(bound, header.step),
        radius_(static_cast<T>(bound)),
        workspace_(workspace),
        shared_(workspace.memory.of<PredictorBuffers>()),
        buffers_(workspace.memory.of<WaveletBuffers>()),
        contexts_(shared_.contexts, pyramid_),
        rows_(pyramid_, contexts_, header_.weights, workspace.isa),
        memory_(shared_.values.reserve_as<T>(pyramid_.elements())),
        kernels_(kernels::coefficient_kernels<T>(workspace.isa)) {
    const std::size_t row = padded_count(pyramid_.level(0).padded[2]) + 64;
    row_ = buffers_.row.reserve_as<std::int32_t>(row);
    moves_ = buffers_.moves.reserve_as<T>(row);
    decode_ = kernels::rans_kernels(workspace.isa).decode_values;
    translate_ = kernels::interpolation_kernels<T>(workspace.isa).translate;
  }

  /// Quanta come from here instead of rANS.
  void set_adaptive(BitDecoder& bits) {
    adaptive_.emplace();
    bits_ = &bits;
  }

  bool coefficients(kernels::RansDecoder& rans, const TableMap& map) {
    pyramid_.clear_margins(memory_.data());
    CoarseDifferences coarse(pyramid_.level(pyramid_.levels()).size);
    for (std::size_t g = 0; g < kBandGroups; ++g) {
      maps_[g] = ids_of(map.ids[g], header_.is_silent(g));
    }
    return rows_.for_each(
        [&](const WaveletBand& band) {
          if (!header_.is_empty(band)) return false;
          pyramid_.clear(band, memory_.data());
          return true;
        },
        [&](const WaveletBand& band, const BandRow& row) {
          if (!decode_row(rans, row.group, row)) return RowResult::failed;
          const int shift = header_.shift[row.group];
          const WaveletLevel& level = pyramid_.level(band.level);
          T* const to = memory_.data() +
                        level.place(band.from[0] + row.z, band.from[1] + row.y, band.from[2]);
          if (silent_ && band.which != 0) {
            std::fill_n(to, row.count, static_cast<T>(0));
            return RowResult::zeros;
          }
          kernels_.restore(row_.data(), row.count, steps_.coefficient, shift, to, row.magnitudes);
          if (band.which == 0) restore_coarse(row, coarse, to);
          return RowResult::some;
        });
  }

  void restore_coarse(const BandRow& row, CoarseDifferences& coarse, T* to) {
    for (std::size_t x = 0; x < row.count; ++x) {
      const auto sum = static_cast<std::uint32_t>(coarse.prediction(row.z, row.y, x)) +
                       static_cast<std::uint32_t>(row_[x]);
      coarse.keep(row.z, row.y, x, static_cast<std::int32_t>(sum));
      to[x] = static_cast<T>(static_cast<std::int32_t>(sum)) * steps_.coefficient;
    }
  }

  // Without corrections when there are none.
  bool values(kernels::RansDecoder& rans, const TableMap* map, T* to) {
    const WaveletLevel& finest = pyramid_.level(0);
    const T offset = static_cast<T>(header_.offset) * steps_.coefficient;
    if (map != nullptr) maps_[kCorrections] = ids_of(map->ids[0], header_.is_silent(kCorrections));
    rows_.begin_corrections();
    const auto plain_row = [&](std::size_t z, std::size_t y) {
      const T* const from = memory_.data() + finest.place(z, y, 0);
      T* const row = to + (z * finest.size[1] + y) * finest.size[2];
      for (std::size_t x = 0; x < finest.size[2]; ++x) row[x] = from[x] + offset;
      if (header_.snap) {
        for (std::size_t x = 0; x < finest.size[2]; ++x) row[x] = snapped(row[x], radius_);
      }
      return row;
    };
    const auto corrected_row = [&](const BandRow& row) {
      if (!decode_row(rans, kCorrections, row)) return RowResult::failed;
      T* const values = plain_row(row.z, row.y);
      if (silent_) return RowResult::zeros;
      kernels_.restore(row_.data(), row.count, steps_.correction, 0, moves_.data(), row.magnitudes);
      for (std::size_t x = 0; x < row.count; ++x) values[x] = values[x] + moves_[x];
      return RowResult::some;
    };
    T* const scratch = buffers_.scratch.reserve_as<T>(pyramid_.scratch_elements()).data();
    return pyramid_.synthesize(memory_.data(), scratch, workspace_.isa, [&](std::size_t z) {
      if (map != nullptr) return rows_.for_corrections(z, corrected_row);
      for (std::size_t y = 0; y < finest.size[1]; ++y) plain_row(z, y);
      return true;
    });
  }

 private:
  // Groups of 16 values that all lie in silent classes are not coded.
  bool decode_row(kernels::RansDecoder& rans, std::size_t group, const BandRow& row) {
    if (adaptive_) {
      if (row.is_quiet) row.write_only_class();
      silent_ = !adaptive_->row(*bits_, group, {row.classes, row.count}, row_.data());
      return !bits_->ran_out();
    }
    const auto& map = maps_[group];
    if (row.is_quiet) {
      silent_ = map[row.only_class] == 0;
      if (silent_) {
        std::fill_n(row_.data(), row.count, 0);
        return true;
      }
      row.write_only_class();
    }
    constexpr std::size_t kGroup = kernels::kRansGroup;
    const std::size_t padded = padded_count(row.count);
    std::uint8_t* const ids = contexts_.class_row();  // classes are not needed again
    translate_(map.data(), ids, padded);
    std::memset(ids + row.count, 0, padded - row.count);
    const auto is_silent = [&](std::size_t at) {
      std::uint64_t words[2];
      std::memcpy(words, ids + at, sizeof(words));
      return (words[0] | words[1]) == 0;
    };
    silent_ = true;
    for (std::size_t at = 0; at < padded;) {
      const std::size_t start = at;
      const bool silent = is_silent(at);
      do at += kGroup;
      while (at < padded && is_silent(at) == silent);
      if (silent) {
        std::fill(row_.data() + start, row_.data() + at, 0);
        continue;
      }
      silent_ = false;
      if (!decode_(rans, residual_tables().rans(), ids + start, (at - start) / kGroup,
                   row_.data() + start)) {
        return false;
      }
    }
    return true;
  }

  std::optional<AdaptiveRows<BitDecoder>> adaptive_;
  BitDecoder* bits_ = nullptr;
  const WaveletHeader& header_;
  Pyramid pyramid_;
  WaveletSteps<T> steps_;
  T radius_;
  ChunkWorkspace& workspace_;
  PredictorBuffers& shared_;
  WaveletBuffers& buffers_;
  ContextMemory contexts_;
  BandRows rows_;
  std::span<T> memory_;
  std::span<std::int32_t> row_;
  std::span<T> moves_;   // of the values of a row, by corrections
  bool silent_ = false;  // all of the row decoded last
  alignas(16) std::array<std::array<std::uint8_t, kernels::kScaleClasses>, kContextGroups> maps_{};
  kernels::RansKernels::Decode decode_;
  decltype(kernels::InterpolationKernels<T>::translate) translate_;
  const kernels::CoefficientKernels<T>& kernels_;
};

}  // namespace

template <class T>
Result<void> decode_wavelet(std::span<const std::byte> input, const Shape& shape, double bound,
                            std::span<T> output, ChunkWorkspace& workspace, WaveletForm form) {
  const Folding folding = fold(shape);
  const Lanes lanes = form == WaveletForm::lanes ? Lanes::of(shape) : Lanes();
  if (form == WaveletForm::lanes && !lanes.exist()) {
    return corrupt("a chunk of ", shape.to_string(),
                   " is not a line that is long enough for lanes");
  }
  const Extents extents = lanes.exist() ? lanes.extents() : folding.extents;
  const std::size_t values = lanes.exist() ? lanes.values() : output.size();
  ByteReader reader(input);
  TRY(const auto header, read_wavelet_header(reader));
  TableMap map, correction_map;
  if (!header.is_adaptive()) {
    TRY(map, read_map(reader));
  }
  if (header.corrections && !header.is_adaptive()) {
    TRY(correction_map, read_map(reader));
  }
  std::vector<Outlier<T>> outliers;
  if (header.outliers) {
    TRY(outliers, read_outliers<T>(reader, values));
  }
  ZeroList zeros;
  if (header.zeros) {
    TRY(zeros, read_zeros(reader, values));
  }
  TRY(const auto words, reader.take(reader.remaining()));
  kernels::RansDecoder rans;
  BitDecoder bits(words);
  if (!header.is_adaptive() && !rans.start(words, header.vectors)) {
    return truncated("a wavelet chunk ends within its coder's states");
  }
  auto& buffers = workspace.memory.of<WaveletBuffers>();
  T* const target = folding.components == 1 && !lanes.exist()
                        ? output.data()
                        : buffers.values.reserve_as<T>(values).data();
  if (*std::ranges::max_element(extents) < Pyramid::kShortest) {
    return corrupt("a chunk of ", shape.to_string(), " is too small for wavelets");
  }
  WaveletDecoder<T> decoder(header, extents, lanes.exist() ? kAlongLanes : Pyramid::kAllAxes, bound,
                            workspace);
  if (header.is_adaptive()) decoder.set_adaptive(bits);
  if (!decoder.coefficients(rans, map)) {
    return truncated("a wavelet chunk ends within its coefficients");
  }
  if (!decoder.values(rans, header.corrections ? &correction_map : nullptr, target)) {
    return truncated("a wavelet chunk ends within its corrections");
  }
  if (!(header.is_adaptive() ? bits.finished() : rans.finished()))
    return corrupt("a wavelet chunk does not end where it should");
  for (const auto& outlier : outliers) target[outlier.position] = outlier.value;
  RETURN_IF_ERROR(set_zeros(zeros, std::span(target, values), extents, bound));
  if (lanes.exist()) {
    lanes.scatter<T>(target, output);
  } else if (folding.components > 1) {
    transpose(target, folding.components, output.size() / folding.components, output.data());
  }
  return {};
}

template Result<void> decode_wavelet(std::span<const std::byte>, const Shape&, double,
                                     std::span<float>, ChunkWorkspace&, WaveletForm);
template Result<void> decode_wavelet(std::span<const std::byte>, const Shape&, double,
                                     std::span<double>, ChunkWorkspace&, WaveletForm);

}  // namespace tensorpress::dense
