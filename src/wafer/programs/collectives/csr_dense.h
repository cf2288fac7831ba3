// Y = A X for a sparse A (CSR, as graphs have it) and a dense X: the aggregation step of a graph
// network, which the CereSZ-II authors' poster names as ongoing work. A is cut into tiles, one a
// PE; rows of X come down the columns from the north, sums go west, Y leaves there.
//
//   X rows of column block 0 | 1 | 2        each PE: y += a[i][j] * x[j][:], a vector operation
//            v   v   v                      for each nonzero; then the sums of a row of PEs are
//   Y <--- [A00][A01][A02]                  added from east to west
//   Y <--- [A10][A11][A12]
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensorpress/wafer/wafer.h"
#include "wafer/programs/inspect.h"

namespace tensorpress::wafer::programs {

struct CsrMatrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<std::uint32_t> row_starts;  // rows + 1 of them
  std::vector<std::uint32_t> column_of;
  std::vector<float> values;
};

struct CsrDenseRun {
  std::vector<float> y;  // rows x features, row by row
  std::uint64_t cycles = 0;
  std::uint32_t slowest_pe_cycles = 0;
  double mean_pe_cycles = 0;
  std::size_t sram_bytes = 0;
  Report report;
};

/// `x` has columns x features numbers. Rows and columns are padded to whole tiles.
Result<CsrDenseRun> run_csr_dense(std::uint32_t width, std::uint32_t height, const CsrMatrix& a,
                                  std::size_t features, std::span<const float> x,
                                  const RunOptions& options = {}, const Inspect& inspect = {});

}  // namespace tensorpress::wafer::programs
