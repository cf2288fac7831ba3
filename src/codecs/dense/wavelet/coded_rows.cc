#include "codecs/dense/wavelet/coded_rows.h"

#include <algorithm>
#include <cstring>

namespace tensorpress::dense {
namespace {

constexpr std::size_t kGroup = kernels::kRansGroup;
// Groups of quanta that the tables of a group of bands are chosen by.
constexpr std::size_t kCounted = 4096;

bool all_zero(const std::uint8_t* bytes) {
  std::uint64_t halves[2];
  static_assert(sizeof halves == kGroup);
  std::memcpy(halves, bytes, sizeof halves);
  return (halves[0] | halves[1]) == 0;
}

bool all_zero(const std::int32_t* quanta) {
  std::int32_t any = 0;
  for (std::size_t i = 0; i < kGroup; ++i) any |= quanta[i];
  return any == 0;
}

// As ResidualHistogram::add, for groups that are mostly zeros of one class.
void count_group(ResidualHistogram& histogram, std::size_t group, const std::uint8_t* classes,
                 const std::int32_t* quanta, std::size_t count) {
  if (count < kGroup || !all_zero(quanta)) return histogram.add(group, classes, quanta, count);
  auto& counts = histogram.counts[group];
  std::uint64_t halves[2];
  std::memcpy(halves, classes, sizeof halves);
  if (halves[0] == halves[1] && halves[0] == classes[0] * std::uint64_t{0x0101010101010101}) {
    counts[classes[0]][0] += kGroup;
    histogram.used[group] |= 1u << classes[0];
    return;
  }
  std::uint32_t met = 0;
  for (std::size_t i = 0; i < kGroup; ++i) {
    ++counts[classes[i]][0];
    met |= 1u << classes[i];
  }
  histogram.used[group] |= met;
}

}  // namespace

CodedRows::CodedRows(PredictorBuffers& buffers, std::size_t most)
    : buffers_(buffers),
      quanta_(buffers.residuals.reserve_as<std::int32_t>(most + 64)),
      classes_(buffers.classes.reserve_as<std::uint8_t>(most + 64)) {}

void CodedRows::add_span(const BandRow& row, bool empty) {
  const auto group = static_cast<std::uint16_t>(correcting_ ? 0 : row.group);
  (correcting_ ? corrections_ : coefficients_)
      .push_back({used_, static_cast<std::uint32_t>(row.count), group, empty, row.only_class});
  used_ += padded_count(row.count);
}

std::int32_t* CodedRows::begin(const BandRow& row) {
  std::int32_t* const quanta = quanta_.data() + used_;
  std::uint8_t* const classes = classes_.data() + used_;
  const std::size_t padded = padded_count(row.count);
  if (row.is_quiet) row.write_only_class();
  std::copy_n(row.classes, row.count, classes);
  std::fill(quanta + row.count, quanta + padded, 0);
  std::fill(classes + row.count, classes + padded, std::uint8_t{0});
  add_span(row, false);
  return quanta;
}

void CodedRows::add_zeros(const BandRow& row) {
  if (row.is_quiet) return add_span(row, true);
  std::fill_n(begin(row), row.count, 0);
}

std::size_t CodedRows::count_not_zero() const {
  std::size_t some = 0;
  for (const auto* const rows : {&coefficients_, &corrections_}) {
    for (const Span& span : *rows) {
      if (!span.empty) some += dense::count_not_zero(quanta_.subspan(span.start, span.count));
    }
  }
  return some;
}

void CodedRows::begin_corrections() {
  if (!correcting_) used_by_coefficients_ = used_;
  correcting_ = true;
  used_ = used_by_coefficients_;
  corrections_.clear();
}

// Counts about `wanted` of the groups of quanta that are not silent.
ResidualHistogram CodedRows::histogram_of(const std::vector<Span>& rows,
                                          const std::array<bool, kBandGroups>& silent,
                                          std::size_t wanted) const {
  std::array<std::uint32_t, kBandGroups> active{}, period{}, met{};
  const auto for_active = [&](const auto& use) {
    for (const Span& span : rows) {
      if (span.empty && silent[span.group] && span.only_class == 0) continue;
      for (std::size_t start = 0; start < span.count; start += kGroup) {
        if (!span.empty && silent[span.group] && all_zero(classes_.data() + span.start + start)) {
          continue;
        }
        use(span, start);
      }
    }
  };
  for_active([&](const Span& span, std::size_t) { ++active[span.group]; });
  ResidualHistogram histogram;
  for (std::size_t g = 0; g < kBandGroups; ++g) {
    histogram.sampled[g] = period[g] =
        static_cast<std::uint32_t>(std::max<std::size_t>(1, active[g] / wanted));
  }
  for_active([&](const Span& span, std::size_t start) {
    if (met[span.group]++ % period[span.group] != 0) return;
    const std::size_t count = std::min<std::size_t>(kGroup, span.count - start);
    if (span.empty) {
      histogram.counts[span.group][span.only_class][0] += static_cast<std::uint32_t>(count);
      histogram.used[span.group] |= 1u << span.only_class;
      return;
    }
    count_group(histogram, span.group, classes_.data() + span.start + start,
                quanta_.data() + span.start + start, count);
  });
  for (std::size_t g = 0; g < kBandGroups; ++g) {
    if (silent[g]) histogram.used[g] &= ~1u;
  }
  return histogram;
}

std::uint64_t CodedRows::choose_tables(const WaveletHeader& header, std::vector<std::byte>& bytes,
                                       Isa isa) {
  std::array<Ids, kBandGroups> ids{}, correction_ids{};
  std::array<bool, kBandGroups> silent{};
  for (std::size_t g = 0; g < kBandGroups; ++g) silent[g] = header.is_silent(g);
  const auto choose = [&](const std::vector<Span>& rows) {
    return choose_map_by_sample(
        [&](std::size_t wanted) { return histogram_of(rows, silent, wanted); }, kCounted, bytes);
  };
  const ChosenMap chosen = choose(coefficients_);
  for (std::size_t g = 0; g < kBandGroups; ++g) ids[g] = ids_of(chosen.map.ids[g], silent[g]);
  std::uint64_t cost = chosen.cost;
  if (header.corrections) {
    silent[0] = header.is_silent(kCorrections);
    const ChosenMap own = choose(corrections_);
    correction_ids[0] = ids_of(own.map.ids[0], silent[0]);
    cost += own.cost;
  }
  compact(coefficients_, ids, isa);
  if (header.corrections) compact(corrections_, correction_ids, isa);
  return cost;
}

void CodedRows::write_adaptive(BitEncoder& coder) const {
  AdaptiveRows<BitEncoder> rows;
  std::vector<std::int32_t> zeros;
  std::vector<std::uint8_t> one_class;
  const auto write = [&](const Span& span, std::size_t group) {
    if (!span.empty) {
      rows.row(coder, group, classes_.subspan(span.start, span.count), quanta_.data() + span.start);
      return;
    }
    zeros.assign(span.count, 0);
    one_class.assign(span.count, span.only_class);
    rows.row(coder, group, one_class, zeros.data());
  };
  for (const Span& span : coefficients_) write(span, span.group);
  for (const Span& span : corrections_) write(span, kCorrections);
}

void CodedRows::compact(const std::vector<Span>& rows, const std::array<Ids, kBandGroups>& ids,
                        Isa isa) {
  const auto translate = kernels::interpolation_kernels<float>(isa).translate;
  for (const Span& span : rows) {
    std::uint8_t* const row = classes_.data() + span.start;
    const std::size_t count = span.count, padded = padded_count(count);
    if (span.empty) {
      if (ids[span.group][span.only_class] == 0) continue;
      std::memset(row, span.only_class, padded);
      std::fill_n(quanta_.data() + span.start, padded, 0);
    }
    translate(ids[span.group].data(), row, padded);
    for (std::size_t at = count; at < padded; ++at) row[at] = 0;
    for (std::size_t start = 0; start < padded; start += kGroup) {
      if (all_zero(row + start)) continue;
      const std::size_t from = span.start + start, to = groups_++ * kGroup;
      std::memmove(classes_.data() + to, classes_.data() + from, kGroup);
      std::memmove(quanta_.data() + to, quanta_.data() + from, kGroup * sizeof(std::int32_t));
    }
  }
}

std::optional<std::size_t> CodedRows::write(std::size_t vectors, std::span<std::byte> output,
                                            Isa isa) {
  const auto coded = buffers_.coded.reserve(output.size() + kernels::RansEncoder::kSlackBytes + 64);
  kernels::RansEncoder encoder;
  encoder.start(coded, vectors, groups_);
  kernels::rans_kernels(isa).encode_values(encoder, residual_tables().rans(), classes_.data(),
                                           groups_, quanta_.data());
  const auto words = encoder.finish();
  if (!words || words->size() > output.size()) return std::nullopt;
  std::ranges::copy(*words, output.begin());
  return words->size();
}

}  // namespace tensorpress::dense
