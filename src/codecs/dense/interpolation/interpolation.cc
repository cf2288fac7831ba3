// A chunk:
//   u8      axes z y x (bits 0-2), cubic (3), weights (4-5), average (6), tighten (7)
//   u8      keep_zeros (0), feedback (1), outliers (2), raise (3), log2 of rANS vectors (4-5),
//           limit of levels (6-7)
//   u8      shrink (bits 0-6), zeros (7)
//   u8      raise, if bit 3; 5 i8 feedback, if bit 1
//   bits    table map (map.cc)
//   varints coarsest level: zigzagged differences, in steps
//   varint  count of outliers if bit 2, then for each the distance from the last (varint) and value
//   varint  count of runs of zeros if bit 7 (0: a period follows, and then the count), then for
//   each
//           the distance from the last one's end and the length (varints)
//   bytes   rANS states and words (kernels/rans/rans.h), if there is anything but the coarsest
//   level
#include "codecs/dense/interpolation/interpolation.h"

#include <algorithm>
#include <limits>

#include "codecs/dense/adaptive/quanta.h"
#include "codecs/dense/adaptive/zero_flags.h"
#include "codecs/dense/interpolation/forward.h"

namespace tensorpress::dense {
namespace {

// In the place of a set of weights: stencils.
constexpr std::uint8_t kStencilMark = 3;
// Residuals of a group that its tables are chosen by.
constexpr std::size_t kSampledResiduals = 20000;
// Chunks with fewer values do not earn the weights of a large stencil.
constexpr std::size_t kManyValues = std::size_t{1} << 18;
void write_mode(const InterpolationMode& mode, bool outliers, bool zeros, std::size_t vectors,
                std::vector<std::byte>& bytes) {
  const auto bit = [](bool set, int at) { return (set ? 1u : 0u) << at; };
  const bool feedback = mode.has_feedback();
  bytes.push_back(static_cast<std::byte>(
      bit(mode.along[0], 0) | bit(mode.along[1], 1) | bit(mode.along[2], 2) | bit(mode.cubic, 3) |
      unsigned{mode.stencils ? kStencilMark : mode.weights} << 4 | bit(mode.average, 6) |
      bit(mode.tighten, 7)));
  bytes.push_back(static_cast<std::byte>(
      bit(mode.keep_zeros, 0) | bit(feedback, 1) | bit(outliers, 2) | bit(mode.raise != 0, 3) |
      (vectors == kAdaptive ? 3u : static_cast<unsigned>(vectors / 2)) << 4 |
      unsigned{mode.level_limit} << 6));
  bytes.push_back(static_cast<std::byte>(mode.shrink | bit(zeros, 7)));
  if (mode.raise != 0) bytes.push_back(static_cast<std::byte>(mode.raise));
  if (feedback) {
    for (const std::int8_t f : mode.feedback) bytes.push_back(static_cast<std::byte>(f));
  }
  if (!mode.stencils) return;
  for (const StencilScale& scale : mode.scales) {
    for (const std::uint8_t part :
         {scale.curvature, scale.above, scale.behind, scale.beside, scale.floor}) {
      bytes.push_back(static_cast<std::byte>(part));
    }
  }
}

struct ReadMode {
  InterpolationMode mode;
  bool outliers = false;
  bool zeros = false;
  std::size_t vectors = 1;
};
Result<ReadMode> read_mode(ByteReader& reader) {
  ReadMode result;
  InterpolationMode& mode = result.mode;
  TRY(const auto first, reader.read<std::uint8_t>());
  TRY(const auto second, reader.read<std::uint8_t>());
  TRY(const auto third, reader.read<std::uint8_t>());
  mode.shrink = third & 127;
  result.zeros = third >= 128;
  for (std::size_t axis = 0; axis < 3; ++axis) mode.along[axis] = ((first >> axis) & 1) != 0;
  mode.cubic = (first & 8) != 0;
  const auto weights = static_cast<std::uint8_t>((first >> 4) & 3);
  mode.stencils = weights == kStencilMark;
  mode.weights = mode.stencils ? std::uint8_t{0} : weights;
  mode.average = (first & 64) != 0;
  mode.tighten = (first & 128) != 0;
  mode.keep_zeros = (second & 1) != 0;
  result.outliers = (second & 4) != 0;
  result.vectors = std::size_t{1} << ((second >> 4) & 3);
  static_assert(kAdaptive == std::size_t{1} << 3);
  mode.level_limit = second >> 6;
  if ((second & 8) != 0) {
    TRY(mode.raise, reader.read<std::uint8_t>());
  }
  if ((second & 2) != 0) {
    for (std::int8_t& f : mode.feedback) {
      TRY(const auto byte, reader.read<std::uint8_t>());
      f = static_cast<std::int8_t>(byte);
    }
  }
  if (mode.stencils) {
    for (StencilScale& scale : mode.scales) {
      for (std::uint8_t* const part :
           {&scale.curvature, &scale.above, &scale.behind, &scale.beside, &scale.floor}) {
        TRY(*part, reader.read<std::uint8_t>());
      }
    }
  }
  return result;
}

// Whichever is shorter.
template <class T>
void append_listed_or_flagged(const ZeroList& zeros, Forward<T>& forward,
                              std::span<const T> originals, const Extents& extents, double bound,
                              std::vector<std::byte>& bytes) {
  if (!forward.values().empty()) {
    for (const Outlier<T>& outlier : forward.outliers()) {
      forward.values()[outlier.position] = outlier.value;
    }
    const auto flags = flag_zeros<T>(forward.values(), originals, extents, bound);
    if (flags.size() + 3 < bytes_of(zeros)) return append_zero_flags(flags, bytes);
  }
  append_zeros(zeros, bytes);
}

// The coarsest values and the residuals.
template <class T>
void write_adaptive(Forward<T>& forward, BitEncoder& coder) {
  AdaptiveRows<BitEncoder> rows;
  ByteReader anchors(forward.anchors());
  while (anchors.remaining() > 0) rows.number(coder, *anchors.read_varint());
  for (const RowSpan& span : forward.spans()) {
    rows.row(coder, span.group, forward.classes().subspan(span.start, span.count),
             forward.residuals().data() + span.start);
  }
}

}  // namespace

template <class T>
std::optional<std::size_t> encode_interpolation(const bounded::Field<T>& field, double bound,
                                                const InterpolationMode& mode,
                                                const ZeroList& zeros, std::span<std::byte> output,
                                                ChunkWorkspace& workspace) {
  const Folding folding = fold(field.shape);
  if (!valid_axes(mode.along, folding.extents)) return std::nullopt;
  if (mode.stencils && !suits_stencils(mode, folding.extents)) return std::nullopt;
  const std::size_t count = field.values.size();
  Forward<T> forward(workspace);
  forward.set_fitting({.samples = mode.fit_samples,
                       .reach = mode.wide_stencils && count >= kManyValues ? StencilReach::fourteen
                                                                           : StencilReach::nine});
  const auto values = prepare_values(field, folding, workspace);
  const bool zeros_listed = !mode.keep_zeros && !zeros.runs.empty();
  if (zeros_listed) forward.keep_values();
  if (!forward.run(values, folding.extents, mode, bound, count / 8 + 1)) return std::nullopt;

  const std::size_t groups = forward.residuals().size() / kernels::kRansGroup;
  const bool adaptive = groups > 0 && hardly_any(count_not_zero(forward.residuals()),
                                                 forward.residuals().size(), mode.rare);
  std::vector<std::byte> header, map;
  ChosenMap chosen;
  if (!adaptive) {
    chosen = choose_map_by_sample(
        [&](std::size_t wanted) {
          return sample_histogram(forward.spans(), forward.classes().data(),
                                  forward.residuals().data(), wanted);
        },
        kSampledResiduals, map);
  }
  const std::size_t vectors = adaptive ? kAdaptive : vectors_for(groups, chosen.cost);
  write_mode(mode, !forward.outliers().empty(), zeros_listed, vectors, header);
  if (mode.stencils) {
    append_stencils(forward.stencils(), Lattice(folding.extents, mode.along, mode.level_limit),
                    header);
  }
  header.insert(header.end(), map.begin(), map.end());
  if (!adaptive) header.insert(header.end(), forward.anchors().begin(), forward.anchors().end());
  if (!forward.outliers().empty()) append_outliers(forward.outliers(), header);
  if (zeros_listed)
    append_listed_or_flagged(zeros, forward, values, folding.extents, bound, header);
  if (header.size() > output.size()) return std::nullopt;
  std::copy(header.begin(), header.end(), output.begin());
  if (groups == 0) return header.size();
  if (adaptive) {
    BitEncoder coder;
    write_adaptive(forward, coder);
    const std::vector<std::byte>& bits = coder.finish();
    if (header.size() + bits.size() > output.size()) return std::nullopt;
    std::ranges::copy(bits, output.begin() + static_cast<std::ptrdiff_t>(header.size()));
    return header.size() + bits.size();
  }

  const auto words =
      write_residuals(forward.spans(), chosen.map, forward.classes(), forward.residuals(), vectors,
                      output.subspan(header.size()), workspace);
  return words ? std::optional(header.size() + *words) : std::nullopt;
}

template <class T>
Result<void> decode_interpolation(std::span<const std::byte> input, const Shape& shape,
                                  double bound, std::span<T> output, ChunkWorkspace& workspace) {
  const Folding folding = fold(shape);
  ByteReader reader(input);
  TRY(const auto read, read_mode(reader));
  const InterpolationMode& mode = read.mode;
  if (!valid_axes(mode.along, folding.extents)) {
    return corrupt("an interpolated chunk names axes that ", shape.to_string(), " does not have");
  }
  if (mode.stencils && !suits_stencils(mode, folding.extents)) {
    return corrupt("an interpolated chunk has stencils that do not suit ", shape.to_string());
  }
  const Lattice lattice(folding.extents, mode.along, mode.level_limit);
  StencilSet stencils;
  if (mode.stencils) {
    TRY(stencils, read_stencils(reader, lattice));
  }
  const bool adaptive = read.vectors == kAdaptive;
  TableMap map;
  if (!adaptive) {
    TRY(map, read_map(reader));
  }
  const ModelSet<T> models(mode, bound, lattice);
  auto& shared = workspace.memory.of<PredictorBuffers>();
  auto& buffers = workspace.memory.of<InterpolationBuffers>();
  PassBuffers<T> passes(buffers.passes.reserve_as<T>(PassBuffers<T>::elements_needed(lattice)),
                        lattice);
  T* const target =
      folding.components == 1 ? output.data() : buffers.values.reserve_as<T>(output.size()).data();
  T* coarse = lattice.levels == 0 ? target : passes.level[lattice.levels];
  if (!adaptive) {
    RETURN_IF_ERROR(read_anchors(reader, lattice, models.anchor_step(lattice), coarse));
  } else if (lattice.levels == 0) {
    return corrupt("an interpolated chunk of one level has adaptive bits");
  }
  std::vector<Outlier<T>> outliers;
  if (read.outliers) {
    TRY(outliers, read_outliers<T>(reader, output.size()));
  }
  ZeroList zeros;
  if (read.zeros) {
    TRY(zeros, read_zeros(reader, output.size()));
  }
  if (lattice.levels > 0) {
    TRY(const auto words, reader.take(reader.remaining()));
    kernels::RansDecoder rans;
    if (!adaptive && !rans.start(words, read.vectors)) {
      return truncated("an interpolated chunk ends within its coder's states");
    }
    const std::size_t row = folding.extents[2] + 4 * kernels::kRowSlack;
    RowDecoder<T> decoder(
        models, kernels::interpolation_kernels<T>(workspace.isa), map, rans,
        kernels::rans_kernels(workspace.isa).decode_values,
        {buffers.rows.reserve_as<T>(row), shared.classes.reserve_as<std::uint8_t>(row),
         shared.residuals.reserve_as<std::int32_t>(row)});
    std::optional<AdaptiveRows<BitDecoder>> adaptive_rows;
    BitDecoder bits(adaptive ? words : std::span<const std::byte>());
    if (adaptive) {
      adaptive_rows.emplace();
      decoder.set_adaptive(*adaptive_rows, bits);
      const auto next = [&]() -> Result<std::uint64_t> { return adaptive_rows->number(bits, 0); };
      RETURN_IF_ERROR(read_anchors<T>(next, lattice, models.anchor_step(lattice), coarse));
    }
    const StoredWeights<T> stored(stencils);
    StencilMemory<T> grids;
    if (mode.stencils) grids = stencil_memory<T>(lattice, shared, buffers);
    for (int level = lattice.levels; level >= 1; --level) {
      T* const fine = level > 1 ? passes.level[level - 1] : target;
      const T* const end = fine + lattice.count(level - 1) + (level > 1 ? 64 : 0);
      if (mode.stencils) {
        StencilPasses<T, RowDecoder<T>, const StoredWeights<T>> stencil_passes(
            lattice, level, mode, stencils.reach, passes, grids,
            kernels::stencil_kernels<T>(workspace.isa), decoder, stored);
        if (!stencil_passes.run(coarse, fine)) {
          return truncated("an interpolated chunk ends within its residuals");
        }
        coarse = fine;
        continue;
      }
      LevelPasses<T, RowDecoder<T>> level_passes(lattice, level, mode, passes, fine, end, decoder);
      if (!level_passes.run(coarse)) {
        return truncated("an interpolated chunk ends within its residuals");
      }
      coarse = fine;
    }
    if (!(adaptive ? bits.finished() : rans.finished())) {
      return corrupt("an interpolated chunk does not end where it should");
    }
  } else if (reader.remaining() != 0) {
    return corrupt("an interpolated chunk has ", reader.remaining(), " bytes too many");
  }
  for (const auto& outlier : outliers) target[outlier.position] = outlier.value;
  RETURN_IF_ERROR(set_zeros(zeros, std::span(target, output.size()), folding.extents, bound));
  if (folding.components > 1) {
    transpose(target, folding.components, output.size() / folding.components, output.data());
  }
  return {};
}

template std::optional<std::size_t> encode_interpolation(const bounded::Field<float>&, double,
                                                         const InterpolationMode&, const ZeroList&,
                                                         std::span<std::byte>, ChunkWorkspace&);
template std::optional<std::size_t> encode_interpolation(const bounded::Field<double>&, double,
                                                         const InterpolationMode&, const ZeroList&,
                                                         std::span<std::byte>, ChunkWorkspace&);
template Result<void> decode_interpolation(std::span<const std::byte>, const Shape&, double,
                                           std::span<float>, ChunkWorkspace&);
template Result<void> decode_interpolation(std::span<const std::byte>, const Shape&, double,
                                           std::span<double>, ChunkWorkspace&);

}  // namespace tensorpress::dense
