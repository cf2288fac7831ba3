#include "model/planner/memory_rows.h"

#include <algorithm>

#include "base/errors.h"

namespace tensorpress::model::planner {
namespace {

struct Change {
  std::size_t position = 0;
  std::size_t candidate = 0;
  std::int64_t bytes = 0;
};

std::vector<Change> changes_of(const Problem& problem, const std::vector<Candidate>& candidates) {
  std::vector<Change> changes;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    const Candidate& each = candidates[c];
    for (const Held& held : problem.activations[each.activation].options[each.option].held) {
      changes.push_back({held.first, c, held.bytes});
      changes.push_back({held.last + 1, c, -held.bytes});
    }
  }
  std::ranges::sort(changes, {}, &Change::position);
  return changes;
}

/// Nowhere above `other`; both with terms ordered by candidate.
bool within(const MemoryRow& row, const MemoryRow& other) {
  if (row.base_bytes > other.base_bytes) return false;
  std::size_t at = 0;
  for (const HeldBy& term : row.terms) {
    while (at < other.terms.size() && other.terms[at].candidate < term.candidate) ++at;
    if (at == other.terms.size() || other.terms[at].candidate != term.candidate ||
        other.terms[at].bytes < term.bytes) {
      return false;
    }
  }
  return true;
}

/// Moves what all options of an activation hold into the base.
void normalize(MemoryRow& row, const std::vector<Candidate>& candidates,
               const std::vector<std::size_t>& options_of) {
  std::vector<HeldBy> left;
  row.most_bytes = row.base_bytes;
  for (std::size_t from = 0; from < row.terms.size();) {
    const std::size_t activation = candidates[row.terms[from].candidate].activation;
    std::size_t to = from;
    std::int64_t least = row.terms[from].bytes;
    std::int64_t most = 0;
    for (; to < row.terms.size() && candidates[row.terms[to].candidate].activation == activation;
         ++to) {
      least = std::min(least, row.terms[to].bytes);
      most = std::max(most, row.terms[to].bytes);
    }
    if (to - from < options_of[activation]) least = 0;
    row.base_bytes += least;
    row.most_bytes += most;
    for (; from < to; ++from) {
      if (row.terms[from].bytes > least) {
        left.push_back({row.terms[from].candidate, row.terms[from].bytes - least});
      }
    }
  }
  row.terms = std::move(left);
}

}  // namespace

Result<std::vector<MemoryRow>> memory_rows(const Problem& problem,
                                           const std::vector<Candidate>& candidates) {
  const std::vector<Change> changes = changes_of(problem, candidates);
  std::size_t segments = 1;
  for (std::size_t i = 1; i < changes.size(); ++i) {
    if (changes[i].position != changes[i - 1].position) ++segments;
  }
  constexpr std::size_t kMostWork = 400'000'000;
  if (segments > kMostWork / std::max<std::size_t>(candidates.size(), 1)) {
    return too_large("a step of ", segments, " different positions and ", candidates.size(),
                     " options is too large to plan");
  }
  std::vector<std::size_t> options_of(problem.activations.size());
  for (const Candidate& each : candidates) ++options_of[each.activation];

  std::vector<MemoryRow> rows;
  std::vector<std::int64_t> now(candidates.size());
  std::size_t next = 0;
  for (std::size_t begin = 0; begin < problem.positions.size();) {
    for (; next < changes.size() && changes[next].position == begin; ++next) {
      now[changes[next].candidate] += changes[next].bytes;
    }
    const std::size_t end = next < changes.size()
                                ? std::min(changes[next].position, problem.positions.size())
                                : problem.positions.size();
    MemoryRow row{.position = begin};
    for (std::size_t t = begin; t < end; ++t) {
      if (problem.positions[t].base_bytes > row.base_bytes) row.position = t;
      row.base_bytes = std::max(row.base_bytes, problem.positions[t].base_bytes);
    }
    for (std::size_t c = 0; c < now.size(); ++c) {
      if (now[c] > 0) row.terms.push_back({c, now[c]});
    }
    while (!rows.empty() && within(rows.back(), row)) rows.pop_back();
    if (rows.empty() || !within(row, rows.back())) rows.push_back(std::move(row));
    begin = end;
  }
  for (MemoryRow& row : rows) normalize(row, candidates, options_of);
  return rows;
}

}  // namespace tensorpress::model::planner
