// What our HDF5 filter is told (cd_values) and given, as HDF5 would: a byte that says how many
// words, the words, then a chunk or a stream. Words mean something or are refused; what they mean
// is written the same way again; a chunk comes back, and the callback keeps its promises about the
// buffer.
#include <cstdlib>
#include <cstring>

#include "chunk_coding.h"
#include "files/conventions/hdf5_filter_settings.h"
#include "filter.h"
#include "inputs/byte_taker.h"
#include "inputs/must.h"
#include "inputs/streams.h"

namespace tensorpress::fuzz {
namespace {

using files::Hdf5FilterSettings;
using Words = std::vector<std::uint32_t>;

constexpr std::uint64_t kMostChunkBytes = 1 << 16;

/// One call as HDF5 makes it, on memory of its own.
Bytes call_filter(unsigned flags, const Words& words, std::span<const std::byte> bytes) {
  std::size_t capacity = std::max<std::size_t>(bytes.size(), 1);
  void* buffer = std::malloc(capacity);
  if (!bytes.empty()) std::memcpy(buffer, bytes.data(), bytes.size());
  void* const before = buffer;
  const std::size_t used = hdf5::kFilterClass.filter(flags, words.size(), words.data(),
                                                     bytes.size(), &capacity, &buffer);
  must(used <= capacity, "the filter says how large its buffer is");
  must(used != 0 || buffer == before, "a filter that fails leaves the buffer alone");
  Bytes result(used);
  if (used != 0) std::memcpy(result.data(), buffer, used);
  std::free(buffer);
  return result;
}

void check(ByteTaker& bytes) {
  Words words(bytes.below(files::kMaxHdf5Words + 8));
  for (std::uint32_t& word : words) word = bytes.take<std::uint32_t>();
  const auto settings = Hdf5FilterSettings::from_words(words);
  if (!settings.ok()) return must_explain(settings.error());
  const auto again = settings->to_words();
  must(again.ok(), "settings become words");
  const auto same = Hdf5FilterSettings::from_words(*again);
  must(same.ok() && *same->to_words() == *again, "words say the same after a round trip");

  if (!settings->chunk || settings->chunk->bytes() > kMostChunkBytes || settings->threads > 4)
    return;
  call_filter(0x0100, words, bytes.rest());  // hostile stream
  Bytes chunk(static_cast<std::size_t>(settings->chunk->bytes()));
  for (std::size_t i = 0; i < chunk.size() && !bytes.rest().empty(); ++i) {
    chunk[i] = bytes.rest()[i % bytes.rest().size()];
  }
  const Bytes stream = call_filter(0, words, chunk);
  if (stream.empty()) return;  // refused: NaN for dct-chop, a bound for integers
  const Bytes back = call_filter(0x0100, words, stream);
  must(back.size() == chunk.size(), "a chunk that was compressed decompresses");
}

}  // namespace
}  // namespace tensorpress::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tensorpress::fuzz::ByteTaker bytes(data, size);
  tensorpress::fuzz::check(bytes);
  return 0;
}
