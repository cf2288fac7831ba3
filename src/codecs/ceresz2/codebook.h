// The Huffman codebook of ceresz2: a canonical prefix code for the differences first_symbol() ...
// first_symbol() + symbols() - 1. Only the lengths of its codes need to be known; codes of one
// length are in the order of their symbols. As text, for a stream's header: a letter for each
// length, A for 1 bit to X for 24, and after it how often it stands in a row, if more than once:
// "KJ2CBACJ2K".
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/huffman/huffman.h"
#include "tensorpress/result.h"

namespace tensorpress::ceresz2 {

inline constexpr std::uint32_t kDefaultSymbols = 2000;
inline constexpr std::uint32_t kFewestSymbols = 2;

/// How often each difference occurred, in blocks that are not zero.
struct DeltaCounts {
  explicit DeltaCounts(std::uint32_t symbols = kDefaultSymbols) : counts(symbols) {}

  std::vector<std::uint64_t> counts;
  std::uint64_t escapes = 0;          // differences beyond the symbols
  std::uint64_t bits_as_escapes = 0;  // without flags, if all these differences were escapes
  std::uint64_t blocks = 0;           // all of them
  std::uint64_t zero_blocks = 0;      // whose values are not counted above
  std::uint64_t outliers = 0;         // values that cannot be kept within the bound

  std::int64_t first_symbol() const { return -static_cast<std::int64_t>(counts.size() / 2); }
};

class Codebook {
 public:
  /// A code for every symbol; the shortest for these counts among those of at most 24 bits. 2 to
  /// 16384 symbols.
  static Result<Codebook> from_counts(std::span<const std::uint64_t> counts);
  /// From probabilities, which need not add up to one; offline only, because they are doubles.
  static Result<Codebook> from_probabilities(std::span<const double> probabilities);
  /// The error says what is wrong: too few or too many, a length out of range, no prefix code.
  static Result<Codebook> from_lengths(std::span<const std::uint8_t> lengths);
  static Result<Codebook> from_text(std::string_view text);
  /// What ships with the library; made once.
  static const Codebook& standard();

  std::uint32_t symbols() const { return static_cast<std::uint32_t>(lengths_.size()); }
  std::int64_t first_symbol() const { return -static_cast<std::int64_t>(symbols() / 2); }
  std::span<const std::uint8_t> lengths() const { return lengths_; }
  std::string to_text() const;

  /// Mean length of a code, without its flag, when symbols come with these weights.
  double expected_bits(std::span<const double> weights) const;

  kernels::huffman::PackTable pack_table() const;
  /// The table that is fastest where values take about so many bits, flags included: small enough
  /// for the first cache unless long codes are frequent.
  const kernels::huffman::UnpackTable& unpack_table(double bits_per_value) const {
    return bits_per_value < kManyBits ? small_.table : large_.table;
  }

  Codebook(const Codebook&) = delete;  // tables point into entries
  Codebook& operator=(const Codebook&) = delete;
  Codebook(Codebook&&) = default;
  Codebook& operator=(Codebook&&) = default;
  ~Codebook() = default;

 private:
  Codebook() = default;

  static constexpr double kManyBits = 9;
  struct Unpacking {
    std::vector<std::uint32_t> entries;
    kernels::huffman::UnpackTable table;
  };
  Unpacking make_unpacking(unsigned index_bits) const;

  std::vector<std::uint8_t> lengths_;
  std::vector<std::uint32_t> pack_entries_;
  std::vector<std::uint16_t> symbols_by_code_;
  kernels::huffman::UnpackTable codes_;  // without entries
  Unpacking small_, large_;
};

/// `codebook` is "default" or Codebook::to_text().
Result<std::shared_ptr<const Codebook>> shared_codebook(std::string_view codebook);

/// The text of the standard codebook (default_codebook.cc).
extern const std::string_view kDefaultCodebookText;

}  // namespace tensorpress::ceresz2
