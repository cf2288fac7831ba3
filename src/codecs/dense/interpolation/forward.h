// The encoder's way through a chunk or a sample of one: predict, quantize, reconstruct, level by
// level; collects residuals, classes, the coarsest values and outliers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "codecs/bounded/field_coder.h"
#include "codecs/dense/interpolation/rows.h"
#include "codecs/dense/varint.h"

namespace tensorpress::dense {

/// A tensor of any rank as planes, rows and columns: leading axes are merged into planes; trailing
/// axes shorter than 8 would make short rows, so these become planes too (values are transposed).
struct Folding {
  Extents extents{1, 1, 1};
  std::size_t components = 1;  // values [i][component] become [component][i]
};
Folding fold(const Shape& shape);
template <class T>
void transpose(const T* from, std::size_t rows, std::size_t columns, T* to);

/// The field's values folded, with NaN in its holes: its own memory where nothing has to change.
template <class T>
std::span<const T> prepare_values(const bounded::Field<T>& field, const Folding& folding,
                                  ChunkWorkspace& workspace);

/// Which buffers of a workspace are used for what.
namespace buffer {
inline constexpr std::size_t kPasses = bounded::kFirstCoderBuffer;
inline constexpr std::size_t kRow = kPasses + 1;
inline constexpr std::size_t kResiduals = kPasses + 2;
inline constexpr std::size_t kClasses = kPasses + 3;
inline constexpr std::size_t kOriginals = kPasses + 4;
inline constexpr std::size_t kFine = kPasses + 5;
inline constexpr std::size_t kValues = kPasses + 6;  // folded, holes marked
inline constexpr std::size_t kCoded = kPasses + 7;
inline constexpr std::size_t kSample = kPasses + 8;
}  // namespace buffer

template <class T>
class Forward {
 public:
  explicit Forward(ChunkWorkspace& workspace) : workspace_(workspace) {}

  /// NaN marks values that need not be kept. False when more than `most_outliers` were met.
  bool run(std::span<const T> values, const Extents& extents, const InterpolationMode& mode,
           double bound, std::size_t most_outliers);

  /// Of all rows, each padded to whole groups of rANS (with residuals 0).
  std::span<std::int32_t> residuals() const { return residuals_; }
  std::span<std::uint8_t> classes() const { return classes_; }
  const std::vector<RowSpan>& spans() const { return spans_; }
  std::vector<Outlier<T>>& outliers() { return outliers_; }
  const std::vector<std::byte>& anchors() const { return anchors_; }  // varints

 private:
  void code_anchors(const Lattice& lattice, const ModelSet<T>& models, const T* originals,
                    T first_value, T* to);

  ChunkWorkspace& workspace_;
  std::span<std::int32_t> residuals_;
  std::span<std::uint8_t> classes_;
  std::vector<RowSpan> spans_;
  std::vector<Outlier<T>> outliers_;
  std::vector<std::byte> anchors_;
  std::vector<std::int64_t> steps_;
};

/// Zeros that are not kept by the predictions themselves are listed as runs.
struct ZeroRun {
  std::uint64_t start, length;
};
template <class T>
std::vector<ZeroRun> zero_runs(std::span<const T> values);
void append_zeros(const std::vector<ZeroRun>& runs, std::vector<std::byte>& bytes);

}  // namespace tensorpress::dense
