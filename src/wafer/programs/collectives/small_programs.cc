#include "wafer/programs/collectives/small_programs.h"

#include <algorithm>
#include <vector>

#include "base/errors.h"
#include "wafer/programs/collectives/collectives.h"
#include "wafer/programs/collectives/csr_dense.h"

namespace tensorpress::wafer::programs {
namespace {

constexpr std::size_t kWords = 8;        // that are broadcast, and of a vector that is added
constexpr std::size_t kTile = 2;         // rows and columns of a matrix for each PE
constexpr std::size_t kFeatures = 4;     // columns of the dense matrix
constexpr std::size_t kRowNonzeros = 3;  // of the sparse matrix, in each row

/// -8 to 8.
std::vector<float> made_up_numbers(std::size_t count, std::uint32_t seed) {
  std::vector<float> numbers(count);
  for (float& number : numbers) {
    seed = seed * 1664525u + 1013904223u;
    number = static_cast<float>(static_cast<int>((seed >> 16) % 17) - 8);
  }
  return numbers;
}

Result<std::uint64_t> checked(bool same, std::string_view name, const Report& report) {
  if (!same)
    return internal_error("what the mesh computed by ", name, " is not what the host does");
  return report.cycles;
}

Result<std::uint64_t> broadcast(std::uint32_t width, std::uint32_t height,
                                const RunOptions& options, const Inspect& inspect) {
  std::vector<std::uint32_t> words(kWords);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint32_t>(i * i + 1);
  TRY(const auto run, run_broadcast(width, height, words, options, inspect));
  const bool same =
      std::ranges::all_of(run.received, [&](const auto& received) { return received == words; });
  return checked(same, "broadcast", run.report);
}

Result<std::uint64_t> reduce(std::uint32_t width, std::uint32_t height, const RunOptions& options,
                             const Inspect& inspect) {
  if (height != 1) {
    return bad_argument("reduce adds the vectors of one row, and the mesh is ", width, "x", height,
                        "; take ", width, "x1");
  }
  const auto vectors = made_up_numbers(kWords * width, 1);
  TRY(const auto run, run_reduce(width, vectors, options, inspect));
  std::vector<float> sum(kWords);
  for (std::size_t i = 0; i < vectors.size(); ++i) sum[i % kWords] += vectors[i];
  return checked(run.sum == sum, "reduce", run.report);
}

Result<std::uint64_t> gemv(std::uint32_t width, std::uint32_t height, const RunOptions& options,
                           const Inspect& inspect) {
  const std::size_t rows = kTile * height, columns = kTile * width;
  const auto a = made_up_numbers(rows * columns, 2), x = made_up_numbers(columns, 3);
  TRY(const auto run, run_gemv(width, height, rows, columns, a, x, options, inspect));
  std::vector<float> y(rows);
  for (std::size_t i = 0; i < a.size(); ++i) y[i / columns] += a[i] * x[i % columns];
  return checked(run.y == y, "gemv", run.report);
}

/// The last tiles of rows and columns are not full.
Result<std::uint64_t> csr_dense(std::uint32_t width, std::uint32_t height,
                                const RunOptions& options, const Inspect& inspect) {
  CsrMatrix a;
  a.rows = kTile * height - 1;
  a.columns = kTile * width - 1;
  const auto numbers = made_up_numbers(a.rows * kRowNonzeros, 4);
  const auto x = made_up_numbers(a.columns * kFeatures, 5);
  std::vector<float> y(a.rows * kFeatures);
  a.row_starts.push_back(0);
  for (std::size_t row = 0; row < a.rows; ++row) {
    for (std::size_t i = 0; i < std::min(kRowNonzeros, a.columns); ++i) {
      const std::size_t column = (row * 5 + i) % a.columns;
      a.column_of.push_back(static_cast<std::uint32_t>(column));
      a.values.push_back(numbers[row * kRowNonzeros + i]);
      for (std::size_t k = 0; k < kFeatures; ++k) {
        y[row * kFeatures + k] += a.values.back() * x[column * kFeatures + k];
      }
    }
    a.row_starts.push_back(static_cast<std::uint32_t>(a.values.size()));
  }
  TRY(const auto run, run_csr_dense(width, height, a, kFeatures, x, options, inspect));
  return checked(run.y == y, "csr-dense", run.report);
}

constexpr SmallProgram kPrograms[] = {
    {"broadcast", broadcast}, {"reduce", reduce}, {"gemv", gemv}, {"csr-dense", csr_dense}};

}  // namespace

std::span<const SmallProgram> small_programs() {
  return kPrograms;
}

}  // namespace tensorpress::wafer::programs
