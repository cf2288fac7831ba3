// Arbitrary bytes straight into a codec, without sections and checksums around them: a u16 with the
// length of a HEAD payload, the HEAD payload, and the payload of its first chunk. An error or a
// decoded chunk, the same on every instruction set.
#include <cmath>
#include <cstring>

#include "base/bytes.h"
#include "base/cpu.h"
#include "base/tensor/elements.h"
#include "codecs/registry.h"
#include "inputs/must.h"
#include "inputs/streams.h"
#include "stream/chunks/chunk_grid.h"
#include "stream/container/framed/contents.h"

namespace tensorpress::fuzz {
namespace {

constexpr std::uint64_t kMostElements = 16384;

Shape first_chunk(const stream::Header& header) {
  Shape chunk = header.chunk_shape;
  for (std::size_t axis = 0; axis < chunk.rank(); ++axis) {
    chunk[axis] = std::min(chunk[axis], header.shape[axis]);
  }
  return chunk;
}

/// Bit by bit. Only of a dct-chop with coefficients that are not finite, which no writer stores,
/// CPUs make NaN of different bits.
bool same(const stream::Header& header, const Bytes& a, const Bytes& b) {
  if (a == b) return true;
  if (header.codec.name() != "dct-chop") return false;
  return with_type(header.dtype, [&]<class T>(T) {
    for (std::size_t i = 0; i < a.size(); i += sizeof(T)) {
      T x, y;
      std::memcpy(&x, a.data() + i, sizeof x);
      std::memcpy(&y, b.data() + i, sizeof y);
      const bool both_nan = std::isnan(to_double(x)) && std::isnan(to_double(y));
      if (!both_nan && std::memcmp(&x, &y, sizeof x) != 0) return false;
    }
    return true;
  });
}

void decode(const stream::Header& header, const ChunkCodec& codec, const Bytes& payload) {
  const Shape shape = first_chunk(header);
  bool first_ok = false;
  Bytes first;
  for (const Isa isa : usable_isas()) {
    ChunkWorkspace workspace(isa);
    Bytes elements(static_cast<std::size_t>(shape.element_count() * size_of(header.dtype)));
    const auto view = MutableTensorView::contiguous(elements.data(), header.dtype, shape);
    const auto done = codec.decompress(payload, view, workspace);
    if (!done.ok()) must_explain(done.error());
    if (isa == Isa::scalar) {
      first_ok = done.ok();
      first = std::move(elements);
      continue;
    }
    const std::string name = header.codec.name() + " on " + std::string(name_of(isa));
    must(done.ok() == first_ok, name + " accepts what scalar refuses, or the reverse");
    must(!first_ok || same(header, elements, first), name + " gives other elements than scalar");
  }
}

}  // namespace
}  // namespace tensorpress::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tensorpress;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  if (size < 2) return 0;
  const std::size_t head = std::min<std::size_t>(load_le<std::uint16_t>(bytes.data()), size - 2);
  const auto header = stream::framed::parse_header(bytes.subspan(2, head));
  if (!header.ok()) {
    fuzz::must_explain(header.error());
    return 0;
  }
  const std::uint64_t elements = fuzz::first_chunk(*header).element_count();
  if (elements == 0 || elements > fuzz::kMostElements) return 0;
  // A copy of its own, so that a read beyond its end is noticed.
  const auto payload = bytes.subspan(2 + head);
  fuzz::decode(*header, *chunk_codec_of(header->codec),
               fuzz::Bytes(payload.begin(), payload.end()));
  return 0;
}
