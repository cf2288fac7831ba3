// Where each block goes when blocks of different lengths are put together: the three stages of the
// paper's Section VI-B (Figure 10), as a mesh of processing elements without shared memory does it.
//
//   lengths, a line a column          1 reduce each line     2 scan the sums     3 scan each line
//     1 10  9  2                        22                      0                  0  1 11 20
//     5  3  4  6                        18                     22                 22 27 30 34
//
// Lines are the mesh's columns when it is at least as wide as high, else its rows; what stands in a
// line are consecutive blocks. Stages 1 and 3 run in all lines at once, only stage 2 crosses them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tensorpress::ceresz2 {

struct Mesh {
  std::size_t width = 1;
  std::size_t height = 1;

  bool column_major() const { return width >= height; }
  std::size_t line_length() const { return column_major() ? height : width; }
};

/// Stage 1: the sum of a line.
inline std::uint64_t reduce_line(std::span<const std::uint32_t> lengths) {
  std::uint64_t sum = 0;
  for (const std::uint32_t length : lengths) sum += length;
  return sum;
}

/// Stage 2: each sum becomes what stands before it; returns the total.
inline std::uint64_t scan_lines(std::span<std::uint64_t> sums) {
  std::uint64_t before = 0;
  for (std::uint64_t& sum : sums) {
    const std::uint64_t own = sum;
    sum = before;
    before += own;
  }
  return before;
}

/// Stage 3: the places of a line's blocks, the first of which goes to `start`.
inline void scan_line(std::span<const std::uint32_t> lengths, std::uint64_t start,
                      std::span<std::uint64_t> offsets) {
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    offsets[i] = start;
    start += lengths[i];
  }
}

/// All three. `sums` has room for a number a line. Returns the length of everything.
inline std::uint64_t block_offsets(std::span<const std::uint32_t> lengths, const Mesh& mesh,
                                   std::span<std::uint64_t> sums,
                                   std::span<std::uint64_t> offsets) {
  const std::size_t line = mesh.line_length();
  const std::size_t lines = (lengths.size() + line - 1) / line;
  const auto part = [&](auto all, std::size_t i) {
    return all.subspan(i * line, std::min(line, lengths.size() - i * line));
  };
  for (std::size_t i = 0; i < lines; ++i) sums[i] = reduce_line(part(lengths, i));
  const std::uint64_t total = scan_lines(sums.first(lines));
  for (std::size_t i = 0; i < lines; ++i) scan_line(part(lengths, i), sums[i], part(offsets, i));
  return total;
}

}  // namespace tensorpress::ceresz2
