#include "codecs/dense/lattice/exact.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "base/errors.h"
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

template <class T>
std::vector<ZeroRun> zero_runs(std::span<const T> values) {
  std::vector<ZeroRun> runs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) continue;
    if (!runs.empty() && runs.back().start + runs.back().length == i) {
      ++runs.back().length;
    } else {
      runs.push_back({i, 1});
    }
  }
  return runs;
}
template std::vector<ZeroRun> zero_runs(std::span<const float>);
template std::vector<ZeroRun> zero_runs(std::span<const double>);

void append_zeros(const std::vector<ZeroRun>& runs, std::vector<std::byte>& bytes) {
  append_varint(bytes, runs.size());
  std::uint64_t end = 0;
  for (const ZeroRun& run : runs) {
    append_varint(bytes, run.start - end);
    append_varint(bytes, run.length);
    end = run.start + run.length;
  }
}

Result<std::vector<ZeroRun>> read_zeros(ByteReader& reader, std::size_t values) {
  TRY(const auto count, reader.read_varint());
  if (count > reader.remaining() / 2) {
    return truncated("a chunk ends within its ", count, " runs of zeros");
  }
  std::vector<ZeroRun> runs;
  runs.reserve(count);
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    TRY(const auto distance, reader.read_varint());
    TRY(const auto length, reader.read_varint());
    if (distance > values - end || length > values - end - distance) {
      return corrupt("a chunk has zeros behind its end");
    }
    runs.push_back({end + distance, length});
    end += distance + length;
  }
  return runs;
}

}  // namespace tensorpress::dense
