#include "chunk_coding.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/errors.h"
#include "counted_values.h"
#include "tensorpress/aligned_buffer.h"
#include "tensorpress/stream.h"

namespace tensorpress::hdf5 {
namespace {

using files::Hdf5Chunk;
using files::Hdf5FilterSettings;

constexpr bool kNativeBigEndian = std::endian::native == std::endian::big;

Result<Buffer> allocate(std::uint64_t bytes) {
  Buffer buffer;
  if (bytes <= PTRDIFF_MAX) {
    buffer.capacity = static_cast<std::size_t>(std::max<std::uint64_t>(bytes, 1));
    buffer.memory.reset(static_cast<std::byte*>(std::malloc(buffer.capacity)));
  }
  if (!buffer.memory) return too_large(human_bytes(bytes), " cannot be allocated for a chunk");
  return buffer;
}

template <class Word>
void copy_swapped(const std::byte* from, std::byte* to, std::size_t bytes) {
  for (std::size_t i = 0; i + sizeof(Word) <= bytes; i += sizeof(Word)) {
    Word word;
    std::memcpy(&word, from + i, sizeof word);
    word = swap_bytes(word);
    std::memcpy(to + i, &word, sizeof word);
  }
}

/// `from` may be `to`.
void copy_swapped(DType dtype, const std::byte* from, std::byte* to, std::size_t bytes) {
  switch (size_of(dtype)) {
    case 2:
      return copy_swapped<std::uint16_t>(from, to, bytes);
    case 4:
      return copy_swapped<std::uint32_t>(from, to, bytes);
    default:
      return copy_swapped<std::uint64_t>(from, to, bytes);
  }
}

std::size_t threads_for(const Hdf5FilterSettings& settings) {
  if (settings.threads != 0) return settings.threads;
  const char* const wanted = std::getenv("TENSORPRESS_HDF5_THREADS");
  if (wanted == nullptr) return 1;
  std::size_t threads = 1;
  const std::string_view digits(wanted);
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), threads);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
  constexpr std::size_t kMost = 1024;
  return whole ? std::clamp<std::size_t>(threads, 1, kMost) : 1;
}

/// NaN and infinities need not be named.
std::vector<double> fill_values_for(const Hdf5FilterSettings& settings) {
  std::vector<double> fills;
  const auto add = [&](double fill) {
    if (std::isfinite(fill) && std::ranges::find(fills, fill) == fills.end()) fills.push_back(fill);
  };
  for (const double fill : settings.fill_values) add(fill);
  if (settings.chunk->fill_value) add(*settings.chunk->fill_value);
  return fills;
}

bool is_of_range(const Bound& bound) {
  return bound.kind() == Bound::Kind::relative || bound.kind() == Bound::Kind::psnr;
}

Result<CompressOptions> options_for(const Hdf5FilterSettings& settings, const TensorView& chunk) {
  CompressOptions options{.bound = settings.bound,
                          .fill_values = fill_values_for(settings),
                          .threads = threads_for(settings)};
  const bool named = settings.chunk->fill_value.has_value();
  if (!settings.bound || settings.bound->kind() == Bound::Kind::pointwise_relative ||
      (named && !is_of_range(*settings.bound))) {
    return options;
  }
  TRY(auto counted, counted_values(chunk, std::move(options.fill_values),
                                   named ? Zeros::count : Zeros::may_be_padding));
  options.fill_values = std::move(counted.fill_values);
  if (is_of_range(*settings.bound)) options.value_range = counted.range;
  return options;
}

}  // namespace

Result<Buffer> encode_chunk(const Hdf5FilterSettings& settings, std::span<const std::byte> chunk) {
  ENSURE(settings.chunk.has_value());
  const Hdf5Chunk& layout = *settings.chunk;
  if (chunk.size() != layout.bytes()) {
    return bad_argument("a chunk of ", chunk.size(),
                        " bytes came to the filter, which was set up for ",
                        layout.shape.to_string(), " ", name_of(layout.dtype));
  }
  AlignedBuffer native;
  const std::byte* elements = chunk.data();
  const bool aligned = std::bit_cast<std::uintptr_t>(elements) % size_of(layout.dtype) == 0;
  if (layout.big_endian != kNativeBigEndian) {
    const auto room = native.reserve(chunk.size());
    copy_swapped(layout.dtype, chunk.data(), room.data(), chunk.size());
    elements = room.data();
  } else if (!aligned) {
    const auto room = native.reserve(chunk.size());
    std::ranges::copy(chunk, room.begin());
    elements = room.data();
  }
  const auto view = TensorView::contiguous(elements, layout.dtype, layout.shape);

  TRY(auto options, options_for(settings, view));
  const Compressor compressor(settings.codec, std::move(options));
  TRY(const std::uint64_t bound, compressor.bound_on_output_size(layout.shape, layout.dtype));
  TRY(auto stream, allocate(bound));
  TRY(const std::uint64_t length,
      compressor.compress(view, {stream.memory.get(), stream.capacity}));
  stream.used = static_cast<std::size_t>(length);
  return stream;
}

Result<Buffer> decode_chunk(const Hdf5FilterSettings& settings, std::span<const std::byte> stream) {
  ENSURE(settings.chunk.has_value());
  const Hdf5Chunk& layout = *settings.chunk;
  TRY(const StreamInfo info, read_info(stream));
  if (info.shape != layout.shape || info.dtype != layout.dtype) {
    return corrupt("a chunk holds ", info.shape.to_string(), " ", name_of(info.dtype),
                   ", but the dataset's chunks have ", layout.shape.to_string(), " ",
                   name_of(layout.dtype));
  }
  TRY(auto elements, allocate(layout.bytes()));
  const auto view =
      MutableTensorView::contiguous(elements.memory.get(), layout.dtype, layout.shape);
  RETURN_IF_ERROR(Decompressor({.threads = threads_for(settings)}).decompress(stream, view));
  elements.used = static_cast<std::size_t>(layout.bytes());
  if (layout.big_endian != kNativeBigEndian) {
    copy_swapped(layout.dtype, elements.memory.get(), elements.memory.get(), elements.used);
  }
  return elements;
}

}  // namespace tensorpress::hdf5
