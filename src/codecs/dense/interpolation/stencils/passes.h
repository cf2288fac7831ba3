// The passes of a level by stencils: one parity class after the other, each a sequence of rows.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "codecs/dense/interpolation/passes.h"
#include "codecs/dense/interpolation/stencils/class_grids.h"
#include "codecs/dense/interpolation/stencils/weights.h"

namespace tensorpress::dense {

/// A class with its stencil, ready for rows.
template <class T>
struct StencilClass {
  int level;
  AxisBits odd;
  Extents extents;
  const StencilShape* shape;
  std::vector<std::ptrdiff_t> points, beside;
  std::vector<kernels::StencilGroup<T>> groups;
  kernels::StencilRow<T> row;  // all but where the row is

  StencilClass(const GridLayout& layout, int of_level, AxisBits of_odd,
               const StencilShape& of_shape)
      : level(of_level), odd(of_odd), extents(layout.extents(of_odd)), shape(&of_shape) {
    for (const PointGroup& group : shape->groups) {
      for (const StencilPoint& point : group.points) {
        points.push_back(layout.distance(odd, point));
      }
      groups.push_back(described(group));
    }
    find_wider();
    for (const StencilPoint& point : shape->beside) beside.push_back(layout.distance(odd, point));
    row.groups = groups.data();
    row.group_count = groups.size();
    row.points = points.data();
    row.axes = shape->axes;
    row.near_share = static_cast<T>(1) / static_cast<T>(2 * shape->axes);
    row.beside = beside.data();
    row.beside_count = beside.size();
  }
  StencilClass(const StencilClass&) = delete;
  StencilClass& operator=(const StencilClass&) = delete;
  StencilClass(StencilClass&&) = default;  // what vectors point to stays where it is
  StencilClass& operator=(StencilClass&&) = default;

  void set(const StencilWeights& weights, T beside_weight) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      // Groups have 2, 4 or 8 points: exact.
      groups[g].weight = static_cast<T>(weights[g]) /
                         static_cast<T>(kStencilUnit * static_cast<std::int32_t>(groups[g].points));
    }
    if (!beside.empty()) row.beside_weight = beside_weight / static_cast<T>(beside.size());
  }

 private:
  kernels::StencilGroup<T> described(const PointGroup& group) const {
    kernels::StencilGroup<T> result;
    result.points = static_cast<std::uint32_t>(group.points.size());
    const auto &first = group.points[0].offset, &opposite = group.points[1].offset;
    const auto apart = static_cast<std::uint32_t>(std::abs(first[1]));
    // Stencils of one side have points twice.
    if (first == opposite || apart > kernels::kMostRowsApart || std::abs(first[2]) > 3) {
      return result;
    }
    result.mirrored = true;
    result.rows_apart = apart;
    result.left = GridLayout::columns(odd, first[2]);
    result.right = GridLayout::columns(odd, opposite[2]);
    return result;
  }

  void find_wider() {
    std::uint32_t number = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto distance = [&](std::size_t group, std::size_t axis) {
        return std::abs(shape->groups[group].points[0].offset[axis]);
      };
      for (std::size_t other = g + 1; other < groups.size(); ++other) {
        if (!groups[g].mirrored || !groups[other].mirrored ||
            distance(g, 0) != distance(other, 0) || distance(g, 1) + 2 != distance(other, 1) ||
            distance(g, 2) != distance(other, 2) || number == kernels::kMostWiderGroups) {
          continue;
        }
        groups[g].wider = groups[other].narrower = ++number;
      }
    }
  }
};

/// Memory for the grids of one chunk.
template <class T>
struct StencilMemory {
  std::span<T> values;            // grid_elements
  std::span<std::uint8_t> sizes;  // as many
  std::span<T> rows;              // predicted_elements

  /// Rows that are predicted at once.
  static constexpr std::size_t kRows = 8;
  static std::size_t row_pitch(std::size_t width) { return PassBuffers<T>::pitch_of(width); }
  static std::size_t predicted_elements(const Lattice& lattice) {
    return 2 * kRows * row_pitch(lattice.extent[0][2]);
  }
};

/// Runs all classes from `level` to level - 1. `fine` receives the finer level unless it is null.
/// Coder: bool row(const RowJob<T>&), false to give up.
/// Source: StencilWeights of(const StencilClass<T>&, const GridLayout&, ClassGrids<T>&).
template <class T, class Coder, class Source>
class StencilPasses {
 public:
  StencilPasses(const Lattice& lattice, int level, const InterpolationMode& mode,
                StencilReach reach, const PassBuffers<T>& buffers, const StencilMemory<T>& memory,
                const kernels::StencilKernels<T>& kernels, Coder& coder, Source& source)
      : layout_(lattice, level),
        grids_(layout_, memory.values.data()),
        level_(level),
        planes_(lattice.extent[0][0] > 1),
        mode_(mode),
        reach_(reach),
        buffers_(buffers),
        memory_(memory),
        kernels_(kernels),
        coder_(coder),
        source_(source) {}

  bool run(const T* coarse, T* fine) {
    grids_.place(coarse);
    grids_.extend(0);
    std::memset(memory_.sizes.data(), 0, layout_.elements());
    for (const AxisBits odd : kClassOrder) {
      if ((odd & ~layout_.axes()) != 0) continue;
      if (!run_class(odd)) return false;
      if (odd != layout_.axes()) grids_.extend(odd);
    }
    if (fine != nullptr) grids_.merge(kernels_, fine);
    return true;
  }

 private:
  bool run_class(AxisBits odd) {
    StencilClass<T> stencil(layout_, level_, odd, stencil_shape(layout_.axes(), odd, reach_));
    const Extents& n = stencil.extents;
    const std::size_t group = level_ == 1   ? static_cast<std::size_t>(std::popcount(odd)) - 1
                              : level_ == 2 ? 3
                                            : 4;
    const T beside = static_cast<T>(mode_.scales[group].beside_weight());
    stencil.set(source_.of(stencil, layout_, grids_), beside);
    auto cut = cut_stencils(odd, beside);
    RowJob<T> job;
    job.group = group;
    job.level = level_;
    job.row.count = n[2];
    job.row.directions = 0;
    job.row.above = buffers_.above + PassBuffers<T>::kLead;
    job.stencil_kernels = &kernels_;
    job.first_x = odd & 1;
    job.step_x = layout_.along(2) ? 2 : 1;
    job.output.store = kernels::RowStore::contiguous;
    const std::size_t pitch = PassBuffers<T>::pitch_of(n[2]);
    if (planes_) std::fill_n(buffers_.behind, n[1] * pitch, static_cast<T>(0));
    const auto finer = [&](std::size_t axis, std::size_t at) {
      return layout_.along(axis) ? 2 * at + (odd >> (2 - axis) & 1) : at;
    };
    kernels::StencilRows<T> rows;
    rows.count = n[2];
    rows.pitch = static_cast<std::ptrdiff_t>(layout_.pitch(1));
    rows.result_pitch = StencilMemory<T>::row_pitch(n[2]);
    rows.sums = memory_.rows.data();
    rows.bends = rows.sums + StencilMemory<T>::kRows * rows.result_pitch;
    const AxisBits cut_axes = layout_.cut(odd);
    const bool end_differs = (cut_axes & 1) != 0;
    for (std::size_t z = 0; z < n[0]; ++z) {
      std::fill_n(buffers_.above, pitch, static_cast<T>(0));
      job.z = finer(0, z);
      const AxisBits end_of_z = z + 1 == n[0] ? cut_axes & 4 : 0;
      // The last row may have a stencil of its own.
      for (std::size_t y = 0, end = n[1] - (cut_axes >> 1 & 1); y < n[1]; y = end, end = n[1]) {
        const AxisBits ends = end_of_z | (y + 1 == n[1] ? cut_axes & 2 : 0);
        const auto of = [&](AxisBits at) { return at == 0 ? &stencil.row : &cut[at]->row; };
        kernels::StencilRow<T>* const here = of(ends);
        kernels::StencilRow<T>* const at_end = end_differs ? of(ends | 1) : nullptr;
        job.stencil = here;
        job.stencil_at_end = at_end;
        std::size_t left = 0;  // of the rows that are predicted
        for (; y < end; ++y, --left) {
          job.output.values = grids_.row(odd, z, y);
          std::uint8_t* const sizes = memory_.sizes.data() + layout_.row(odd, z, y);
          for (kernels::StencilRow<T>* const row : {here, at_end}) {
            if (row == nullptr) continue;
            row->at = job.output.values;
            row->sizes = sizes;
          }
          if (left == 0) {
            left = rows.rows = rows_at_once(end - y);
            predict(*here, at_end, rows);
            job.sums = rows.sums;
            job.bends = rows.bends;
          }
          if (planes_) job.row.behind = buffers_.behind + PassBuffers<T>::kLead + y * pitch;
          job.y = finer(1, y);
          if (!coder_.row(job)) return false;
          job.sums += rows.result_pitch;
          job.bends += rows.result_pitch;
        }
      }
    }
    return true;
  }

  // Of so many that follow, in parts of nearly the same size.
  static std::size_t rows_at_once(std::size_t rows) {
    const std::size_t parts = (rows + StencilMemory<T>::kRows - 1) / StencilMemory<T>::kRows;
    return (rows + parts - 1) / parts;
  }

  void predict(const kernels::StencilRow<T>& stencil, const kernels::StencilRow<T>* at_end,
               const kernels::StencilRows<T>& rows) {
    kernels_.predict(stencil, rows);
    if (at_end == nullptr) return;
    const std::size_t last = rows.count - 1;
    kernels::StencilRow<T> column = *at_end;
    column.at += last;
    kernels::StencilRows<T> ends = rows;
    ends.count = 1;
    ends.sums += last;
    ends.bends += last;
    kernels_.predict(column, ends);
  }

  // For values at the far end of axes on which they have no right neighbour: stencils within the
  // face, or along the axes if nothing else is left.
  std::array<std::optional<StencilClass<T>>, kParityClasses> cut_stencils(AxisBits odd,
                                                                          T beside) const {
    std::array<std::optional<StencilClass<T>>, kParityClasses> result;
    const AxisBits cut = layout_.cut(odd);
    for (AxisBits ends = 1; ends < kParityClasses; ++ends) {
      if ((ends & ~cut) != 0) continue;
      const AxisBits left = odd & ~ends;
      if (left != 0) {
        const StencilShape& shape = stencil_shape(layout_.axes() & ~ends, left, StencilReach::nine);
        result[ends].emplace(layout_, level_, odd, shape);
        result[ends]->set(cubic_weights(shape), beside);
      } else {
        const StencilShape& shape = one_sided_shape(odd);
        result[ends].emplace(layout_, level_, odd, shape);
        result[ends]->set(one_sided_weights(shape), beside);
      }
    }
    return result;
  }

  GridLayout layout_;
  ClassGrids<T> grids_;
  int level_;
  bool planes_;
  const InterpolationMode& mode_;
  StencilReach reach_;
  const PassBuffers<T>& buffers_;
  StencilMemory<T> memory_;
  const kernels::StencilKernels<T>& kernels_;
  Coder& coder_;
  Source& source_;
};

/// The decoder's weights: what the chunk has.
template <class T>
class StoredWeights {
 public:
  explicit StoredWeights(const StencilSet& set) : set_(set) {}
  StencilWeights of(const StencilClass<T>& stencil, const GridLayout&, ClassGrids<T>&) const {
    const StencilWeights& stored = set_.of(stencil.level, stencil.odd);
    return stored.empty() ? cubic_weights(*stencil.shape) : stored;
  }

 private:
  const StencilSet& set_;
};

}  // namespace tensorpress::dense
