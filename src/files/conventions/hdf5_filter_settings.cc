#include "files/conventions/hdf5_filter_settings.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/errors.h"
#include "codecs/registry.h"

namespace tensorpress::files {
namespace {

constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kMaxThreads = 1024;
constexpr std::size_t kUserWords = 8;  // before the fill values

constexpr std::array kBounds = {Bound::Kind::absolute, Bound::Kind::relative,
                                Bound::Kind::pointwise_relative, Bound::Kind::psnr};

Result<std::uint32_t> pack(const PackedParameter& packed, std::string_view value) {
  if (packed.choices[0].empty()) {
    std::uint32_t number = 0;
    for (const char digit : value) {
      if (digit < '0' || digit > '9')
        return bad_argument(packed.name, " '", value, "' is not a number");
      number = number * 10 + static_cast<std::uint32_t>(digit - '0');
      if (number > packed.mask) return bad_argument(packed.name, " ", value, " is too large");
    }
    return number << packed.shift;
  }
  for (std::size_t i = 0; i < packed.choices.size(); ++i) {
    if (packed.choices[i] == value) return static_cast<std::uint32_t>(i) << packed.shift;
  }
  return unsupported("the HDF5 filter has no ", packed.name, " '", value.substr(0, 40),
                     "'; it takes ", packed.choices[0], " or ", packed.choices[1]);
}

Result<std::uint32_t> pack_parameters(const Hdf5Words& words, const Codec& codec) {
  std::uint32_t word = 0;
  for (const PackedParameter& parameter : words.parameters) {
    TRY(const std::uint32_t bits, pack(parameter, codec.parameter(parameter.name)));
    word |= bits;
  }
  return word;
}

std::uint32_t largest_number() {
  std::uint32_t largest = 0;
  for (const auto* codec : registered_codecs()) largest = std::max(largest, codec->hdf5.number);
  return largest;
}

Result<Codec> unpack_codec(std::uint32_t number, std::uint32_t word) {
  const RegisteredCodec* const codec = find_hdf5_codec(number);
  if (codec == nullptr) {
    return unsupported("word 1 of the HDF5 filter's values is ", number,
                       ", no codec of this version; 1 to ", largest_number(), " are");
  }
  std::vector<Parameter> parameters;
  std::uint32_t known = 0;
  for (const PackedParameter& parameter : codec->hdf5.parameters) {
    known |= parameter.mask << parameter.shift;
    const std::uint32_t bits = word >> parameter.shift & parameter.mask;
    if (parameter.choices[0].empty()) {
      if (bits != 0) parameters.push_back({std::string(parameter.name), text(bits)});
    } else if (bits < parameter.choices.size() && !parameter.choices[bits].empty()) {
      parameters.push_back({std::string(parameter.name), std::string(parameter.choices[bits])});
    } else {
      known = 0;
    }
  }
  if ((word & ~known) != 0) {
    return unsupported("word 5 of the HDF5 filter's values is ", word,
                       ", which means nothing to codec ", codec->info.name);
  }
  return Codec::make(codec->info.name, parameters);
}

void append_f64(std::vector<std::uint32_t>& words, double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  words.push_back(static_cast<std::uint32_t>(bits));
  words.push_back(static_cast<std::uint32_t>(bits >> 32));
}

// Words in order; those that a user left out are 0.
class WordReader {
 public:
  explicit WordReader(std::span<const std::uint32_t> words) : words_(words) {}
  std::size_t position() const { return position_; }
  bool at_end() const { return position_ >= words_.size(); }
  std::uint32_t next() {
    const std::size_t at = position_++;
    return at < words_.size() ? words_[at] : 0;
  }
  double next_f64() {
    const std::uint64_t low = next();
    return std::bit_cast<double>(std::uint64_t{next()} << 32 | low);
  }

 private:
  std::span<const std::uint32_t> words_;
  std::size_t position_ = 0;
};

Result<std::optional<Bound>> read_bound(WordReader& words) {
  const std::uint32_t kind = words.next();
  const double value = words.next_f64();
  if (kind == 0) {
    if (std::bit_cast<std::uint64_t>(value) == 0) return std::optional<Bound>();
    return bad_argument("words 3 and 4 of the HDF5 filter's values hold a bound of ", value,
                        " and word 2 says that there is none");
  }
  if (kind > kBounds.size()) {
    return unsupported("word 2 of the HDF5 filter's values is ", kind, ", no kind of bound; 0 to ",
                       kBounds.size(), " are");
  }
  const Bound bound(kBounds[kind - 1], value);
  RETURN_IF_ERROR(bound.check());
  return std::optional(bound);
}

Result<void> check_bound(const Codec& codec, const std::optional<Bound>& bound) {
  const auto all = codecs();
  const auto info = std::ranges::find(all, codec.name(), &CodecInfo::name);
  if (info == all.end()) return internal_error("codec ", codec.name(), " is not registered");
  if (info->error_bounded && !bound) {
    return bad_argument("codec ", codec.name(), " keeps an error bound and none is given");
  }
  if (!info->error_bounded && bound) {
    return bad_argument("codec ", codec.name(), " has a fixed rate and takes no bound");
  }
  return {};
}

Result<Hdf5Chunk> read_chunk(WordReader& words, std::size_t count) {
  Hdf5Chunk chunk;
  const std::uint32_t element = words.next();
  const auto dtype = dtype_from_number(static_cast<std::uint8_t>(element));
  if (!dtype.ok() || !is_floating(*dtype) || (element & ~0x101ffu) != 0) {
    return corrupt("the element type in the HDF5 filter's values is ", element);
  }
  chunk.dtype = *dtype;
  chunk.big_endian = (element >> 8 & 1) != 0;
  const double fill = words.next_f64();
  if ((element >> 16) != 0) chunk.fill_value = fill;
  const std::uint32_t rank = words.next();
  if (rank < 1 || rank > kMaxRank || count != words.position() + rank) {
    return corrupt("the HDF5 filter has ", count, " values, which do not fit a rank of ", rank);
  }
  std::array<std::uint64_t, kMaxRank> extents{};
  for (std::uint32_t i = 0; i < rank; ++i) extents[i] = words.next();
  TRY(chunk.shape, hdf5_chunk_shape({extents.data(), rank}));
  return chunk;
}

}  // namespace

Result<Shape> hdf5_chunk_shape(std::span<const std::uint64_t> extents) {
  std::vector<std::uint64_t> kept(extents.begin(), extents.end());
  while (kept.size() > kMaxRank) {
    if (kept[0] > UINT32_MAX || kept[1] > UINT32_MAX) break;  // refused below
    kept[1] *= kept[0];
    kept.erase(kept.begin());
  }
  for (const std::uint64_t extent : kept) {
    if (extent == 0 || extent > UINT32_MAX) {
      return too_large("a chunk has ", extent,
                       " elements along an axis; the HDF5 filter takes 1 to 4294967295");
    }
  }
  return Shape::make(kept);
}

std::vector<Hdf5FilterCodec> hdf5_filter_codecs() {
  std::vector<Hdf5FilterCodec> all;
  for (std::uint32_t number = 1; number <= largest_number(); ++number) {
    const RegisteredCodec* const codec = find_hdf5_codec(number);
    if (codec == nullptr) continue;
    all.push_back({codec->info.name});
    for (const PackedParameter& parameter : codec->hdf5.parameters) {
      std::string choices;
      for (const std::string_view choice : parameter.choices) {
        if (!choice.empty()) choices += text(choices.empty() ? "" : "|", choice);
      }
      all.back().parameters.push_back({parameter.name, std::move(choices)});
    }
  }
  return all;
}

Result<std::vector<std::uint32_t>> Hdf5FilterSettings::to_words() const {
  const RegisteredCodec* const registered = find_codec(codec.name());
  if (registered == nullptr || registered->hdf5.number == 0) {
    return unsupported("the HDF5 filter has no codec ", codec.name());
  }
  RETURN_IF_ERROR(check_bound(codec, bound));
  if (fill_values.size() > kMaxHdf5FillValues) {
    return too_large(fill_values.size(), " fill values; the HDF5 filter takes at most ",
                     kMaxHdf5FillValues);
  }
  std::vector<std::uint32_t> words = {kVersion, registered->hdf5.number};
  if (bound) {
    RETURN_IF_ERROR(bound->check());
    const auto kind = std::ranges::find(kBounds, bound->kind());
    if (kind == kBounds.end()) {
      return unsupported("the HDF5 filter does not take the bound '", bound->to_string(),
                         "': it sees one chunk at a time; give abs, rel, pw-rel or psnr");
    }
    words.push_back(static_cast<std::uint32_t>(kind - kBounds.begin()) + 1);
    append_f64(words, bound->value());
  } else {
    words.insert(words.end(), 3, 0);
  }
  TRY(const std::uint32_t parameters, pack_parameters(registered->hdf5, codec));
  words.push_back(parameters);
  if (threads > kMaxThreads) return too_large(threads, " threads; at most ", kMaxThreads);
  words.push_back(threads);
  words.push_back(static_cast<std::uint32_t>(fill_values.size()));
  for (const double fill : fill_values) append_f64(words, fill);
  if (!chunk) {
    while (fill_values.empty() && words.back() == 0) words.pop_back();
    return words;
  }
  words.push_back(static_cast<std::uint32_t>(chunk->dtype) | (chunk->big_endian ? 1u << 8 : 0u) |
                  (chunk->fill_value ? 1u << 16 : 0u));
  append_f64(words, chunk->fill_value.value_or(0));
  words.push_back(static_cast<std::uint32_t>(chunk->shape.rank()));
  for (const auto extent : chunk->shape.extents()) {
    words.push_back(static_cast<std::uint32_t>(extent));
  }
  return words;
}

Result<Hdf5FilterSettings> Hdf5FilterSettings::from_words(std::span<const std::uint32_t> words) {
  if (words.empty()) {
    return bad_argument(
        "the HDF5 filter needs values that say how to compress; `tensorpress hdf5 "
        "args` prints them");
  }
  if (words.size() > kMaxHdf5Words) {
    return too_large("the HDF5 filter has ", words.size(), " values; at most ", kMaxHdf5Words,
                     " mean something");
  }
  WordReader reader(words);
  if (const std::uint32_t version = reader.next(); version != kVersion) {
    return unsupported("the first of the HDF5 filter's values is ", version,
                       ", a layout that this version does not know; it knows ", kVersion);
  }
  const std::uint32_t codec_number = reader.next();
  TRY(const auto bound, read_bound(reader));
  TRY(Codec codec, unpack_codec(codec_number, reader.next()));
  RETURN_IF_ERROR(check_bound(codec, bound));
  Hdf5FilterSettings settings{.codec = std::move(codec), .bound = bound};
  settings.threads = reader.next();
  if (settings.threads > kMaxThreads) {
    return too_large("word 6 of the HDF5 filter's values asks for ", settings.threads,
                     " threads; at most ", kMaxThreads);
  }
  const std::uint32_t fills = reader.next();
  if (fills > kMaxHdf5FillValues) {
    return too_large("word 7 of the HDF5 filter's values announces ", fills,
                     " fill values; at most ", kMaxHdf5FillValues);
  }
  if (fills > 0 && words.size() < kUserWords + 2 * std::size_t{fills}) {
    return truncated("the HDF5 filter's values end before the last of ", fills, " fill values");
  }
  for (std::uint32_t i = 0; i < fills; ++i) settings.fill_values.push_back(reader.next_f64());
  if (!reader.at_end()) {
    TRY(settings.chunk, read_chunk(reader, words.size()));
  }
  return settings;
}

}  // namespace tensorpress::files
