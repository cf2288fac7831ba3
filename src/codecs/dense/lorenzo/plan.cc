#include "codecs/dense/lorenzo/plan.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <vector>

#include "codecs/dense/varint.h"
#include "kernels/lorenzo/lorenzo_row.h"

namespace tensorpress::dense {
namespace {

// Beyond this many steps the rounding of float(q) * step would cost more than wide quanta do;
// doubles do not care, but their differences have to fit the largest scale.
template <class T>
constexpr double kNarrowQuanta = sizeof(T) == 4 ? 1 << 17 : 1 << 24;
constexpr double kWideQuanta = 0x1p50;

std::uint8_t shrink_code(double margin) {
  if (margin <= 127 / 4096.0) return static_cast<std::uint8_t>(1 + static_cast<int>(margin * 4096));
  return static_cast<std::uint8_t>(std::min(255.0, 113 + std::floor(margin * 512)));
}

// --- Samples ---------------------------------------------------------------------------------

constexpr std::size_t kSegment = 256;
constexpr std::size_t kLead = 2;  // values before a segment that predict it

constexpr std::array<LorenzoAxes, 9> kCandidates = {{{1, false, false},
                                                     {2, false, false},
                                                     {0, true, false},
                                                     {1, true, false},
                                                     {2, true, false},
                                                     {0, false, true},
                                                     {1, false, true},
                                                     {0, true, true},
                                                     {1, true, true}}};

struct Cost {
  double total[2] = {0, 0};  // blocks of 16 and of 32
  std::size_t values = 0;
};

// Quanta of one stretch of memory and of its neighbours above, behind and both.
template <class Q>
struct Segment {
  std::size_t start = 0;  // of the stretch, without its lead
  std::size_t count = 0;
  alignas(64) std::array<std::array<Q, kSegment + 32>, 4> q;
};

template <class T>
void quantize_stretch(const T* x, std::size_t count, const kernels::LorenzoQuantizer<T>& quantizer,
                      std::int32_t* q) {
  for (std::size_t i = 0; i < count; ++i) kernels::lorenzo::quantize_value(x[i], quantizer, q[i]);
}
template <class T>
void quantize_stretch(const T* x, std::size_t count, const WideQuantizer& quantizer,
                      std::int64_t* q) {
  for (std::size_t i = 0; i < count; ++i) quantize_wide(x[i], quantizer, q[i]);
}

// Differences of a segment as the coder would make them: at the start of a row nothing is left.
template <class Q>
void segment_differences(const Segment<Q>& segment, const Fold& fold, const LorenzoAxes& axes,
                         const kernels::LorenzoKernels& kernels, Q* d) {
  kernels::LorenzoRow<Q> row;
  row.above = axes.y ? segment.q[1].data() : nullptr;
  row.behind = axes.z ? segment.q[2].data() : nullptr;
  row.corner = axes.y && axes.z ? segment.q[3].data() : nullptr;
  row.order = axes.x_order;
  const Q* q = segment.q[0].data();
  const std::size_t end = kLead + segment.count;
  if constexpr (std::is_same_v<Q, std::int32_t>) {
    kernels.difference(q, d, end, row);
  } else {
    kernels::lorenzo::difference_row(q, d, 0, end, row);
  }
  const std::size_t into_row = segment.start % fold.nx;
  for (std::size_t i = into_row == 0 ? 0 : fold.nx - into_row; i < segment.count; i += fold.nx) {
    const std::size_t at = kLead + i;
    const auto rest = kernels::lorenzo::residual(q, at, row);
    const bool alone = !axes.y && !axes.z && fold.rows() > 1;
    using U = std::make_unsigned_t<Q>;
    d[at] = static_cast<Q>(alone ? rest - static_cast<U>(segment.q[1][at]) : rest);
    if (axes.x_order == 2 && at + 1 < end) {
      d[at + 1] = static_cast<Q>(kernels::lorenzo::residual(q, at + 1, row) - rest);
    }
  }
}

void add_cost(const std::int32_t* d, std::size_t count, const LorenzoModel& model,
              const kernels::LorenzoKernels& kernels, Cost& cost) {
  std::uint16_t cells[kSegment / 16];
  for (int log2_block = 4; log2_block <= 5; ++log2_block) {
    const std::size_t blocks = count >> log2_block;
    kernels.cells(d, blocks, log2_block, cells);
    float bits = 0;
    std::uint8_t context = model.class_of_cell(cells[0]);
    for (std::size_t block = 0; block < blocks; ++block) {
      const std::uint8_t block_class = model.class_of_cell(cells[block]);
      bits += model.bits_of_cell(cells[block]) * static_cast<float>(1 << log2_block) +
              model.class_bits(class_context(context), block_class);
      context = block_class;
    }
    cost.total[log2_block - 4] += bits;
  }
  cost.values += count;
}

int bit_length(std::uint64_t value) {
  return static_cast<int>(std::bit_width(value));
}

template <class Q>
void add_segment(const Segment<Q>& segment, const Fold& fold, std::size_t candidate,
                 const LorenzoModel& model, const kernels::LorenzoKernels& kernels, Cost& cost) {
  alignas(64) std::array<Q, kSegment + 32> d;
  segment_differences(segment, fold, kCandidates[candidate], kernels, d.data());
  if constexpr (std::is_same_v<Q, std::int32_t>) {
    add_cost(d.data() + kLead, segment.count, model, kernels, cost);
  } else {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < segment.count; ++i) {
      sum += std::min(zigzag64(d[kLead + i]) >> 1, std::uint64_t{1} << 52);
    }
    const int shift = std::max(0, bit_length(sum / segment.count) - 20);
    alignas(64) std::array<std::int32_t, kSegment> high;
    for (std::size_t i = 0; i < segment.count; ++i) {
      high[i] = static_cast<std::int32_t>(
          std::clamp<std::int64_t>(d[kLead + i] >> shift, -(1 << 30), 1 << 30));
    }
    add_cost(high.data(), segment.count, model, kernels, cost);
    for (double& total : cost.total) total += static_cast<double>(shift * segment.count);
  }
}

template <class Q, class T, class Quantizer>
void choose(const bounded::Field<T>& field, const Fold& fold, const Quantizer& quantizer,
            const LorenzoModel& model, const kernels::LorenzoKernels& kernels, LorenzoPlan& plan) {
  const std::size_t plane = fold.ny * fold.nx;
  const bool two = fold.rows() > 1;
  const bool three = fold.nz > 1 && fold.ny > 1;
  const std::size_t row_back = two ? (fold.ny > 1 ? fold.nx : plane) : 0;
  const std::size_t plane_back = three ? plane : 0;
  const std::size_t first = kLead + row_back + plane_back;
  const std::size_t count = fold.count();
  plan.axes = {1, two, false};
  plan.bits = 8.0 * sizeof(T);
  if (count < first + 32) return;
  Segment<Q> segment;
  segment.count = std::min(kSegment, (count - first) / 32 * 32);
  const std::size_t wanted = std::clamp<std::size_t>(count / 48, 1024, 16384);
  const std::size_t places = count - first - segment.count + 1;
  const std::size_t segments =
      std::max<std::size_t>(1, std::min(wanted / segment.count, places / segment.count));
  std::array<Cost, kCandidates.size()> costs{};
  for (std::size_t s = 0; s < segments; ++s) {
    // One in each of equal parts, at a scattered place in it.
    const std::size_t part = places / segments;
    const std::size_t jitter = ((s + 1) * 0x9E3779B97F4A7C15ull >> 33) % part;
    segment.start = first + s * part + jitter;
    const T* x = field.values.data() + segment.start - kLead;
    const std::size_t total = kLead + segment.count;
    quantize_stretch(x, total, quantizer, segment.q[0].data());
    if (two) quantize_stretch(x - row_back, total, quantizer, segment.q[1].data());
    if (three) {
      quantize_stretch(x - plane_back, total, quantizer, segment.q[2].data());
      quantize_stretch(x - plane_back - row_back, total, quantizer, segment.q[3].data());
    }
    for (std::size_t candidate = 0; candidate < kCandidates.size(); ++candidate) {
      const LorenzoAxes& axes = kCandidates[candidate];
      if ((axes.y && !two) || (axes.z && !three)) continue;
      add_segment(segment, fold, candidate, model, kernels, costs[candidate]);
    }
  }
  for (std::size_t candidate = 0; candidate < kCandidates.size(); ++candidate) {
    const Cost& cost = costs[candidate];
    if (cost.values == 0) continue;
    for (int block = 0; block < 2; ++block) {
      const double bits = cost.total[block] / static_cast<double>(cost.values);
      if (bits >= plan.bits) continue;
      plan.bits = bits;
      plan.axes = kCandidates[candidate];
      plan.log2_block = 4 + block;
    }
  }
}

}  // namespace

template <class T>
kernels::LorenzoQuantizer<T> quantizer_of(double bound, double step) {
  // x - q step is rounded only where it is far from the bound, but a bound between two numbers
  // must not be taken for the upper one: hence the number below the one below it.
  T limit = static_cast<T>(bound);
  if (static_cast<double>(limit) > bound) limit = std::nextafter(limit, T{0});
  limit = std::nextafter(limit, T{0});
  return {static_cast<T>(1 / step), static_cast<T>(step), limit};
}

template <class T>
std::optional<LorenzoPlan> plan_lorenzo(const bounded::Field<T>& field, double bound,
                                        const LorenzoModel& model, Isa isa) {
  const auto kernels = kernels::lorenzo_kernels(isa);
  const double largest =
      kernels::conversions_of<T>(kernels).max_magnitude(field.values.data(), field.values.size());
  const double quanta = largest / (2 * bound);
  LorenzoPlan plan;
  plan.wide = quanta > kNarrowQuanta<T>;
  if (quanta > kWideQuanta) return std::nullopt;
  // Roundings of the quotient and of the product, in units of the bound.
  constexpr double kUnit = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
  const double narrow_margin = 1.01 * 4 * kUnit * quanta;
  const double wide_margin = 1.01 * quanta * (0x1p-51 + 2 * kUnit);
  plan.shrink = shrink_code(plan.wide ? wide_margin : narrow_margin);
  plan.step = step_of<T>(bound, plan.shrink, plan.wide);
  const Fold fold = fold_of(field.shape);
  if (plan.wide) {
    choose<std::int64_t>(field, fold, quantizer_of<double>(bound, plan.step), model, kernels, plan);
  } else {
    choose<std::int32_t>(field, fold, quantizer_of<T>(bound, plan.step), model, kernels, plan);
  }
  return plan;
}

template kernels::LorenzoQuantizer<float> quantizer_of(double, double);
template kernels::LorenzoQuantizer<double> quantizer_of(double, double);
template std::optional<LorenzoPlan> plan_lorenzo(const bounded::Field<float>&, double,
                                                 const LorenzoModel&, Isa);
template std::optional<LorenzoPlan> plan_lorenzo(const bounded::Field<double>&, double,
                                                 const LorenzoModel&, Isa);

}  // namespace tensorpress::dense
