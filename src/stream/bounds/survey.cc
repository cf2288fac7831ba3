#include "stream/bounds/survey.h"

#include <algorithm>
#include <vector>

#include "base/errors.h"
#include "base/tensor/contiguous.h"
#include "base/tensor/stored_value.h"
#include "kernels/value_scan/value_scan.h"
#include "stream/bounds/trial.h"
#include "stream/chunks/for_chunks.h"

namespace tensorpress::stream {
namespace {

// Of a whole tensor: one value in so many, as long as that is no more than the most. Where a small
// tensor's samples say too little, it is looked at again, which takes less than more samples do.
constexpr std::uint64_t kValuesASample = 16;
constexpr std::uint64_t kLeastSamples = 512, kMostSamples = 1 << 14;

class Slot {
 public:
  explicit Slot(Isa isa) : isa_(isa) {}

  Result<void> read(TensorSource& source, const Region& region) {
    TRY(view_, source.read(region, scratch_));
    return {};
  }

  void look(std::span<const double> fill_values, std::size_t samples) {
    if (view_.dtype == DType::f64) {
      look_as<double>(fill_values, samples);
    } else {
      look_as<float>(fill_values, samples);
    }
  }

  const ChunkHint& hint() const { return hint_; }
  std::span<const double> samples() const { return samples_; }

 private:
  template <class T>
  void look_as(std::span<const double> fill_values, std::size_t samples) {
    const auto values = contiguous_values<T>();
    std::vector<T> fills;
    for (const double fill : fill_values) {
      fills.push_back(static_cast<T>(as_stored(fill, view_.dtype)));
    }
    const auto scan = kernels::value_scan<T>(isa_)(values, fills);
    hint_ = {static_cast<double>(scan.min), static_cast<double>(scan.max), scan.specials,
             scan.zeros};
    samples_.clear();
    const std::size_t step =
        std::max<std::size_t>(values.size() / std::max<std::size_t>(samples, 1), 1);
    for (std::size_t i = step / 2; i < values.size(); i += step) {
      if (!kernels::is_special<T>(values[i], fills)) {
        samples_.push_back(static_cast<double>(values[i]));
      }
    }
  }

  template <class T>
  std::span<const T> contiguous_values() {
    const auto count = static_cast<std::size_t>(view_.element_count());
    const bool same_type = view_.dtype == DType::f32 || view_.dtype == DType::f64;
    const bool aligned = reinterpret_cast<std::uintptr_t>(view_.data) % alignof(T) == 0;
    if (view_.is_contiguous() && same_type && aligned) {
      return {reinterpret_cast<const T*>(view_.data), count};
    }
    const std::byte* const elements = contiguous_elements(view_, elements_);
    const auto values = values_.reserve_as<T>(count);
    load_elements(view_.dtype, elements, static_cast<std::int64_t>(size_of(view_.dtype)), count,
                  values.data());
    return values;
  }

  Isa isa_;
  TensorView view_;
  AlignedBuffer scratch_, elements_, values_;
  ChunkHint hint_;
  std::vector<double> samples_;
};

}  // namespace

Result<std::vector<Sighting>> look_at_chunks(TensorSource& source, const ChunkGrid& grid,
                                             std::span<const std::uint64_t> chunks,
                                             std::span<const double> fill_values,
                                             const Execution& execution) {
  std::vector<Sighting> sightings;
  if (chunks.empty()) return sightings;
  const std::uint64_t count = grid.chunk_count();
  const std::uint64_t bytes_per_chunk =
      grid.region(0).extent.element_count() * size_of(source.dtype());
  const std::uint64_t wanted =
      std::clamp(grid.shape().element_count() / kValuesASample, kLeastSamples, kMostSamples);
  const auto samples_per_chunk =
      static_cast<std::size_t>(std::max<std::uint64_t>(wanted / count, count < wanted ? 1 : 0));
  Slots<Slot> slots;
  RETURN_IF_ERROR(for_chunks(
      ChunkNumbers::of(chunks), execution, bytes_per_chunk, slots,
      [&](Slot& slot, std::uint64_t number) { return slot.read(source, grid.region(number)); },
      [&](Slot& slot, std::uint64_t) { slot.look(fill_values, samples_per_chunk); },
      [&](Slot& slot, std::uint64_t) -> Result<void> {
        sightings.push_back({slot.hint(), {slot.samples().begin(), slot.samples().end()}});
        return {};
      }));
  return sightings;
}

Survey conclude(std::span<const Sighting> all_chunks) {
  Survey survey{.range = {HUGE_VAL, -HUGE_VAL}};
  for (const Sighting& sighting : all_chunks) {
    survey.range.low = std::min(survey.range.low, sighting.hint.min);
    survey.range.high = std::max(survey.range.high, sighting.hint.max);
    survey.chunks.push_back(sighting.hint);
    survey.samples.insert(survey.samples.end(), sighting.samples.begin(), sighting.samples.end());
  }
  survey.has_values = survey.range.low <= survey.range.high;
  if (!survey.has_values) survey.range = {};
  return survey;
}

Result<Survey> survey_values(TensorSource& source, const ChunkGrid& grid,
                             std::span<const double> fill_values, const Execution& execution) {
  TRY(const auto sightings, look_at_chunks(source, grid, all_chunks(grid), fill_values, execution));
  return conclude(sightings);
}

}  // namespace tensorpress::stream
