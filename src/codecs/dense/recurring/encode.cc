#include <algorithm>
#include <limits>

#include "codecs/dense/predictor_buffers.h"
#include "codecs/dense/recurring/coding.h"
#include "codecs/dense/recurring/context_tables.h"
#include "codecs/dense/recurring/model_choice.h"
#include "codecs/dense/recurring/one_lane.h"
#include "codecs/dense/recurring/palette.h"
#include "codecs/dense/recurring/walk.h"
#include "codecs/dense/varint.h"

namespace tensorpress::dense {
namespace {

// The encoder keeps six bytes a value; larger chunks are left to the other predictors.
constexpr std::size_t kMostValues = std::size_t{1} << 22;

void append_model(const NumberModel& model, std::vector<std::byte>& bytes) {
  bytes.push_back(static_cast<std::byte>(static_cast<unsigned>(model.predictor) |
                                         static_cast<unsigned>(model.part) << 3));
  for (const std::size_t number :
       {model.row, model.far, std::size_t{model.small}, std::size_t{model.large}}) {
    append_varint(bytes, number);
  }
  if (model.part != ContextPart::level) return;
  for (const std::uint16_t level : model.levels) append_varint(bytes, level);
}

// Contexts and symbols of all values, and how often each occurs.
ContextHistogram symbols_of(const NumberModel& model, std::span<std::uint16_t> numbers,
                            std::uint16_t* contexts, std::int16_t* symbols) {
  ContextHistogram histogram;
  ModelWalk walk(model);
  for_each_stretch(model.row, numbers.size(), [&](auto at, auto column, auto count) {
    std::size_t i = at;
    walk.encode(numbers.data() + at, column, count, [&](std::size_t context, int symbol) {
      histogram.add(context, symbol);
      contexts[i] = static_cast<std::uint16_t>(context);
      symbols[i++] = static_cast<std::int16_t>(symbol);
    });
    return true;
  });
  return histogram;
}

std::optional<std::size_t> write_words(const ContextTables& chosen, std::size_t count,
                                       const std::uint16_t* contexts, const std::int16_t* symbols,
                                       std::span<std::byte> output) {
  const kernels::RansTables tables(chosen.tables);
  OneLaneEncoder encoder(output);
  for (std::size_t i = count; i-- > 0;) {
    const std::size_t id = chosen.ids[contexts[i]];
    if (id != 0 && !encoder.put(tables, id, symbols[i])) return std::nullopt;
  }
  const auto words = encoder.finish();
  if (!words) return std::nullopt;
  std::copy(words->begin(), words->end(), output.begin());
  return words->size();
}

}  // namespace

template <class T>
std::optional<std::size_t> encode_palette(const bounded::Field<T>& field, double bound,
                                          const PaletteEffort& effort, std::span<std::byte> output,
                                          ChunkWorkspace& workspace) {
  const std::size_t count = field.values.size();
  if (count > kMostValues) return std::nullopt;
  if (!effort.thorough && !may_have_palette(field.values)) return std::nullopt;
  auto& buffers = workspace.memory.of<PredictorBuffers>();
  const Fold fold = fold_of(field.shape);
  const std::size_t room =
      std::min(count, std::max(2 * fold.nx, fold.nz > 1 ? fold.ny * fold.nx : 0));
  const auto padded = buffers.values.reserve_as<std::uint16_t>(room + count);
  const auto numbers = padded.subspan(room);
  std::ranges::fill(padded.first(room), std::uint16_t{0});
  auto entries = find_palette(field.values, bound, numbers);
  if (!entries) return std::nullopt;
  if (fold.rows() == 1) {
    const auto held = buffers.contexts.reserve_as<std::uint16_t>(count);
    if (auto fewer_changes = hold_values<T>(field.values, bound, numbers, held)) {
      entries = std::move(fewer_changes);
      std::ranges::copy(held, numbers.begin());
    }
  }

  std::vector<std::byte> head;
  append_palette<T>(*entries, head);
  std::size_t words = 0;
  if (entries->size() > 1) {
    const auto chosen_model = choose_model(geometry_of(fold, entries->size()), numbers, effort);
    if (!chosen_model) return std::nullopt;
    const NumberModel& model = *chosen_model;
    append_model(model, head);
    const auto contexts = buffers.contexts.reserve_as<std::uint16_t>(count);
    const auto symbols = buffers.residuals.reserve_as<std::int16_t>(count);
    const auto chosen = choose_tables(symbols_of(model, numbers, contexts.data(), symbols.data()));
    append_tables(chosen, head);
    if (head.size() > output.size()) return std::nullopt;
    const auto written =
        write_words(chosen, count, contexts.data(), symbols.data(), output.subspan(head.size()));
    if (!written) return std::nullopt;
    words = *written;
  }
  if (head.size() > output.size()) return std::nullopt;
  std::ranges::copy(head, output.begin());
  return head.size() + words;
}
template std::optional<std::size_t> encode_palette(const bounded::Field<float>&, double,
                                                   const PaletteEffort&, std::span<std::byte>,
                                                   ChunkWorkspace&);
template std::optional<std::size_t> encode_palette(const bounded::Field<double>&, double,
                                                   const PaletteEffort&, std::span<std::byte>,
                                                   ChunkWorkspace&);

}  // namespace tensorpress::dense
