#include "stream/container/compact/search.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/bytes.h"
#include "base/errors.h"
#include "stream/container/compact/index.h"
#include "stream/container/opened_stream.h"
#include "stream/container/stream_input.h"

namespace tensorpress::stream::compact {
namespace {

constexpr std::uint64_t kWindow = std::uint64_t{1} << 20;
// How many chunks may be lost between two that are found.
constexpr std::uint64_t kMostLost = std::uint64_t{1} << 16;
// The same before a small record, whose short checksum proves less.
constexpr std::uint64_t kMostLostBeforeSmall = 32;
// What trying one number costs, in bytes of a checksum.
constexpr std::uint64_t kCostOfNumber = 64;

/// Bytes of the source; those read last are kept, so that neighbours cost nothing.
class Window {
 public:
  explicit Window(const ByteSource& source) : source_(source) {}

  /// Fewer at the end of the source. Valid until the next call.
  Result<std::span<const std::byte>> at(std::uint64_t offset, std::uint64_t size) {
    if (offset >= source_.size()) return std::span<const std::byte>();
    size = std::min(size, source_.size() - offset);
    if (offset < begin_ || offset + size > begin_ + bytes_.size()) {
      begin_ = offset;
      const std::uint64_t read = std::min(std::max(size, kWindow), source_.size() - offset);
      TRY(const auto room, try_reserve(buffer_, read));
      RETURN_IF_ERROR(source_.read_at(offset, room));
      bytes_ = room;
    }
    return bytes_.subspan(static_cast<std::size_t>(offset - begin_),
                          static_cast<std::size_t>(size));
  }

 private:
  const ByteSource& source_;
  AlignedBuffer buffer_;
  std::span<const std::byte> bytes_;
  std::uint64_t begin_ = 0;
};

/// A record whose checksum is right, and how many repeats stand before it.
struct Step {
  std::uint64_t number = 0;
  std::uint64_t offset = 0;
  std::uint64_t repeats = 0;
  Record record;
  std::optional<ShortPayload> payload;
};

class Search {
 public:
  Search(const ByteSource& source, const ChunkDecoder& decoder, std::uint64_t begin)
      : source_(source),
        decoder_(decoder),
        window_(source),
        at_(begin),
        budget_(64 * kWindow + 16 * source.size()) {}

  Result<FoundChunks> run() {
    found_.chunks.resize(static_cast<std::size_t>(count()));
    while (next_ < count()) {
      TRY(auto step, step_at(at_, next_));
      if (!step) {
        TRY(step, step_behind_damaged_payload());
      }
      if (!step) {
        TRY(step, step_behind_damage());
      }
      if (!step) break;
      take(*step);
    }
    return std::move(found_);
  }

 private:
  std::uint64_t count() const { return decoder_.grid().chunk_count(); }

  void take(const Step& step) {
    // Behind a gap it is not known what is repeated.
    if (step.number - step.repeats != next_) last_short_.reset();
    for (std::uint64_t i = 0; i < step.repeats && last_short_; ++i) {
      if (found_.repeated.empty() || !(found_.repeated.back() == *last_short_)) {
        found_.repeated.push_back(*last_short_);
      }
      found_.chunks[static_cast<std::size_t>(step.number - step.repeats + i)] = {
          .offset = step.offset - step.repeats + i,
          .record = {.code = kRepeatCode},
          .repeated = found_.repeated.size() - 1};
    }
    found_.chunks[static_cast<std::size_t>(step.number)] = {.offset = step.offset,
                                                            .record = step.record};
    if (step.payload) last_short_ = step.payload;
    next_ = step.number + 1;
    at_ = step.offset + step.record.size();
  }

  struct Head {
    std::uint64_t code = 0;
    std::uint64_t repeats = 0;  // before it
  };

  /// The code of the first record from `at` on that is not a repeat.
  Result<std::optional<Head>> head_at(std::uint64_t at, std::uint64_t number) {
    Head head;
    for (;; ++head.repeats) {
      TRY(const auto bytes, window_.at(at + head.repeats, kMaxVarintBytes));
      if (bytes.empty() || number + head.repeats >= count()) return std::optional<Head>();
      if (bytes[0] == std::byte{kRepeatCode}) continue;
      ByteReader reader(bytes);
      const auto code = reader.read_varint();
      if (!code.ok()) return std::optional<Head>();
      head.code = *code;
      return std::optional(head);
    }
  }

  Result<std::optional<Step>> step_at(std::uint64_t at, std::uint64_t number) {
    TRY(const auto head, head_at(at, number));
    if (!head) return std::optional<Step>();
    TRY(auto step,
        proven(at + head->repeats, head->code, number + head->repeats, number + head->repeats));
    if (step) step->repeats = head->repeats;
    return step;
  }

  /// As if the next record were where it seems to be, with a damaged payload.
  Result<std::optional<Step>> step_behind_damaged_payload() {
    TRY(const auto head, head_at(at_, next_));
    if (!head) return std::optional<Step>();
    const auto record = record_of(decoder_, next_ + head->repeats, head->code);
    if (!record.ok() || record->payload_bytes >= source_.size()) return std::optional<Step>();
    return step_at(at_ + head->repeats + record->size(), next_ + head->repeats + 1);
  }

  /// Byte by byte: the mark of a large record, or a small one.
  Result<std::optional<Step>> step_behind_damage() {
    for (std::uint64_t at = at_ + 1; at < source_.size() && budget_ > 0; ++at) {
      spend(1);
      TRY(const auto bytes, window_.at(at, kMaxRecordHeadBytes));
      ByteReader reader(bytes);
      const auto code = reader.read_varint();
      if (!code.ok() || *code == kRepeatCode || *code == 0) continue;
      const auto head = bytes.first(reader.position());
      const bool large = bytes.size() >= head.size() + kMark.size() &&
                         std::memcmp(bytes.data() + head.size(), kMark.data(), kMark.size()) == 0;
      const std::uint64_t lost = large ? kMostLost : kMostLostBeforeSmall;
      TRY(auto step, proven(at, *code, next_, std::min(next_ + lost, count() - 1)));
      if (step) return step;
    }
    return std::optional<Step>();
  }

  /// The record at `at`, if it is that of a chunk from `first` to `last`.
  Result<std::optional<Step>> proven(std::uint64_t at, std::uint64_t code, std::uint64_t first,
                                     std::uint64_t last) {
    std::optional<Record> summed;
    std::uint64_t checksum = 0, stored = 0;
    for (std::uint64_t number = first; number <= last && budget_ > 0; ++number) {
      spend(kCostOfNumber);
      const auto record = record_of(decoder_, number, code);
      if (!record.ok() || record->payload_bytes > source_.size() ||
          at + record->size() > source_.size()) {
        continue;
      }
      if (!summed || summed->payload_bytes != record->payload_bytes) {
        TRY(const auto bytes, window_.at(at, record->size()));
        if (!record->has_head(bytes)) return std::optional<Step>();
        spend(record->payload_bytes);
        const auto payload = payload_of(*record, bytes);
        checksum = checksum_of(payload);
        stored = load_checksum(record->payload_bytes, payload.data() + payload.size());
        summed = *record;
      }
      if (record->seal(number).found(checksum) != stored) continue;
      TRY(const auto bytes, window_.at(at, record->size()));
      const CompressedChunk chunk{.bytes = record->payload_bytes, .raw = record->is_raw()};
      return std::optional(Step{.number = number,
                                .offset = at,
                                .record = *record,
                                .payload = ShortPayload::of(chunk, payload_of(*record, bytes))});
    }
    return std::optional<Step>();
  }

  static std::span<const std::byte> payload_of(const Record& record,
                                               std::span<const std::byte> bytes) {
    return bytes.subspan(record.head_bytes(), static_cast<std::size_t>(record.payload_bytes));
  }

  void spend(std::uint64_t cost) { budget_ -= std::min(budget_, cost); }

  const ByteSource& source_;
  const ChunkDecoder& decoder_;
  Window window_;
  FoundChunks found_;
  std::uint64_t at_;
  std::uint64_t next_ = 0;
  std::optional<ShortPayload> last_short_;
  std::uint64_t budget_;  // hostile bytes must not make the search much longer than a reading
};

}  // namespace

Result<FoundChunks> find_chunks(const ByteSource& source, const ChunkDecoder& decoder,
                                std::uint64_t begin) {
  RETURN_IF_ERROR(check_searchable(decoder.grid().chunk_count()));
  if (decoder.grid().chunk_count() == 0) return FoundChunks();
  return Search(source, decoder, begin).run();
}

}  // namespace tensorpress::stream::compact
