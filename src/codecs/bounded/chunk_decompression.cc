// Bytes with a bound back into one chunk; the layout is in bounded_codec.h.
#include "base/bytes.h"
#include "base/errors.h"
#include "base/portable_math.h"
#include "codecs/bounded/chunk_coding.h"
#include "codecs/bounded/elements.h"
#include "codecs/bounded/mask.h"

namespace tensorpress::bounded {
namespace {

// One chunk of bytes on its way into contiguous elements.
template <class Element>
class ChunkDecompression {
 public:
  using Value = ValueOf<Element>;

  ChunkDecompression(const FieldCoder& coder, const Parameters& parameters, const Shape& shape,
                     ChunkWorkspace& workspace)
      : coder_(coder),
        parameters_(parameters),
        workspace_(workspace),
        shape_(shape),
        count_(static_cast<std::size_t>(shape.element_count())) {}

  Result<void> decompress(std::span<const std::byte> input, std::byte* elements) {
    ByteReader reader(input);
    TRY(const std::uint8_t flags, reader.read<std::uint8_t>());
    if (flags >= 128) return corrupt("a chunk has unknown flags ", int{flags});
    const bool constant = (flags & kConstant) != 0, coded = (flags & kCoded) != 0;
    if (constant && coded) return corrupt("a chunk is both constant and coded");
    if (constant) RETURN_IF_ERROR(read_constant(reader, elements));
    std::vector<ElementBits> special;
    std::vector<Hole> holes;
    if ((flags & kSpecials) != 0) {
      const auto mask = buffers_.mask.reserve_as<std::uint8_t>(count_);
      RETURN_IF_ERROR(read_mask(reader, shape_, mask));
      holes = holes_of(mask);
      std::size_t count = 0;
      for (const Hole& hole : holes) count += static_cast<std::size_t>(hole.length);
      TRY(special, read_special_values(reader, count, sizeof(Element)));
    }
    if (!constant && !coded && special.size() != count_) {
      return corrupt("a chunk has values for ", special.size(), " of its ", count_, " elements");
    }
    if (coded) RETURN_IF_ERROR(read_coded(reader, flags, elements));
    if (reader.remaining() > 0)
      return corrupt("a chunk ends with ", reader.remaining(), " bytes too many");
    auto value = special.begin();
    for (const Hole& hole : holes) {
      std::byte* to = elements + hole.start * sizeof(Element);
      for (std::uint64_t i = 0; i < hole.length; ++i, to += sizeof(Element)) {
        store_element<Element>(*value++, to);
      }
    }
    return {};
  }

 private:
  Result<void> read_constant(ByteReader& reader, std::byte* elements) {
    TRY(const auto bytes, reader.take(sizeof(Element)));
    ElementBits bits = 0;
    for (std::size_t i = 0; i < sizeof(Element); ++i) {
      bits |= ElementBits{static_cast<std::uint8_t>(bytes[i])} << (8 * i);
    }
    for (std::size_t i = 0; i < count_; ++i) {
      store_element<Element>(bits, elements + i * sizeof(Element));
    }
    return {};
  }

  Result<void> read_coded(ByteReader& reader, std::uint8_t flags, std::byte* elements) {
    if (parameters_.pointwise()) {
      std::vector<std::uint8_t> negative;
      if ((flags & kSigns) != 0) {
        negative.resize(count_);
        RETURN_IF_ERROR(read_mask(reader, shape_, negative));
      }
      return (flags & kDoubleLogs) != 0
                 ? decode_logarithms<double>(reader, flags, negative, elements)
                 : decode_logarithms<float>(reader, flags, negative, elements);
    }
    if ((flags & (kSigns | kDoubleLogs)) != 0) {
      return corrupt("a chunk has signs or logarithms but its bound is not point-wise");
    }
    TRY(const auto patches, patches_of(reader, flags));
    std::span<Value> values;
    if constexpr (std::is_same_v<Element, Value>) {
      if (reinterpret_cast<std::uintptr_t>(elements) % alignof(Value) == 0) {
        values = {reinterpret_cast<Value*>(elements), count_};
      }
    }
    const bool in_place = !values.empty();
    if (!in_place) values = buffers_.values.reserve_as<Value>(count_);
    RETURN_IF_ERROR(decode(reader, flags, values));
    if (!in_place) {
      for (std::size_t i = 0; i < count_; ++i) {
        Element element;
        to_element(static_cast<double>(values[i]), element);
        std::memcpy(elements + i * sizeof element, &element, sizeof element);
      }
    }
    apply(patches, elements);
    return {};
  }

  template <class Log>
  Result<void> decode_logarithms(ByteReader& reader, std::uint8_t flags,
                                 std::span<const std::uint8_t> negative, std::byte* elements) {
    TRY(const auto patches, patches_of(reader, flags));
    const auto logarithms = buffers_.values.template reserve_as<Log>(count_);
    RETURN_IF_ERROR(decode(reader, flags, logarithms));
    for (std::size_t i = 0; i < count_; ++i) {
      const double magnitude = portable_exp2(static_cast<double>(logarithms[i]));
      Element element;
      to_element(!negative.empty() && negative[i] != 0 ? -magnitude : magnitude, element);
      std::memcpy(elements + i * sizeof element, &element, sizeof element);
    }
    apply(patches, elements);
    return {};
  }

  // All that is left in `reader` is the coder's.
  template <class T>
  Result<void> decode(ByteReader& reader, std::uint8_t flags, std::span<T> values) {
    double limit = parameters_.limit.value_or(0) * ((flags & kHalfLimit) != 0 ? 0.5 : 1);
    if (parameters_.pointwise()) limit = limit_of_logarithms<T>(limit);
    if (!is_codable<T>(limit)) {
      return corrupt("a chunk is coded although its bound is too small for that");
    }
    TRY(const auto bytes, reader.take(reader.remaining()));
    return coder_.decode(bytes, shape_, coder_bound<T>(limit), values, workspace_);
  }

  Result<std::vector<Patch>> patches_of(ByteReader& reader, std::uint8_t flags) {
    if ((flags & kPatches) == 0) return std::vector<Patch>();
    return read_patches(reader, count_, sizeof(Element));
  }

  void apply(std::span<const Patch> patches, std::byte* elements) {
    for (const Patch& patch : patches) {
      store_element<Element>(patch.value, elements + patch.index * sizeof(Element));
    }
  }

  const FieldCoder& coder_;
  const Parameters& parameters_;
  ChunkWorkspace& workspace_;
  ElementBuffers& buffers_ = workspace_.memory.of<ElementBuffers>();
  Shape shape_;
  std::size_t count_;
};

}  // namespace

Result<void> decompress_chunk(const FieldCoder& coder, const Parameters& parameters,
                              std::span<const std::byte> input, const MutableTensorView& chunk,
                              ChunkWorkspace& workspace) {
  const auto decompress = [&](auto element) {
    return ChunkDecompression<decltype(element)>(coder, parameters, chunk.shape, workspace)
        .decompress(input, chunk.data);
  };
  return with_element_type(chunk.dtype, decompress, [&] {
    return corrupt("a chunk of ", name_of(chunk.dtype), " has an error bound");
  });
}

}  // namespace tensorpress::bounded
