#include "wafer/programs/coding/assembly.h"

#include "base/errors.h"

namespace tensorpress::wafer::programs {

Result<void> Assembly::cut(const EdgeOutput& row, std::span<const std::uint64_t> numbers) {
  std::span<const std::uint32_t> rest = row.words;
  for (const std::uint64_t number : numbers) {
    if (rest.size() < kMessageHead) return internal_error("row ", row.pe.y, " ends early");
    const std::size_t words = rest[1], further = rest[2];
    if (words + further > rest.size() - kMessageHead) {
      return internal_error("row ", row.pe.y, " ends inside part ", number);
    }
    add(number,
        {rest[0], rest.subspan(kMessageHead, words), rest.subspan(kMessageHead + words, further)});
    rest = rest.subspan(kMessageHead + words + further);
  }
  return {};
}

Result<std::vector<std::byte>> Assembly::ceresz2(const CodingJob& job) const {
  std::uint64_t words = 0, further = 0;
  for (const PeOutput& output : outputs_) {
    words += output.words.size();
    further += output.further.size();
  }
  if (words > UINT32_MAX) return too_large(words, " words do not fit offsets of 32 bits");
  std::vector<std::byte> payload(8 + 4 * static_cast<std::size_t>(words + further));
  const std::uint64_t outliers = further / 2;
  store_le(payload.data(), outliers << 16 | std::uint64_t{32} << 8 | job.slack);
  std::byte* position = payload.data() + 8 + 4 * words;
  std::byte* value = position + 4 * outliers;
  std::uint64_t before = 0;
  for (const PeOutput& output : outputs_) {
    const std::uint64_t offset = job.offsets_by != OffsetsBy::host ? output.offset : before;
    if (offset + output.words.size() > words) {
      return internal_error("a PE's words go to ", offset, ", beyond all ", words);
    }
    std::byte* place = payload.data() + 8 + 4 * offset;
    for (const std::uint32_t word : output.words) {
      store_le(place, word);
      place += 4;
    }
    before += output.words.size();
    for (std::size_t i = 0; i + 1 < output.further.size(); i += 2) {
      store_le(position, output.further[i]);
      store_le(value, output.further[i + 1]);
      position += 4;
      value += 4;
    }
  }
  return payload;
}

std::vector<std::byte> Assembly::ceresz(unsigned slack) const {
  std::vector<std::byte> payload = {static_cast<std::byte>(slack)};
  for (const PeOutput& output : outputs_) {
    for (const std::uint32_t width : output.further) {
      payload.push_back(static_cast<std::byte>(width));
    }
  }
  for (const PeOutput& output : outputs_) {
    for (const std::uint32_t word : output.words) {
      const std::size_t at = payload.size();
      payload.resize(at + 4);
      store_le(payload.data() + at, word);
    }
  }
  return payload;
}

}  // namespace tensorpress::wafer::programs
