#include "stream/container/compact/index.h"

#include <algorithm>

#include "base/errors.h"

namespace tensorpress::stream::compact {
namespace {

// Integers in the order 0, -1, 1, -2, 2 ...; differences wrap.
std::uint64_t zigzag(std::uint64_t difference) {
  return (difference << 1) ^ (0 - (difference >> 63));
}
std::uint64_t from_zigzag(std::uint64_t code) {
  return (code >> 1) ^ (0 - (code & 1));
}

}  // namespace

// ---- Writing -----------------------------------------------------------------------------------

void IndexWriter::count(Kind kind) {
  if (kind != kind_) end_run();
  kind_ = kind;
  ++run_;
}

void IndexWriter::add_coded(std::uint64_t payload_bytes,
                            const std::optional<ShortPayload>& payload) {
  if (payload_bytes == last_bytes_) {
    count(Kind::same_size);
  } else {
    end_run();
    tokens_.write_varint(zigzag(payload_bytes - last_bytes_) << 2 |
                         static_cast<std::uint64_t>(Kind::other_size));
    last_bytes_ = payload_bytes;
  }
  if (payload) {
    repeated_ = *payload;
    repeated_is_listed_ = false;
  }
}

void IndexWriter::end_run() {
  if (run_ == 0) return;
  tokens_.write_varint(run_ << 2 | static_cast<std::uint64_t>(kind_));
  if (kind_ == Kind::repeat && !repeated_is_listed_) {
    tokens_.append(repeated_.span());
    repeated_is_listed_ = true;
  }
  run_ = 0;
}

std::vector<std::byte> IndexWriter::finish() && {
  end_run();
  return std::move(tokens_).take();
}

// ---- Reading -----------------------------------------------------------------------------------

Result<Record> record_of(const ChunkDecoder& decoder, std::uint64_t number, std::uint64_t code) {
  if (code == kRawCode) {
    const Shape extent = decoder.grid().region(number).extent;
    return Record::raw(extent.element_count() * size_of(decoder.dtype()));
  }
  if (code < kFirstCodedCode) {
    return corrupt("chunk ", number, " is corrupt: no record begins with ", code);
  }
  const Record record = Record::coded(code - kFirstCodedCode);
  RETURN_IF_ERROR(decoder.check_payload_size(number, record.payload_bytes));
  return record;
}

class Index::Parser {
 public:
  Parser(Index& index, ByteReader& reader, const ChunkDecoder& decoder, std::uint64_t begin,
         std::uint64_t end)
      : index_(index), reader_(reader), decoder_(decoder), at_(begin), end_(end) {}

  Result<void> parse() {
    const std::uint64_t count = decoder_.grid().chunk_count();
    // Every record has a byte at least, so a short stream cannot claim many chunks.
    if (at_ > end_ || count > end_ - at_) {
      return corrupt("there is no room for ", count, " chunks before the footer");
    }
    while (next_ < count) {
      TRY(const std::uint64_t token, reader_.read_varint());
      const std::uint64_t n = token >> 2;
      const std::uint64_t chunks = (token & 3) == 3 ? 1 : n;
      if (chunks == 0 || chunks > count - next_) {
        return corrupt("the index has a run of ", chunks, " chunks at chunk ", next_, " of ",
                       count);
      }
      RETURN_IF_ERROR(run(token & 3, n));
    }
    index_.end_ = at_;
    return {};
  }

 private:
  Result<void> run(std::uint64_t kind, std::uint64_t n) {
    switch (kind) {
      case 0:
        return repeats(n);
      case 1:
        return raw(n);
      case 3:
        last_bytes_ += from_zigzag(n);
        n = 1;
        break;
      default:
        break;
    }
    RETURN_IF_ERROR(add(Record::coded(last_bytes_), n));
    if (last_bytes_ <= kShortBytes) {
      short_bytes_ = last_bytes_;
      listed_ = false;
    }
    return {};
  }

  Result<void> repeats(std::uint64_t n) {
    if (!short_bytes_) return corrupt("chunk ", next_, " repeats a chunk, and there is none");
    if (!listed_) {
      TRY(const auto bytes, reader_.take(*short_bytes_));
      ShortPayload payload;
      payload.size = *short_bytes_;
      std::ranges::copy(bytes, payload.bytes.begin());
      index_.repeated_.push_back(payload);
      listed_ = true;
    }
    for (std::uint64_t i = 0; i < n; ++i) {
      RETURN_IF_ERROR(decoder_.check_payload_size(next_ + i, *short_bytes_));
    }
    index_.runs_.push_back({.first = next_,
                            .offset = at_,
                            .record = {.code = kRepeatCode},
                            .repeated = index_.repeated_.size() - 1});
    next_ += n;
    at_ += n;
    return check_end();
  }

  // Those at the far edges of the grid are smaller.
  Result<void> raw(std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      TRY(const Record record, record_of(decoder_, next_, kRawCode));
      RETURN_IF_ERROR(add(record, 1));
    }
    index_.raw_chunks_ += n;
    return {};
  }

  Result<void> add(const Record& record, std::uint64_t n) {
    const std::uint64_t room = end_ - at_;
    if (record.payload_bytes > room || record.size() > room / n) {
      return corrupt("the footer places chunk ", next_, " at byte ", at_, " with ",
                     record.payload_bytes, " bytes, where it cannot be");
    }
    for (std::uint64_t i = 0; !record.is_raw() && i < n; ++i) {
      RETURN_IF_ERROR(decoder_.check_payload_size(next_ + i, record.payload_bytes));
    }
    if (index_.runs_.empty() || index_.runs_.back().record.code != record.code ||
        index_.runs_.back().record.payload_bytes != record.payload_bytes) {
      index_.runs_.push_back({.first = next_, .offset = at_, .record = record});
    }
    next_ += n;
    at_ += n * record.size();
    index_.payload_bytes_ += n * record.payload_bytes;
    return {};
  }

  Result<void> check_end() const {
    if (at_ <= end_) return {};
    return corrupt("the footer places chunk ", next_ - 1, " where it cannot be");
  }

  Index& index_;
  ByteReader& reader_;
  const ChunkDecoder& decoder_;
  std::uint64_t at_;
  std::uint64_t end_;
  std::uint64_t next_ = 0;
  std::uint64_t last_bytes_ = 0;
  std::optional<std::uint64_t> short_bytes_;
  bool listed_ = false;
};

Result<Index> Index::parse(ByteReader& reader, const ChunkDecoder& decoder, std::uint64_t begin,
                           std::uint64_t end) {
  Index index;
  RETURN_IF_ERROR(Parser(index, reader, decoder, begin, end).parse());
  return index;
}

Index::Place Index::place(std::uint64_t number) const {
  const auto behind = std::ranges::upper_bound(runs_, number, {}, &Run::first);
  const Run& run = *std::prev(behind);
  if (run.record.code == kRepeatCode) {
    return {.offset = run.offset + (number - run.first),
            .repeated = &repeated_[static_cast<std::size_t>(run.repeated)]};
  }
  return {.record = run.record, .offset = run.offset + (number - run.first) * run.record.size()};
}

}  // namespace tensorpress::stream::compact
