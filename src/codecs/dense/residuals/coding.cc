#include "codecs/dense/residuals/coding.h"

#include <algorithm>
#include <bit>

#include "codecs/dense/predictor_buffers.h"

namespace tensorpress::dense {

std::size_t vectors_for(std::size_t groups, std::uint64_t cost) {
  const std::uint64_t bytes = cost / kCostUnit / 8;
  if (groups < 512 || bytes < 1500) return 1;
  return groups < 4096 || bytes < 4000 ? 2 : 4;
}

std::size_t count_not_zero(std::span<const std::int32_t> residuals) {
  std::size_t some = 0;
  for (const std::int32_t residual : residuals) some += residual != 0 ? 1 : 0;
  return some;
}

ResidualHistogram sample_histogram(const std::vector<RowSpan>& spans, const std::uint8_t* classes,
                                   const std::int32_t* residuals, std::size_t wanted) {
  ResidualHistogram histogram;
  std::array<std::size_t, kRowGroups> group_sizes{};
  for (const RowSpan& span : spans) group_sizes[span.group] += span.count;
  std::array<std::size_t, kRowGroups> period{};
  for (std::size_t g = 0; g < kRowGroups; ++g) {
    period[g] = std::bit_floor(std::max<std::size_t>(1, group_sizes[g] / wanted));
    histogram.sampled[g] = static_cast<std::uint32_t>(period[g]);
  }
  std::size_t offset = 0;
  for (const RowSpan& span : spans) {
    // Pieces of 16, a different place in each row.
    const std::size_t step = 16 * period[span.group];
    offset = (offset + 48) % step;
    for (std::size_t i = offset / 16 * 16; i < span.count; i += step) {
      histogram.add(span.group, classes + span.start + i, residuals + span.start + i,
                    std::min<std::size_t>(16, span.count - i));
    }
  }
  return histogram;
}

ChosenMap choose_map_by_sample(const std::function<ResidualHistogram(std::size_t)>& histogram_of,
                               std::size_t wanted, std::vector<std::byte>& bytes) {
  constexpr std::uint64_t kFewBytes = 8192;
  std::vector<std::byte> map;
  const auto choose = [&](std::size_t counted) {
    map.clear();
    return choose_map(histogram_of(counted), residual_tables(), &map);
  };
  ChosenMap chosen = choose(wanted);
  if (chosen.cost / kCostUnit / 8 < kFewBytes) chosen = choose(kAllResiduals);
  bytes.insert(bytes.end(), map.begin(), map.end());
  return chosen;
}

std::optional<std::size_t> write_residuals(const std::vector<RowSpan>& spans, const TableMap& map,
                                           std::span<std::uint8_t> classes,
                                           std::span<const std::int32_t> residuals,
                                           std::size_t vectors, std::span<std::byte> output,
                                           ChunkWorkspace& workspace) {
  const std::size_t groups = residuals.size() / kernels::kRansGroup;
  const auto translate = kernels::interpolation_kernels<float>(workspace.isa).translate;
  for (const RowSpan& span : spans) {
    std::uint8_t* const row = classes.data() + span.start;
    translate(map.ids[span.group].data(), row, span.count);
    std::fill(row + span.count, row + padded_count(span.count), std::uint8_t{0});
  }
  const auto coded = workspace.memory.of<PredictorBuffers>().coded.reserve(
      output.size() + kernels::RansEncoder::kSlackBytes + 64);
  kernels::RansEncoder encoder;
  encoder.start(coded, vectors, groups);
  kernels::rans_kernels(workspace.isa)
      .encode_values(encoder, residual_tables().rans(), classes.data(), groups, residuals.data());
  const auto words = encoder.finish();
  if (!words || words->size() > output.size()) return std::nullopt;
  std::copy(words->begin(), words->end(), output.begin());
  return words->size();
}

}  // namespace tensorpress::dense
