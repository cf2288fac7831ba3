// Events by cycle: a ring of buckets for the near future with a bit for each bucket that is not
// empty, and a sorted map for what lies beyond. Within a cycle there is no order: what a cycle does
// must not depend on it.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace tensorpress::wafer::engine {

enum class EventKind : std::uint8_t {
  to_router,  // a wavelet comes in at a router's port
  to_pe,      // a wavelet comes down the ramp
  wake,       // something may go on
  credit,     // a wavelet that `pe` sent by `port` has left the queue that it waited in
  train,      // the last of a PE's words has come; `word` says which
  inject,     // the host sends; `word` says which input
};

struct Event {
  std::uint32_t pe = 0;
  std::uint32_t word = 0;
  EventKind kind = EventKind::wake;
  std::uint8_t port = 0;
  std::uint8_t color = 0;  // among the layout's
  bool advance = false;
};

inline constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

class EventWheel {
 public:
  EventWheel() : buckets_(kBuckets), bits_(kBuckets / 64), summary_(kBuckets / 4096) {}

  void push(std::uint64_t cycle, const Event& event) {
    if (cycle - now_ < kBuckets) {
      const std::size_t slot = cycle % kBuckets;
      if (buckets_[slot].empty()) mark(slot);
      buckets_[slot].push_back(event);
    } else {
      far_[cycle].push_back(event);
    }
  }

  /// The cycle of the earliest event, or kNever.
  std::uint64_t next() const {
    const std::uint64_t near = next_near();
    return far_.empty() ? near : std::min(near, far_.begin()->first);
  }

  /// Of those at `cycle`, which must be next() or earlier.
  std::size_t count(std::uint64_t cycle) const {
    const bool far = !far_.empty() && far_.begin()->first == cycle;
    return buckets_[cycle % kBuckets].size() + (far ? far_.begin()->second.size() : 0);
  }

  /// Takes what happens at `cycle`, which must be next() or earlier, into `events`.
  void take(std::uint64_t cycle, std::vector<Event>& events) {
    events.clear();
    now_ = cycle;
    const std::size_t slot = cycle % kBuckets;
    if (!buckets_[slot].empty()) {
      events.swap(buckets_[slot]);
      unmark(slot);
    }
    if (!far_.empty() && far_.begin()->first == cycle) {
      const auto& more = far_.begin()->second;
      events.insert(events.end(), more.begin(), more.end());
      far_.erase(far_.begin());
    }
  }

 private:
  static constexpr std::size_t kBuckets = std::size_t{1} << 16;

  void mark(std::size_t slot) {
    bits_[slot / 64] |= std::uint64_t{1} << slot % 64;
    summary_[slot / 4096] |= std::uint64_t{1} << slot / 64 % 64;
  }
  void unmark(std::size_t slot) {
    bits_[slot / 64] &= ~(std::uint64_t{1} << slot % 64);
    if (bits_[slot / 64] == 0) summary_[slot / 4096] &= ~(std::uint64_t{1} << slot / 64 % 64);
  }
  /// The first marked slot in [from, kBuckets), or kBuckets.
  std::size_t first_from(std::size_t from) const {
    if (from == kBuckets) return kBuckets;
    const std::uint64_t word = bits_[from / 64] >> from % 64;
    if (word != 0) return from + static_cast<std::size_t>(std::countr_zero(word));
    std::size_t group = from / 64 + 1;
    while (group < bits_.size()) {
      const std::uint64_t groups = summary_[group / 64] >> group % 64;
      if (groups != 0) {
        group += static_cast<std::size_t>(std::countr_zero(groups));
        return group * 64 + static_cast<std::size_t>(std::countr_zero(bits_[group]));
      }
      group = (group / 64 + 1) * 64;
    }
    return kBuckets;
  }
  std::uint64_t next_near() const {
    const std::size_t slot = now_ % kBuckets;
    std::size_t found = first_from(slot);
    if (found < kBuckets) return now_ + (found - slot);
    found = first_from(0);
    return found < slot ? now_ + (kBuckets - slot) + found : kNever;
  }

  std::uint64_t now_ = 0;
  std::vector<std::vector<Event>> buckets_;
  std::vector<std::uint64_t> bits_, summary_;
  std::map<std::uint64_t, std::vector<Event>> far_;
};

}  // namespace tensorpress::wafer::engine
