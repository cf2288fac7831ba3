#include "codecs/pack/parts.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <vector>

#include "base/errors.h"
#include "base/runner.h"

namespace tensorpress {
namespace {

// A thread is started for so many bytes of values, not for fewer: starting one takes as long as
// packing about a fifth of them.
constexpr std::size_t kBytesPerThread = std::size_t{1} << 20;
// Unpacked values get their signs while they are still in the cache.
constexpr std::size_t kPieceBytes = std::size_t{1} << 17;

/// Elements of one part when `count` of them are cut for at most `threads` threads.
std::size_t part_of(std::size_t count, std::size_t element_bytes, std::size_t granularity,
                    std::size_t threads) {
  const std::size_t worthwhile = std::max<std::size_t>(1, count * element_bytes / kBytesPerThread);
  const std::size_t parts = std::clamp<std::size_t>(threads, 1, worthwhile);
  if (granularity == 0 || parts == 1) return count;
  const std::size_t part = (count + parts - 1) / parts;
  return (part + granularity - 1) / granularity * granularity;
}

/// Calls work(first, count) for parts of `count` elements on several threads and gives the first
/// error.
template <class Work>
Result<void> in_parts(std::size_t count, std::size_t part, const Work& work) {
  if (part >= count) return work(std::size_t{0}, count);
  const std::size_t parts = (count + part - 1) / part;
  std::vector<Result<void>> results(parts);
  runner_or_threads({}, parts)(parts, [&](std::size_t number) {
    const std::size_t first = number * part;
    results[number] = work(first, std::min(part, count - first));
  });
  for (const Result<void>& result : results) {
    if (!result.ok()) return result;
  }
  return {};
}

/// The packed bytes of `count` elements from `first` on, which is a multiple of the granularity.
template <class Bytes, class Options>
Result<Bytes> packed_part(Bytes packed, std::size_t first, std::size_t count, std::size_t all,
                          const Options& options) {
  const auto offset = [&](std::size_t element) -> Result<std::size_t> {
    if (element == 0) return std::size_t{0};
    return packed_size(element, options);
  };
  TRY(const std::size_t begin, offset(first));
  if (first + count == all) return packed.subspan(begin);
  TRY(const std::size_t end, offset(first + count));
  return packed.subspan(begin, end - begin);
}

QuantizeOptions from_element(QuantizeOptions options, std::size_t first) {
  options.first_element = first;
  return options;
}
template <class Options>
Options from_element(const Options& options, std::size_t /*first*/) {
  return options;
}

}  // namespace

template <class Options>
Result<PackOutcome> pack_in_parts(DType dtype, std::span<const std::byte> values,
                                  const Options& options, std::span<std::byte> packed,
                                  std::size_t threads) {
  const std::size_t size = size_of(dtype);
  const std::size_t count = values.size() / size;
  std::atomic<bool> representable{true};
  const auto one_part = [&](std::size_t first, std::size_t part) -> Result<void> {
    TRY(const auto bytes, packed_part(packed, first, part, count, options));
    TRY(const PackOutcome outcome, pack(dtype, values.subspan(first * size, part * size),
                                        from_element(options, first), bytes));
    if (outcome == PackOutcome::not_representable) representable = false;
    return {};
  };
  RETURN_IF_ERROR(in_parts(count, part_of(count, size, granularity(options), threads), one_part));
  return representable ? PackOutcome::packed : PackOutcome::not_representable;
}

template <class Options>
Result<void> unpack_in_parts(DType dtype, std::span<const std::byte> packed, const Options& options,
                             std::span<const std::byte> signs, std::span<std::byte> values,
                             std::size_t threads) {
  const std::size_t size = size_of(dtype);
  const std::size_t count = values.size() / size;
  const auto unpack_piece = [&](std::size_t first, std::size_t part,
                                Stores stores) -> Result<void> {
    TRY(const auto bytes, packed_part(packed, first, part, count, options));
    return unpack(dtype, bytes, options, values.subspan(first * size, part * size), stores);
  };
  const std::size_t step = std::lcm(granularity(options), granularity(SignOptions{}));
  const auto one_part = [&](std::size_t first, std::size_t part) -> Result<void> {
    if (signs.empty()) return unpack_piece(first, part, Stores::automatic);
    const std::size_t pieces = std::max<std::size_t>(1, kPieceBytes / size / step);
    for (const std::size_t end = first + part; first < end;) {
      const std::size_t piece = std::min(pieces * step, end - first);
      RETURN_IF_ERROR(unpack_piece(first, piece, Stores::cached));
      RETURN_IF_ERROR(restore_signs(dtype, signs.subspan(first / 8, (piece + 7) / 8),
                                    values.subspan(first * size, piece * size)));
      first += piece;
    }
    return {};
  };
  const std::size_t cut = granularity(options) == 0 ? 0 : step;
  return in_parts(count, part_of(count, size, cut, threads), one_part);
}

Result<void> restore_signs_in_parts(DType dtype, std::span<const std::byte> signs,
                                    std::span<std::byte> values, std::size_t threads) {
  const std::size_t size = size_of(dtype);
  const std::size_t count = values.size() / size;
  const auto one_part = [&](std::size_t first, std::size_t part) {
    return restore_signs(dtype, signs.subspan(first / 8, (part + 7) / 8),
                         values.subspan(first * size, part * size));
  };
  return in_parts(count, part_of(count, size, granularity(SignOptions{}), threads), one_part);
}

#define TENSORPRESS_PARTS_OF(Options)                                                           \
  template Result<PackOutcome> pack_in_parts(DType, std::span<const std::byte>, const Options&, \
                                             std::span<std::byte>, std::size_t);                \
  template Result<void> unpack_in_parts(DType, std::span<const std::byte>, const Options&,      \
                                        std::span<const std::byte>, std::span<std::byte>,       \
                                        std::size_t)
TENSORPRESS_PARTS_OF(QuantizeOptions);
TENSORPRESS_PARTS_OF(CastOptions);
TENSORPRESS_PARTS_OF(MaskOptions);
TENSORPRESS_PARTS_OF(SignOptions);
#undef TENSORPRESS_PARTS_OF

}  // namespace tensorpress
