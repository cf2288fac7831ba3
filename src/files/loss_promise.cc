// What a variable promises about its distance from an original (file_comparison.h).
#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "files/file_comparison.h"
#include "stream/history.h"

namespace tensorpress::files {
namespace {

/// A filter's bound of a range or a PSNR holds for each chunk and is no error that adds up.
std::optional<Bound> error_of(const Hdf5FilterSettings& filter) {
  if (!filter.bound) return std::nullopt;
  const Bound::Kind kind = filter.bound->kind();
  const bool adds_up = kind == Bound::Kind::absolute || kind == Bound::Kind::pointwise_relative;
  return adds_up ? filter.bound : std::nullopt;
}

Result<stream::History> steps_of(const LossNotes& notes) {
  TRY(stream::History steps, stream::parse_history(notes.history));
  if (!notes.filter) return steps;
  stream::HistoryStep own{.codec = notes.filter->codec.name(), .error = error_of(*notes.filter)};
  // Other tools put our filter onto values without telling the history.
  if (steps.empty() || steps.back() != own) steps.push_back(std::move(own));
  return steps;
}

}  // namespace

ComparedVariable one_sided(std::string path, std::string which) {
  ComparedVariable variable;
  variable.path = std::move(path);
  variable.differences.push_back(std::move(which));
  return variable;
}

std::string values_differ(std::uint64_t count) {
  return text(count, count == 1 ? " value differs" : " values differ",
              "; they must be the same bit for bit");
}

bool may_differ(std::string_view attribute) {
  return attribute == "history" || attribute == "_NCProperties" || attribute == "REFERENCE_LIST" ||
         attribute.starts_with("tensorpress_");
}

Result<Promise> promise_of(const LossNotes& original, const LossNotes& copy) {
  TRY(const stream::History before, steps_of(original));
  TRY(stream::History steps, steps_of(copy));
  const bool goes_on =
      before.size() <= steps.size() && std::equal(before.begin(), before.end(), steps.begin());
  if (goes_on)
    steps.erase(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(before.size()));
  Promise promise;
  promise.lossy = !steps.empty();
  promise.bound = stream::error_of(steps);
  if (!copy.filter || !promise.lossy) return promise;
  // Of a single step the filter's own words are all there is to say, "rel 0.001" among them.
  if (steps.size() == 1) promise.bound = copy.filter->bound;
  promise.fill_values = copy.filter->fill_values;
  const auto& chunk = copy.filter->chunk;
  if (chunk && chunk->fill_value) promise.fill_values.push_back(*chunk->fill_value);
  std::erase_if(promise.fill_values, [](double fill) { return !std::isfinite(fill); });
  return promise;
}

}  // namespace tensorpress::files
