#include "codecs/dense/lattice/exact.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/errors.h"
#include "codecs/dense/adaptive/zero_flags.h"
#include "codecs/dense/varint.h"

namespace tensorpress::dense {

template <class T>
void append_outliers(std::vector<Outlier<T>>& outliers, std::vector<std::byte>& bytes) {
  std::sort(outliers.begin(), outliers.end(),
            [](const auto& a, const auto& b) { return a.position < b.position; });
  append_varint(bytes, outliers.size());
  std::uint64_t last = 0;
  for (const auto& outlier : outliers) {
    append_varint(bytes, outlier.position - last);
    last = outlier.position;
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    bytes.resize(bytes.size() + sizeof(T));
    store_le(bytes.data() + bytes.size() - sizeof(T), std::bit_cast<Bits>(outlier.value));
  }
}
template void append_outliers(std::vector<Outlier<float>>&, std::vector<std::byte>&);
template void append_outliers(std::vector<Outlier<double>>&, std::vector<std::byte>&);

template <class T>
Result<std::vector<Outlier<T>>> read_outliers(ByteReader& reader, std::size_t values) {
  TRY(const auto count, reader.read_varint());
  if (count > reader.remaining() / (1 + sizeof(T))) {
    return truncated("a chunk ends within its ", count, " outliers");
  }
  std::vector<Outlier<T>> outliers;
  outliers.reserve(count);
  std::uint64_t position = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    TRY(const auto distance, reader.read_varint());
    if (distance >= values - position) {
      return corrupt("a chunk has an outlier behind its end");
    }
    position += distance;
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    TRY(const auto bits, reader.read<Bits>());
    outliers.push_back({position, std::bit_cast<T>(bits)});
  }
  return outliers;
}
template Result<std::vector<Outlier<float>>> read_outliers(ByteReader&, std::size_t);
template Result<std::vector<Outlier<double>>> read_outliers(ByteReader&, std::size_t);

namespace {

std::size_t varint_bytes(std::uint64_t value) {
  std::size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

// What may become of a value: zeros stay zeros, values within the bound may be zero.
enum Fate : std::uint8_t { kNot = 0, kMay = 1, kMust = 2 };

// Runs start where they must and reach as far to both sides as they may: few of them, and few
// changes from one period to the next.
class ZeroLister {
 public:
  ZeroLister(std::span<const std::uint8_t> fates, std::size_t period)
      : fates_(fates), listed_(fates.size()), zero_(fates.size()), zeros_{period, {}, false, {}} {}

  ZeroList list() {
    for (std::size_t i = 0; i < fates_.size(); ++i) {
      if (i % kWord == 0 && (skip_word(i) || extend_word(i))) {
        i += kWord - 1;
        continue;
      }
      const bool before = was_zero(i);
      const bool wanted = fates_[i] == kMust || (fates_[i] == kMay && before);
      const bool goes_on = i > 0 && listed_[i - 1] != 0 && fates_[i] == kMay;
      set(i, before, goes_on ? !before : wanted);
      if (listed_[i] != 0 && (i == 0 || listed_[i - 1] == 0)) reach_back(i);
    }
    for (std::size_t i = 0; i < fates_.size(); ++i) {
      if (i % kWord == 0 && i + kWord <= fates_.size()) {
        const std::uint64_t word = word_at(listed_, i);
        const bool goes_on = word == kOnes && i > 0 && listed_[i - 1] != 0;
        if (goes_on) zeros_.runs.back().length += kWord;
        if (word == 0 || goes_on) {
          i += kWord - 1;
          continue;
        }
      }
      if (listed_[i] == 0) continue;
      if (i > 0 && listed_[i - 1] != 0) {
        ++zeros_.runs.back().length;
      } else {
        zeros_.runs.push_back({i, 1});
      }
    }
    return std::move(zeros_);
  }

 private:
  static constexpr std::size_t kWord = 8;
  static constexpr std::uint64_t kOnes = 0x0101010101010101;
  static std::uint64_t word_at(std::span<const std::uint8_t> bytes, std::size_t at) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + at, kWord);
    return word;
  }
  // Eight values that may all be what they were a period before, behind one that is not listed:
  // nothing is.
  bool skip_word(std::size_t i) {
    if (!is_one_word(i) || (i > 0 && listed_[i - 1] != 0)) return false;
    const std::uint64_t before = word_before(i), fates = word_at(fates_, i);
    const std::uint64_t must = fates >> 1 & kOnes, may = fates & kOnes;
    if ((before & ~(must | may)) != 0 || (must & ~before) != 0) return false;
    if (before != 0) std::memcpy(zero_.data() + i, &before, kWord);
    return true;
  }
  // Eight values behind a listed one that are all listed too, because they change as it does.
  bool extend_word(std::size_t i) {
    if (!is_one_word(i) || i == 0 || listed_[i - 1] == 0) return false;
    const std::uint64_t before = word_before(i), fates = word_at(fates_, i);
    const std::uint64_t may = fates & kOnes, must = fates >> 1 & kOnes;
    if (before == 0 && (may | must) == kOnes) {
      std::memcpy(zero_.data() + i, &kOnes, kWord);
    } else if (before != kOnes || may != kOnes) {
      return false;
    }
    std::memcpy(listed_.data() + i, &kOnes, kWord);
    return true;
  }
  // Whether all of them are in the list and behind, or before, the first period.
  bool is_one_word(std::size_t i) const {
    return i + kWord <= fates_.size() &&
           (zeros_.period == 0 || i >= zeros_.period || i + kWord <= zeros_.period);
  }
  std::uint64_t word_before(std::size_t i) const {
    return zeros_.period > 0 && i >= zeros_.period ? word_at(zero_, i - zeros_.period) : 0;
  }
  bool was_zero(std::size_t i) const {
    return zeros_.period > 0 && i >= zeros_.period && zero_[i - zeros_.period] != 0;
  }
  void set(std::size_t i, bool before, bool zero) {
    zero_[i] = zero ? 1 : 0;
    listed_[i] = zero != before ? 1 : 0;
  }
  // Not further than a period: nothing that was decided by these values is behind them.
  void reach_back(std::size_t start) {
    for (std::size_t i = start; i-- > 0 && fates_[i] == kMay && listed_[i] == 0;) {
      if (zeros_.period > 0 && start - i >= zeros_.period) return;
      set(i, was_zero(i), !was_zero(i));
    }
  }

  std::span<const std::uint8_t> fates_;
  std::vector<std::uint8_t> listed_, zero_;
  ZeroList zeros_;
};

}  // namespace

template <class T>
ZeroList list_zeros(std::span<const T> values, const Extents& extents, double bound) {
  std::vector<std::uint8_t> fates(values.size());
  // What is above the bound as a number of T is above it.
  T most = static_cast<T>(bound);
  if (static_cast<double>(most) > bound) most = std::nextafter(most, static_cast<T>(0));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T size = std::abs(values[i]);
    const std::uint8_t within = size > most ? kNot : kMay;  // holes are NaN: they may
    fates[i] = size == 0 ? std::uint8_t{kMust} : within;
  }
  constexpr std::size_t kFew = 8;
  ZeroList best = ZeroLister(fates, 0).list();
  for (const std::size_t period : {extents[2], extents[1] * extents[2]}) {
    if (period >= values.size() || best.runs.size() < kFew) break;
    ZeroList zeros = ZeroLister(fates, period).list();
    if (bytes_of(zeros) < bytes_of(best)) best = std::move(zeros);
  }
  return best;
}
template ZeroList list_zeros(std::span<const float>, const Extents&, double);
template ZeroList list_zeros(std::span<const double>, const Extents&, double);

std::size_t bytes_of(const ZeroList& zeros) {
  std::size_t bytes = varint_bytes(zeros.runs.size());
  if (zeros.period > 0) bytes += 1 + varint_bytes(zeros.period);
  std::uint64_t end = 0;
  for (const ZeroList::Run& run : zeros.runs) {
    bytes += varint_bytes(run.start - end) + varint_bytes(run.length);
    end = run.start + run.length;
  }
  return bytes;
}

void append_zero_flags(std::span<const std::byte> flags, std::vector<std::byte>& bytes) {
  append_varint(bytes, 0);
  append_varint(bytes, 0);  // a period of nothing
  append_varint(bytes, flags.size());
  bytes.insert(bytes.end(), flags.begin(), flags.end());
}

void append_zeros(const ZeroList& zeros, std::vector<std::byte>& bytes) {
  if (zeros.period > 0) {
    append_varint(bytes, 0);
    append_varint(bytes, zeros.period);
  }
  append_varint(bytes, zeros.runs.size());
  std::uint64_t end = 0;
  for (const ZeroList::Run& run : zeros.runs) {
    append_varint(bytes, run.start - end);
    append_varint(bytes, run.length);
    end = run.start + run.length;
  }
}

Result<ZeroList> read_zeros(ByteReader& reader, std::size_t values) {
  ZeroList zeros;
  TRY(auto count, reader.read_varint());
  if (count == 0) {  // says that a period follows: no list is empty
    TRY(zeros.period, reader.read_varint());
    zeros.flagged = zeros.period == 0;
    if (zeros.flagged) {
      TRY(const auto size, reader.read_varint());
      TRY(zeros.flags, reader.take(size));
      return zeros;
    }
    if (zeros.period >= values) {
      return corrupt("a chunk's zeros repeat after ", zeros.period, " values");
    }
    TRY(count, reader.read_varint());
  }
  if (count > reader.remaining() / 2) {
    return truncated("a chunk ends within its ", count, " runs of zeros");
  }
  zeros.runs.reserve(count);
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    TRY(const auto distance, reader.read_varint());
    TRY(const auto length, reader.read_varint());
    if (distance > values - end || length > values - end - distance) {
      return corrupt("a chunk has zeros behind its end");
    }
    zeros.runs.push_back({end + distance, length});
    end += distance + length;
  }
  return zeros;
}

template <class T>
void set_zeros(const ZeroList& zeros, std::span<T> values) {
  if (zeros.period == 0) {
    for (const ZeroList::Run& run : zeros.runs) {
      std::fill_n(values.data() + run.start, run.length, static_cast<T>(0));
    }
    return;
  }
  // Runs say what changes from one period to the next.
  std::vector<std::uint8_t> is_zero(zeros.period);
  std::vector<ZeroList::Run> now;
  auto run = zeros.runs.begin();
  for (std::size_t start = 0; start < values.size(); start += zeros.period) {
    const std::size_t end = std::min(start + zeros.period, values.size());
    bool changed = false;
    for (; run != zeros.runs.end() && run->start < end; ++run) {
      const std::size_t from = std::max<std::size_t>(run->start, start),
                        run_end = run->start + run->length;
      for (std::size_t i = from; i < std::min(run_end, end); ++i) is_zero[i - start] ^= 1;
      changed = true;
      if (run_end > end) break;
    }
    if (changed) {
      now.clear();
      for (auto at = is_zero.begin(); (at = std::find(at, is_zero.end(), 1)) != is_zero.end();) {
        const auto behind = std::find(at, is_zero.end(), 0);
        now.push_back({static_cast<std::uint64_t>(at - is_zero.begin()),
                       static_cast<std::uint64_t>(behind - at)});
        at = behind;
      }
    }
    for (const ZeroList::Run& zero : now) {
      const std::size_t from = start + zero.start;
      if (from >= end) break;
      std::fill_n(values.data() + from, std::min<std::size_t>(zero.length, end - from),
                  static_cast<T>(0));
    }
  }
}
template void set_zeros(const ZeroList&, std::span<float>);
template void set_zeros(const ZeroList&, std::span<double>);

template <class T>
Result<void> set_zeros(const ZeroList& zeros, std::span<T> values, const Extents& extents,
                       double bound) {
  if (zeros.flagged) return set_flagged_zeros(zeros.flags, values, extents, bound);
  set_zeros(zeros, values);
  return {};
}
template Result<void> set_zeros(const ZeroList&, std::span<float>, const Extents&, double);
template Result<void> set_zeros(const ZeroList&, std::span<double>, const Extents&, double);

}  // namespace tensorpress::dense
