#include <algorithm>
#include <cstring>

#include "codecs/dense/predictor_buffers.h"
#include "codecs/dense/recurring/coding.h"
#include "codecs/dense/recurring/context_tables.h"
#include "codecs/dense/recurring/one_lane.h"
#include "codecs/dense/recurring/palette.h"
#include "codecs/dense/recurring/walk.h"

namespace tensorpress::dense {
namespace {

Result<std::uint16_t> read_number(ByteReader& reader, const char* name) {
  TRY(const auto number, reader.read_varint());
  if (number > kMostEntries) return corrupt("a chunk that recurs has a ", name, " of ", number);
  return static_cast<std::uint16_t>(number);
}

Result<NumberModel> read_model(ByteReader& reader, std::size_t entries, std::size_t values) {
  NumberModel model;
  model.entries = entries;
  TRY(const auto kinds, reader.read<std::uint8_t>());
  const unsigned predictor = kinds & 7;
  const unsigned part = kinds >> 3;
  if (predictor >= kNumberPredictors || part >= kContextParts) {
    return corrupt("a chunk that recurs has predictor ", predictor, " and contexts ", part);
  }
  model.predictor = static_cast<NumberPredictor>(predictor);
  model.part = static_cast<ContextPart>(part);
  TRY(model.row, reader.read_varint());
  TRY(model.far, reader.read_varint());
  if (model.row == 0 || model.row > values || model.far > values ||
      (model.far == 0 && model.needs_far()) ||
      (model.predictor == NumberPredictor::alike && entries > kMostClasses)) {
    return corrupt("a chunk that recurs has rows of ", model.row, " and planes of ", model.far);
  }
  TRY(model.small, read_number(reader, "step"));
  TRY(model.large, read_number(reader, "step"));
  if (model.part != ContextPart::level) return model;
  for (std::uint16_t& level : model.levels) {
    TRY(level, read_number(reader, "level"));
  }
  return model;
}

// A value reads at most two words; a stretch is decoded without looking, and then it is asked
// whether the words sufficed.
constexpr std::size_t kReadBeyond = 4 * NumberWalk::kStretch;

template <class T>
Result<void> decode_numbers(const NumberModel& model, const ContextTables& chosen,
                            std::span<const std::byte> coded, std::span<const T> entries,
                            std::span<T> output, PredictorBuffers& buffers) {
  if (coded.size() < 4 || coded.size() % 2 != 0)
    return truncated("a chunk that recurs has no coder state");
  if (load_le<std::uint32_t>(coded.data()) < kernels::kRansLow) {
    return corrupt("a chunk that recurs has no coder state");
  }
  const auto words = buffers.coded.reserve(coded.size() + kReadBeyond);
  std::ranges::copy(coded, words.begin());
  std::ranges::fill(words.subspan(coded.size()), std::byte{0});
  const std::byte* const end = words.data() + coded.size();
  const auto numbers = buffers.values.reserve_as<std::uint16_t>(model.lead() + output.size());
  std::ranges::fill(numbers.first(model.lead()), std::uint16_t{0});

  const kernels::RansTables tables(chosen.tables);
  const std::uint32_t* const slots = tables.decode_entries();
  OneLaneDecoder coder{load_le<std::uint32_t>(words.data()), words.data() + 4};
  ModelWalk walk(model);
  bool inside = true;
  for_each_stretch(model.row, output.size(), [&](auto at, auto column, auto count) {
    OneLaneDecoder local = coder;
    std::uint16_t* const to = numbers.data() + model.lead() + at;
    inside &= walk.decode(to, column, count, [&](std::size_t context) {
      return local.get(slots, chosen.ids[context]);
    });
    coder = local;
    inside &= coder.next <= end;
    for (std::size_t i = 0; i < count; ++i) output[at + i] = entries[to[i]];
    return inside;
  });
  if (!inside)
    return corrupt("a chunk that recurs names entries beyond its palette, or ends early");
  if (coder.next != end || coder.state != kernels::kRansLow) {
    return corrupt("the coder of a chunk that recurs ends in a wrong state");
  }
  return {};
}

}  // namespace

template <class T>
Result<void> decode_palette(std::span<const std::byte> input, std::span<T> output,
                            ChunkWorkspace& workspace) {
  ByteReader reader(input);
  TRY(const auto entries, read_palette<T>(reader));
  if (entries.size() == 1) {
    if (reader.remaining() != 0) return corrupt("bytes follow a palette of one value");
    std::ranges::fill(output, entries[0]);
    return {};
  }
  TRY(const auto model, read_model(reader, entries.size(), output.size()));
  TRY(const auto chosen, read_tables(reader));
  TRY(const auto coded, reader.take(reader.remaining()));
  return decode_numbers<T>(model, chosen, coded, entries, output,
                           workspace.memory.of<PredictorBuffers>());
}
template Result<void> decode_palette(std::span<const std::byte>, std::span<float>, ChunkWorkspace&);
template Result<void> decode_palette(std::span<const std::byte>, std::span<double>,
                                     ChunkWorkspace&);

}  // namespace tensorpress::dense
