#include "codecs/ceresz2/codebook.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/errors.h"
#include "codecs/ceresz2/code_lengths.h"

namespace tensorpress::ceresz2 {
namespace {

using kernels::huffman::kMaxCodeBits;
using kernels::huffman::kMaxSymbols;
using kernels::huffman::UnpackTable;

Result<void> check_count(std::size_t symbols) {
  if (symbols < kFewestSymbols || symbols > kMaxSymbols) {
    return bad_argument("a codebook of ", symbols, " symbols; ", kFewestSymbols, " to ",
                        kMaxSymbols, " are possible, ", kDefaultSymbols, " are usual");
  }
  return {};
}

/// Codes in units of the longest possible one must fill the whole: 2^24 of them.
Result<void> check_prefix_code(std::span<const std::uint8_t> lengths) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 1 || lengths[i] > kMaxCodeBits) {
      return bad_argument("symbol ", i, " of the codebook has a code of ", unsigned{lengths[i]},
                          " bits; every symbol needs one of 1 to ", kMaxCodeBits);
    }
    sum += std::uint64_t{1} << (kMaxCodeBits - lengths[i]);
  }
  constexpr std::uint64_t kWhole = std::uint64_t{1} << kMaxCodeBits;
  if (sum != kWhole) {
    return bad_argument("the codebook's lengths are no prefix code: 2^-length adds up to ",
                        rounded(static_cast<double>(sum) / static_cast<double>(kWhole), 6),
                        sum > kWhole ? ", more" : ", less",
                        " than 1; build it with `tensorpress codebook build`");
  }
  return {};
}

constexpr unsigned kSmallIndexBits = 12;

/// So many bits that longer codes are rare, as the lengths themselves foretell.
unsigned choose_index_bits(std::span<const std::uint8_t> lengths) {
  constexpr unsigned kMost = 15;
  constexpr std::uint64_t kRare = (std::uint64_t{1} << kMaxCodeBits) / 128;
  for (unsigned bits = kSmallIndexBits; bits < kMost; ++bits) {
    std::uint64_t longer = 0;
    for (const std::uint8_t length : lengths) {
      if (length > bits) longer += std::uint64_t{1} << (kMaxCodeBits - length);
    }
    if (longer <= kRare) return bits;
  }
  return kMost;
}

}  // namespace

Result<Codebook> Codebook::from_lengths(std::span<const std::uint8_t> lengths) {
  RETURN_IF_ERROR(check_count(lengths.size()));
  RETURN_IF_ERROR(check_prefix_code(lengths));
  Codebook book;
  book.lengths_.assign(lengths.begin(), lengths.end());
  book.pack_entries_.resize(lengths.size());
  UnpackTable& codes = book.codes_;
  codes.first = book.symbols() / 2;
  std::array<std::uint32_t, kMaxCodeBits + 1> place{};  // in symbols_by_code_, of the next one
  for (const std::uint8_t length : lengths) ++place[length];
  std::uint32_t code = 0, before = 0;
  for (unsigned length = 1; length <= kMaxCodeBits; ++length) {
    code <<= 1;
    codes.offsets[length] = code - before;
    code += place[length];
    before += std::exchange(place[length], before);
    codes.limits[length] = code << (kMaxCodeBits - length);
  }
  book.symbols_by_code_.resize(lengths.size());
  for (std::uint32_t symbol = 0; symbol < lengths.size(); ++symbol) {
    const unsigned length = lengths[symbol];
    const std::uint32_t at = place[length]++;
    const std::uint32_t outgoing = kernels::huffman::reversed(at + codes.offsets[length], length);
    book.pack_entries_[symbol] = (length + 1) << 26 | outgoing << 1 | 1;
    book.symbols_by_code_[at] = static_cast<std::uint16_t>(symbol);
  }
  codes.symbols = book.symbols_by_code_.data();
  book.small_ = book.make_unpacking(kSmallIndexBits);
  book.large_ = book.make_unpacking(choose_index_bits(lengths));
  return book;
}

Codebook::Unpacking Codebook::make_unpacking(unsigned index_bits) const {
  Unpacking result{.entries = std::vector<std::uint32_t>(std::size_t{1} << index_bits),
                   .table = codes_};
  for (std::uint32_t symbol = 0; symbol < lengths_.size(); ++symbol) {
    const unsigned length = lengths_[symbol];
    if (length > index_bits) continue;
    const std::uint32_t entry = (symbol - codes_.first) << 16 | (length + 1);
    const std::size_t outgoing = pack_entries_[symbol] >> 1 & ((1U << 25) - 1);
    for (std::size_t i = outgoing; i < result.entries.size(); i += std::size_t{1} << length) {
      result.entries[i] = entry;
    }
  }
  result.table.index_bits = index_bits;
  result.table.entries = result.entries.data();
  return result;
}

Result<Codebook> Codebook::from_counts(std::span<const std::uint64_t> counts) {
  RETURN_IF_ERROR(check_count(counts.size()));
  // Symbols that were not seen get codes too: together they weigh next to nothing.
  constexpr std::uint64_t kMostWeight = std::uint64_t{1} << 40;
  std::uint64_t total = 0;
  for (const std::uint64_t count : counts) {
    total = count > UINT64_MAX - total ? UINT64_MAX : total + count;
  }
  unsigned down = 0, up = 0;
  while (total >> down > kMostWeight) ++down;
  while (total != 0 && up < 16 && total << (up + 1) <= kMostWeight) ++up;
  std::vector<std::uint64_t> weights;
  for (const std::uint64_t count : counts) {
    weights.push_back(std::max<std::uint64_t>(count >> down << up, 1));
  }
  return from_lengths(limited_code_lengths(weights, kMaxCodeBits));
}

Result<Codebook> Codebook::from_probabilities(std::span<const double> probabilities) {
  double sum = 0;
  for (const double probability : probabilities) {
    if (!(probability >= 0) || std::isinf(probability)) {
      return bad_argument("a probability of ", probability, " in a codebook");
    }
    sum += probability;
  }
  if (!(sum > 0) || std::isinf(sum)) return bad_argument("a codebook of impossible symbols only");
  std::vector<std::uint64_t> counts;
  for (const double probability : probabilities) {
    counts.push_back(static_cast<std::uint64_t>(probability / sum * 0x1p40));
  }
  return from_counts(counts);
}

Result<Codebook> Codebook::from_text(std::string_view text) {
  std::vector<std::uint8_t> lengths;
  for (std::size_t i = 0; i < text.size();) {
    const char letter = text[i];
    if (letter < 'A' || letter >= static_cast<char>('A' + kMaxCodeBits)) {
      return bad_argument("a codebook's text has letters A to X and numbers, but at ", i,
                          " it has '", letter >= ' ' && letter <= '~' ? letter : '?', "'");
    }
    std::size_t times = 0;
    for (++i; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
      times = times * 10 + static_cast<std::size_t>(text[i] - '0');
      if (times > kMaxSymbols) break;
    }
    lengths.resize(std::min<std::size_t>(lengths.size() + std::max<std::size_t>(times, 1),
                                         std::size_t{kMaxSymbols} + 1),
                   static_cast<std::uint8_t>(letter - 'A' + 1));
    if (lengths.size() > kMaxSymbols) break;
  }
  return from_lengths(lengths);
}

std::string Codebook::to_text() const {
  std::string out;
  for (std::size_t i = 0; i < lengths_.size();) {
    std::size_t times = 1;
    while (i + times < lengths_.size() && lengths_[i + times] == lengths_[i]) ++times;
    out += static_cast<char>('A' + lengths_[i] - 1);
    if (times > 1) append_text(out, times);
    i += times;
  }
  return out;
}

double Codebook::expected_bits(std::span<const double> weights) const {
  double bits = 0, sum = 0;
  for (std::size_t i = 0; i < std::min(weights.size(), lengths_.size()); ++i) {
    bits += weights[i] * lengths_[i];
    sum += weights[i];
  }
  return sum > 0 ? bits / sum : 0;
}

kernels::huffman::PackTable Codebook::pack_table() const {
  return {pack_entries_.data(), symbols(), symbols() / 2};
}

const Codebook& Codebook::standard() {
  // Never destroyed: HDF5 may still compress chunks while the process ends.
  static const Codebook& book =
      *new const Codebook(std::move(from_text(kDefaultCodebookText).value()));
  return book;
}

}  // namespace tensorpress::ceresz2
