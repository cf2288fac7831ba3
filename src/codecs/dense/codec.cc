#include "codecs/dense/codec.h"

#include <algorithm>
#include <array>

#include "base/errors.h"
#include "codecs/bounded/bounded_codec.h"
#include "codecs/dense/choice/values.h"
#include "codecs/dense/recurring/coding.h"
#include "codecs/dense/recurring/copies.h"
#include "codecs/registry.h"

namespace tensorpress::dense {
namespace {

// Choosing how to interpolate a chunk takes samples of it; smaller chunks would spend too much on
// that, larger ones leave threads without work on fields of a few megabytes.
constexpr std::uint64_t kChunkValues = std::uint64_t{1} << 19;

class Dense final : public bounded::TypedFieldCoder<Dense> {
 public:
  explicit Dense(Effort effort) : effort_(effort) {}

  Shape preferred_chunk_shape(const Shape& shape, DType /*dtype*/) const override {
    if (effort_ == Effort::fast) return chunk_shape_of(shape, kLorenzoChunkValues);
    if (const auto cubes = wavelet_chunk_shape(shape)) return *cubes;
    return chunk_shape_of(shape, kChunkValues);
  }

  bool guides() const override { return effort_ == Effort::normal; }
  std::shared_ptr<const ChunkGuide> guide(const bounded::Field<float>& first, double bound,
                                          ChunkWorkspace& workspace) const override {
    return guide_of(first, bound, workspace);
  }
  std::shared_ptr<const ChunkGuide> guide(const bounded::Field<double>& first, double bound,
                                          ChunkWorkspace& workspace) const override {
    return guide_of(first, bound, workspace);
  }

 private:
  friend TypedFieldCoder;

  template <class T>
  std::optional<std::size_t> encode_as(const bounded::Field<T>& field, double bound,
                                       std::span<std::byte> output,
                                       ChunkWorkspace& workspace) const {
    if (effort_ == Effort::fast) {
      const auto plan = plan_lorenzo(field, bound, LorenzoModel::standard(), workspace.isa);
      return by_lorenzo(field, bound, plan, output, workspace);
    }
    const auto copies = find_copies(field);
    if (!copies) return by_values(field, bound, effort_, output, workspace);
    const auto copied = by_copies(field, bound, *copies, output.size(), workspace);
    if (copied.empty()) return by_values(field, bound, effort_, output, workspace);
    // Few copies may cost more than they save: neighbours are torn apart.
    if (effort_ == Effort::best || 2 * copies->copied() < copies->planes) {
      const auto whole =
          by_values(field, bound, effort_, output.first(copied.size() - 1), workspace);
      if (whole) return whole;
    }
    std::ranges::copy(copied, output.begin());
    return copied.size();
  }

  // The planes that are new, and where the others come from.
  template <class T>
  std::span<const std::byte> by_copies(const bounded::Field<T>& field, double bound,
                                       const Copies& copies, std::size_t room,
                                       ChunkWorkspace& workspace) const {
    auto& buffers = workspace.memory.of<ChoiceBuffers>();
    std::vector<std::byte> head = {std::byte{kRecurring}};
    append_copies(copies, head);
    const auto to = buffers.copied.reserve(room);
    if (head.size() > room) return {};
    std::ranges::copy(head, to.begin());
    std::vector<bounded::Hole> holes;
    const auto values = buffers.new_planes.reserve_as<T>(field.values.size());
    const auto part = coded_part(field, copies, values, holes);
    const auto bytes = by_values(part, bound, effort_, to.subspan(head.size()), workspace);
    return bytes ? to.first(head.size() + *bytes) : std::span<const std::byte>();
  }

  template <class T>
  Result<void> decode_as(std::span<const std::byte> input, const Shape& shape, double bound,
                         std::span<T> output, ChunkWorkspace& workspace) const {
    if (input.empty()) return truncated("a chunk ends before its predictor");
    const auto body = input.subspan(1);
    switch (static_cast<std::uint8_t>(input[0])) {
      case kLorenzo:
        return decode_lorenzo(body, shape, bound, output, workspace);
      case kInterpolation:
        return decode_interpolation(body, shape, bound, output, workspace);
      case kWavelet:
        return decode_wavelet(body, shape, bound, output, workspace);
      case kWaveletOfLine:
        return decode_wavelet(body, shape, bound, output, workspace, WaveletForm::lanes);
      case kRecurring:
        if (has_copies(body)) return decode_copies(body, shape, bound, output, workspace);
        return decode_palette(body, output, workspace);
      default:
        return corrupt("a chunk names predictor ", static_cast<int>(input[0]),
                       ", which dense does not have");
    }
  }

  template <class T>
  Result<void> decode_copies(std::span<const std::byte> input, const Shape& shape, double bound,
                             std::span<T> output, ChunkWorkspace& workspace) const {
    ByteReader reader(input);
    TRY(const auto copies, read_copies(reader, shape));
    TRY(const auto coded, reader.take(reader.remaining()));
    if (coded.size() > 1 && coded[0] == std::byte{kRecurring} && has_copies(coded.subspan(1))) {
      return corrupt("a chunk has copies within copies");
    }
    const std::size_t new_values = (copies.planes - copies.copied()) * copies.unit;
    RETURN_IF_ERROR(
        decode_as(coded, copies.coded_shape(shape), bound, output.first(new_values), workspace));
    put_copies(copies, output);
    return {};
  }

  Effort effort_;
};

constexpr std::array kParameters = {
    bounded::kBoundParameter, bounded::kLimitParameter, bounded::kFillParameter,
    ParameterInfo{"effort", "normal", "fast|normal|best",
                  "fast: Lorenzo alone; normal: samples choose among four predictors for each "
                  "chunk; best: all are tried"}};

constexpr std::array kHdf5Parameters = {
    PackedParameter{"effort", 0, 3, {"normal", "fast", "best"}}};

constexpr std::pair<std::string_view, Effort> kEfforts[] = {
    {"fast", Effort::fast}, {"normal", Effort::normal}, {"best", Effort::best}};

Result<std::unique_ptr<ChunkCodec>> create(std::span<const Parameter> parameters) {
  TRY(auto common, bounded::parse(parameters));
  const auto given = std::ranges::find(parameters, "effort", &Parameter::name);
  for (const auto& [name, effort] : kEfforts) {
    if (given->value == name)
      return bounded::make_bounded_codec(make_dense(effort), std::move(common));
  }
  return bad_argument("effort '", given->value, "' is not known; dense has fast, normal and best");
}

}  // namespace

std::unique_ptr<bounded::FieldCoder> make_dense(Effort effort) {
  return std::make_unique<Dense>(effort);
}

extern constinit const RegisteredCodec kCodec = {
    {.name = "dense",
     .summary = "error-bounded, the default: Lorenzo, interpolation, wavelets or a palette, rANS",
     .parameters = kParameters,
     .error_bounded = true},
    create,
    nullptr,
    {.number = 1, .parameters = kHdf5Parameters}};

}  // namespace tensorpress::dense
