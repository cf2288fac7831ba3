// What a variable promises about its distance from an original (file_comparison.h).
#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "files/rewriting/file_comparison.h"
#include "files/rewriting/provenance.h"

namespace tensorpress::files {
namespace {

stream::History steps_of(const LossNotes& notes) {
  stream::History steps = notes.history;
  if (notes.filter) add_step(*notes.filter, steps);
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
  return attribute == kFileHistory || attribute == "_NCProperties" ||
         attribute == "REFERENCE_LIST" || is_own_attribute(attribute);
}

Promise promise_of(const LossNotes& original, const LossNotes& copy) {
  const stream::History before = steps_of(original);
  stream::History steps = steps_of(copy);
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
