// One chunk with a bound into bytes; the layout is in bounded_codec.h.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/bytes.h"
#include "base/portable_math.h"
#include "base/squares.h"
#include "base/tensor/contiguous.h"
#include "codecs/bounded/chunk_coding.h"
#include "codecs/bounded/elements.h"
#include "codecs/bounded/mask.h"
#include "codecs/bounded/one_value.h"
#include "codecs/bounded/stated_error.h"
#include "kernels/value_scan/value_scan.h"

namespace tensorpress::bounded {
namespace {

// Where a patch takes its place: the share of elements above which a tighter bound is cheaper.
constexpr std::uint64_t kPatchShare = 64;

// Holes take the value before them, the first one what comes after; a chunk of nothing but holes is
// not coded.
template <class T>
void fill_holes(std::span<T> values, std::span<const Hole> holes) {
  for (const Hole& hole : holes) {
    const auto start = static_cast<std::size_t>(hole.start);
    const auto length = static_cast<std::size_t>(hole.length);
    const T value = start > 0                        ? values[start - 1]
                    : start + length < values.size() ? values[start + length]
                                                     : T{0};
    std::ranges::fill(values.subspan(start, length), value);
  }
}

// One chunk of elements on its way into bytes.
template <class Element>
class ChunkCompression {
 public:
  using Value = ValueOf<Element>;

  ChunkCompression(const FieldCoder& coder, const Parameters& parameters, const TensorView& chunk,
                   ChunkWorkspace& workspace)
      : coder_(coder),
        parameters_(parameters),
        workspace_(workspace),
        shape_(chunk.shape),
        count_(static_cast<std::size_t>(chunk.element_count())) {
    load(chunk);
  }

  // Nothing when raw is the better form.
  std::optional<CompressedChunk> compress(std::span<std::byte> output) {
    if (const ChunkHint* const hint = workspace_.hint) {
      scan_ = {static_cast<Value>(hint->min), static_cast<Value>(hint->max), hint->specials,
               hint->zeros};
    } else {
      scan_ = kernels::value_scan<Value>(workspace_.isa)(values_, fills_);
    }
    head_.write(std::uint8_t{0});  // the flags, known at the end
    if (try_constant()) return finish(output, 0);
    if (parameters_.pointwise() ? scan_.specials > 0 || scan_.zeros : scan_.specials > 0) {
      take_out_specials();
      if (special_count_ == count_) return finish(output, 0);
      if (try_constant()) return finish(output, 0);
    }
    return parameters_.pointwise() ? code_logarithms(output) : code_values(output);
  }
  // Once it has been compressed.
  std::uint64_t special_elements() const { return scan_.specials; }

 private:
  void load(const TensorView& chunk) {
    elements_ = contiguous_elements(chunk, buffers_.elements);
    if constexpr (std::is_same_v<Element, Value>) {
      if (reinterpret_cast<std::uintptr_t>(elements_) % alignof(Value) == 0) {
        values_ = {reinterpret_cast<const Value*>(elements_), count_};
      } else {
        const auto values = buffers_.values.reserve_as<Value>(count_);
        std::memcpy(values.data(), elements_, count_ * sizeof(Value));
        values_ = values;
      }
    } else {
      const auto values = buffers_.values.reserve_as<Value>(count_);
      load_elements(chunk.dtype, elements_, sizeof(Element), count_, values.data());
      values_ = values;
    }
    for (const double fill : parameters_.fills) {
      Element element;
      to_element(fill, element);
      const auto value = static_cast<Value>(to_double(element));
      if (value - value == Value{0}) fills_.push_back(value);
    }
  }

  ElementBits bits_at(std::size_t i) const {
    return load_bits<Element>(elements_ + i * sizeof(Element));
  }

  // Point-wise bounds store zeros bit for bit, and a limit of 0 everything.
  bool keeps_signs_of_zeros() const { return parameters_.pointwise() || *parameters_.limit == 0; }

  // Where one value serves for all, within the bound and with zeros kept.
  bool try_constant() {
    if (special_count_ == 0 && scan_.specials > 0) return false;
    const auto low = static_cast<double>(scan_.min), high = static_cast<double>(scan_.max);
    if (!(low <= high)) return false;
    if (low != high && parameters_.pointwise()) return false;
    const auto one = one_value_for<Element>(low, high, scan_.zeros, *parameters_.limit);
    if (!one) return false;
    Element element = *one;
    if (low == 0 && high == 0 && keeps_signs_of_zeros()) {
      const bool negative = std::signbit(values_[0]);
      if (std::ranges::any_of(values_, [&](Value v) { return std::signbit(v) != negative; })) {
        return false;
      }
      to_element(negative ? -0.0 : 0.0, element);
    }
    flags_ |= kConstant;
    ByteWriter value;
    const auto* const bytes = reinterpret_cast<const std::byte*>(&element);
    const ElementBits bits = load_bits<Element>(bytes);
    for (std::size_t i = 0; i < sizeof(Element); ++i) {
      value.write(static_cast<std::uint8_t>(bits >> (8 * i)));
    }
    constant_ = std::move(value);
    if (parameters_.measured()) {
      measured_error_ = squared_errors([&](std::size_t) { return to_double(element); });
    }
    return true;
  }

  // Of all values but those in holes, with a little more for sums in another order.
  template <class ValueAt>
  double squared_errors(ValueAt value_at) const {
    double squared = 0;
    auto hole = holes_.begin();
    for (std::size_t i = 0; i < count_; ++i) {
      if (hole != holes_.end() && i >= hole->start) {
        if (i + 1 == hole->start + hole->length) ++hole;
        continue;
      }
      const double error = std::fabs(value_at(i) - static_cast<double>(values_[i]));
      if (error != 0) squared += square_at_least(error);
    }
    return squared * (1 + 1e-9);
  }

  void take_out_specials() {
    const auto mask = buffers_.mask.reserve_as<std::uint8_t>(count_);
    const bool zeros_too = parameters_.pointwise();
    std::vector<ElementBits> special;
    for (std::size_t i = 0; i < count_; ++i) {
      const bool is_special =
          kernels::is_special<Value>(values_[i], fills_) || (zeros_too && values_[i] == Value{0});
      mask[i] = is_special ? 1 : 0;
      if (is_special) special.push_back(bits_at(i));
    }
    special_count_ = special.size();
    flags_ |= kSpecials;
    write_mask(mask, shape_, specials_);
    write_special_values(special, sizeof(Element), specials_);
    holes_ = holes_of(mask);

    const auto clean = buffers_.clean.reserve_as<Value>(count_);
    std::ranges::copy(values_, clean.begin());
    fill_holes(clean, std::span<const Hole>(holes_));
    values_ = clean;
  }

  // The parts before the coder's bytes.
  void write_head(const ByteWriter& extra) {
    ByteWriter head;
    head.write(flags_);
    head.append(constant_.bytes());
    head.append(specials_.bytes());
    head.append(extra.bytes());
    head_ = std::move(head);
  }

  // Puts the head before `coded` bytes that already lie at their place.
  std::optional<CompressedChunk> finish(std::span<std::byte> output, std::size_t coded) {
    if (coded == 0) write_head({});
    if (head_.size() + coded >= count_ * sizeof(Element)) return std::nullopt;
    std::ranges::copy(head_.bytes(), output.begin());
    const auto payload = output.first(head_.size() + coded);
    workspace_.checksum.update(payload);
    return CompressedChunk{.bytes = payload.size(),
                           .raw = false,
                           .squared_error = squared_error(),
                           .special_elements = special_count_};
  }

  double squared_error() const {
    if (measured_error_) return *measured_error_;
    if ((flags_ & kConstant) != 0 && scan_.min == scan_.max) return 0;
    return stated_squared_error(*parameters_.limit, count_ - special_count_);
  }

  std::optional<CompressedChunk> code_values(std::span<std::byte> output) {
    flags_ |= kCoded;
    if constexpr (std::is_same_v<Element, Value>) {
      if (!parameters_.measured()) {
        if (!is_codable<Value>(*parameters_.limit)) return std::nullopt;
        write_head({});
        const auto coded = encode(field(), coder_bound<Value>(*parameters_.limit), output);
        return coded ? finish(output, *coded) : std::nullopt;
      }
    }
    const auto within = [this](double error, std::size_t) { return error <= *parameters_.limit; };
    const auto value_of = [](Value decoded, std::size_t) { return static_cast<double>(decoded); };
    if (auto chunk = code_and_check(field(), *parameters_.limit, output, {}, value_of, within)) {
      return chunk;
    }
    if constexpr (std::is_same_v<Element, Value>) return std::nullopt;
    // Values that lie on a coarse grid of their own, as f16 and bf16 do: an error of half the bound
    // rounds to the value itself or to one that is near enough.
    flags_ |= kHalfLimit;
    return code_and_check(field(), *parameters_.limit / 2, output, {}, value_of, within);
  }

  Field<Value> field() const {
    return {values_, shape_, holes_, scan_.zeros, parameters_.measured()};
  }

  std::optional<CompressedChunk> code_logarithms(std::span<std::byte> output) {
    flags_ |= kCoded;
    const auto mask = buffers_.mask.reserve_as<std::uint8_t>(count_);
    bool negative = false;
    for (std::size_t i = 0; i < count_; ++i) {
      mask[i] = values_[i] < Value{0} ? 1 : 0;
      negative = negative || mask[i] != 0;
    }
    ByteWriter signs;
    if (negative) {
      flags_ |= kSigns;
      write_mask(mask, shape_, signs);
    }
    // Floats hold log2|x| (up to 150) with 8e-6; finer bounds need doubles.
    constexpr double kFinestInFloat = 0x1p-11;
    if (std::is_same_v<Value, double> || *parameters_.limit < kFinestInFloat) {
      flags_ |= kDoubleLogs;
      return code_logarithms_as<double>(output, signs, mask);
    }
    return code_logarithms_as<float>(output, signs, mask);
  }

  template <class Log>
  std::optional<CompressedChunk> code_logarithms_as(std::span<std::byte> output,
                                                    const ByteWriter& signs,
                                                    std::span<const std::uint8_t> negative) {
    std::vector<Log> logarithms(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      logarithms[i] = static_cast<Log>(portable_log2(std::fabs(static_cast<double>(values_[i]))));
    }
    const double share = parameters_.bound->value();
    return code_and_check(
        Field<Log>{logarithms, shape_, holes_, false}, limit_of_logarithms<Log>(*parameters_.limit),
        output, signs,
        [&](Log decoded, std::size_t i) {
          const double magnitude = portable_exp2(static_cast<double>(decoded));
          return negative[i] != 0 ? -magnitude : magnitude;
        },
        [&](double error, std::size_t i) {
          // Both are multiples of the smallest double, and their share of each other is not: where
          // it would be rounded among subnormals, both are made larger, which is exact.
          double magnitude = std::fabs(static_cast<double>(values_[i]));
          if (magnitude < 0x1p-900) {
            magnitude *= 0x1p200;
            error *= 0x1p200;
          }
          return error <= share * magnitude * (1 - 0x1p-52);
        });
  }

  template <class T>
  std::optional<std::size_t> encode(const Field<T>& field, double bound,
                                    std::span<std::byte> output) {
    if (head_.size() >= output.size()) return std::nullopt;
    return coder_.encode(field, bound, output.subspan(head_.size()), workspace_);
  }

  // Codes, decodes again and checks in the element's own type; what is off becomes a patch. Nothing
  // when there are too many.
  template <class T, class ValueAt, class Within>
  std::optional<CompressedChunk> code_and_check(const Field<T>& field, double coder_limit,
                                                std::span<std::byte> output,
                                                const ByteWriter& signs, ValueAt value_at,
                                                Within within) {
    if (!is_codable<T>(coder_limit)) return std::nullopt;
    const double bound = coder_bound<T>(coder_limit);
    flags_ &= static_cast<std::uint8_t>(~kPatches);
    write_head(signs);
    auto coded = encode(field, bound, output);
    if (!coded) return std::nullopt;

    std::vector<T> decoded(count_);
    const auto coded_bytes = output.subspan(head_.size(), *coded);
    if (!coder_.decode(coded_bytes, shape_, bound, std::span(decoded), workspace_).ok()) {
      return std::nullopt;  // a bug of the coder; raw is never wrong
    }
    std::vector<Patch> patches;
    double squared = 0;
    auto hole = holes_.begin();
    for (std::size_t i = 0; i < count_; ++i) {
      if (hole != holes_.end() && i >= hole->start) {
        if (i + 1 == hole->start + hole->length) ++hole;
        continue;
      }
      Element element;
      to_element(value_at(decoded[i], i), element);
      const double error = std::fabs(to_double(element) - static_cast<double>(values_[i]));
      if (within(error, i)) {
        squared += square_at_least(error);
      } else {
        patches.push_back({i, bits_at(i)});
      }
    }
    if (patches.size() > count_ / kPatchShare && patches.size() > 4) return std::nullopt;
    // Summed in another order it may come out a little larger.
    measured_error_ = squared * (1 + 1e-9);
    if (patches.empty()) return finish(output, *coded);

    ByteWriter parts = signs;
    write_patches(patches, sizeof(Element), parts);
    const std::vector<std::byte> moved(coded_bytes.begin(), coded_bytes.end());
    flags_ |= kPatches;
    write_head(parts);
    if (head_.size() + moved.size() > output.size()) return std::nullopt;
    std::ranges::copy(moved, output.begin() + static_cast<std::ptrdiff_t>(head_.size()));
    return finish(output, moved.size());
  }

  const FieldCoder& coder_;
  const Parameters& parameters_;
  ChunkWorkspace& workspace_;
  ElementBuffers& buffers_ = workspace_.memory.of<ElementBuffers>();
  Shape shape_;
  std::size_t count_;
  const std::byte* elements_ = nullptr;  // as they are, contiguous
  std::span<const Value> values_;
  std::vector<Value> fills_;
  kernels::ValueScan<Value> scan_;
  std::vector<Hole> holes_;
  std::size_t special_count_ = 0;
  std::uint8_t flags_ = 0;
  ByteWriter constant_, specials_, head_;
  std::optional<double> measured_error_;
};

}  // namespace

ChunkAttempt compress_chunk(const FieldCoder& coder, const Parameters& parameters,
                            const TensorView& chunk, std::span<std::byte> output,
                            ChunkWorkspace& workspace) {
  const auto compress = [&](auto element) {
    ChunkCompression<decltype(element)> compression(coder, parameters, chunk, workspace);
    const auto coded = compression.compress(output);
    return ChunkAttempt{coded, compression.special_elements()};
  };
  return with_element_type(chunk.dtype, compress, [] { return ChunkAttempt(); });
}

}  // namespace tensorpress::bounded
