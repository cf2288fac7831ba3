// The order in which a lattice of values is interpolated, coarse to fine.
//
// From level l to l - 1: the values of level l stand on the even rows of a grid with the finer
// level's planes and rows and the coarser level's columns. Pass z fills its odd planes, pass y its
// odd rows, and pass x interleaves each row with the values between: rows of level l - 1. Every
// pass is a sequence of rows; a row reads only rows of earlier passes, and the histories of its
// own.
//
// With `average`, a value is predicted along every axis on which both neighbours are known. Then
// rows that have both even and odd neighbours of a pass come after those they read: pass y first in
// even planes, pass x in even then odd rows of even then odd planes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "codecs/dense/interpolation/mode.h"
#include "codecs/dense/lattice/lattice.h"
#include "kernels/interpolation/interpolation.h"
#include "kernels/stencil/stencil.h"

namespace tensorpress::dense {

/// All values but the coarsest level's, every row of every pass padded to whole groups of rANS.
std::size_t padded_values(const Lattice& lattice);

/// One row to be predicted and coded.
template <class T>
struct RowJob {
  kernels::InterpolationRow<T> row;
  kernels::RowOutput<T> output;
  std::size_t group = 0;
  int level = 1;             // being left
  std::size_t z = 0, y = 0;  // of the finer level
  std::size_t first_x = 0, step_x = 1;
  /// Has predicted the row in place of its directions.
  const T* sums = nullptr;
  const T* bends = nullptr;
  const kernels::StencilRow<T>* stencil = nullptr;
  const kernels::StencilRow<T>* stencil_at_end = nullptr;  // of the last value, if it differs
  const kernels::StencilKernels<T>* stencil_kernels = nullptr;
};

/// Memory for the passes of one chunk. Rows have a little room before them and a vector's behind.
template <class T>
class PassBuffers {
 public:
  static constexpr std::size_t kVector = 64 / sizeof(T);  // elements of the widest vectors
  static constexpr std::size_t kLead = 4;
  static std::size_t pitch_of(std::size_t width) {
    return (width + kVector - 1) / kVector * kVector + kVector + kLead;
  }

  /// How many elements the constructor takes from its memory.
  static std::size_t elements_needed(const Lattice& lattice);

  PassBuffers(std::span<T> memory, const Lattice& lattice);

  T* grid = nullptr;
  T* above = nullptr;
  T* behind = nullptr;
  T* error = nullptr;
  std::array<T*, 6> spare{};  // rows made up for missing neighbours
  T* tail = nullptr;          // copies of the last rows of the finest level
  std::size_t tail_pitch = 0;
  std::array<T*, Lattice::kMaxLevels + 1> level{};  // 1 … levels
};

/// Runs all passes from `level` to level - 1. `fine` receives the finer level unless it is null
/// (the encoder does not need the finest); reads nothing at or behind `fine_end`.
/// Coder: bool row(const RowJob<T>&), false to give up.
template <class T, class Coder>
class LevelPasses {
 public:
  LevelPasses(const Lattice& lattice, int level, const InterpolationMode& mode,
              PassBuffers<T>& buffers, T* fine, const T* fine_end, Coder& coder)
      : n_(lattice.extent[level - 1]),
        m_(lattice.extent[level]),
        along_(lattice.along),
        level_(level),
        mode_(mode),
        buffers_(buffers),
        fine_(fine),
        fine_end_(fine_end),
        coder_(coder),
        pitch_(PassBuffers<T>::pitch_of(m_[2])),
        planes_(lattice.extent[0][0] > 1),
        feedback_(mode.has_feedback()) {}

  bool run(const T* coarse) {
    place(coarse);
    std::size_t pass = 0;
    if (along_[0] && n_[0] > 1 && !pass_z(pass++)) return false;
    if (along_[1] && n_[1] > 1 && !pass_y(pass++)) return false;
    if (along_[2]) return pass_x(pass);
    if (fine_ != nullptr) {
      for (std::size_t z = 0; z < n_[0]; ++z) {
        for (std::size_t y = 0; y < n_[1]; ++y) {
          std::memcpy(fine_row(z, y), grid_row(z, y), n_[2] * sizeof(T));
        }
      }
    }
    return true;
  }

 private:
  T* grid_row(std::size_t z, std::size_t y) {
    return buffers_.grid + (z * n_[1] + y) * pitch_ + PassBuffers<T>::kLead;
  }
  T* fine_row(std::size_t z, std::size_t y) { return fine_ + (z * n_[1] + y) * n_[2]; }
  std::size_t group(std::size_t pass) const { return level_ == 1 ? pass : level_ == 2 ? 3 : 4; }

  void place(const T* coarse) {
    const std::size_t step_z = along_[0] ? 2 : 1, step_y = along_[1] ? 2 : 1;
    for (std::size_t z = 0; z < m_[0]; ++z) {
      for (std::size_t y = 0; y < m_[1]; ++y, coarse += m_[2]) {
        std::memcpy(grid_row(z * step_z, y * step_y), coarse, m_[2] * sizeof(T));
      }
    }
  }

  // --- histories
  void begin_pass(std::size_t pass, std::size_t rows, std::size_t width) {
    width_ = width;
    job_ = {};
    job_.row.count = width;
    job_.row.above = buffers_.above + PassBuffers<T>::kLead;
    job_.group = group(pass);
    if (mode_.feedback[job_.group] != 0) job_.row.error = buffers_.error;
    job_.level = level_;
    if (planes_) {
      std::fill_n(buffers_.behind, rows * PassBuffers<T>::pitch_of(width), static_cast<T>(0));
    }
  }
  void begin_plane() {
    std::fill_n(buffers_.above, PassBuffers<T>::pitch_of(width_), static_cast<T>(0));
    if (feedback_) std::fill_n(buffers_.error, PassBuffers<T>::pitch_of(width_), static_cast<T>(0));
  }
  // One job is reused for all rows: setting it up anew costs as much as ten values.
  RowJob<T>& next_job(std::size_t z, std::size_t y, std::size_t row_in_pass) {
    job_.row.directions = 0;
    if (planes_) {
      job_.row.behind =
          buffers_.behind + PassBuffers<T>::kLead + row_in_pass * PassBuffers<T>::pitch_of(width_);
    }
    job_.z = z;
    job_.y = y;
    return job_;
  }

  // --- neighbours
  // ca a + cb b + cc c, as rows.
  static void combine(T* to, std::size_t count, T ca, const T* a, T cb, const T* b, T cc,
                      const T* c) {
    for (std::size_t i = 0; i < count; ++i) to[i] = (ca * a[i] + cb * b[i]) + cc * c[i];
  }
  // The neighbours of odd row 2 i + 1 among `evens` even ones; even(j) is row 2 j. Missing ones are
  // extrapolated into spare rows from `slot` on.
  template <class Even>
  void add_direction(RowJob<T>& job, std::size_t i, std::size_t evens, std::size_t width,
                     std::size_t slot, std::size_t stride, const Even& even) {
    auto& to = job.row.direction[job.row.directions++];
    to.stride = stride;
    to.left = even(i);
    if (i > 0) {
      to.far_left = even(i - 1);
    } else {
      T* made = buffers_.spare[slot];
      if (evens >= 3) {
        combine(made, width, 3, even(0), -3, even(1), 1, even(2));
      } else if (evens == 2) {
        combine(made, width, 2, even(0), -1, even(1), 0, even(0));
      } else {
        std::memcpy(made, even(0), width * sizeof(T));
      }
      to.far_left = made;
    }
    const std::size_t last = evens - 1;
    if (i + 1 < evens) {
      to.right = even(i + 1);
    } else {
      T* made = buffers_.spare[slot + 1];
      if (evens >= 2) {
        combine(made, width, 2, even(last), -1, even(last - 1), 0, even(last));
      } else {
        std::memcpy(made, even(0), width * sizeof(T));
      }
      to.right = made;
    }
    if (i + 2 < evens) {
      to.far_right = even(i + 2);
    } else {
      T* made = buffers_.spare[slot + 2];
      if (i + 1 >= evens) {
        if (evens >= 2) {
          combine(made, width, 3, even(last), -2, even(last - 1), 0, even(last));
        } else {
          std::memcpy(made, even(0), width * sizeof(T));
        }
      } else if (evens >= 3) {
        combine(made, width, 3, even(last), -3, even(last - 1), 1, even(last - 2));
      } else {
        combine(made, width, 2, even(last), -1, even(last - 1), 0, even(last));
      }
      to.far_right = made;
    }
  }

  // --- passes
  bool pass_z(std::size_t pass) {
    const std::size_t step_y = along_[1] ? 2 : 1;
    begin_pass(pass, m_[1], m_[2]);
    for (std::size_t z = 1; z < n_[0]; z += 2) {
      begin_plane();
      for (std::size_t y = 0, row = 0; y < n_[1]; y += step_y, ++row) {
        RowJob<T>& next = next_job(z, y, row);
        add_direction(next, z / 2, (n_[0] + 1) / 2, width_, 0, 1,
                      [&](std::size_t j) { return grid_row(2 * j, y); });
        if (!row_of_grid(next)) return false;
      }
    }
    return true;
  }

  bool pass_y(std::size_t pass) {
    begin_pass(pass, n_[1] / 2, m_[2]);
    const bool split = mode_.average && along_[0] && n_[0] > 1;
    for (std::size_t parity = 0; parity < (split ? 2u : 1u); ++parity) {
      for (std::size_t z = parity; z < n_[0]; z += split ? 2 : 1) {
        begin_plane();
        for (std::size_t y = 1; y < n_[1]; y += 2) {
          RowJob<T>& next = next_job(z, y, y / 2);
          add_direction(next, y / 2, (n_[1] + 1) / 2, width_, 0, 1,
                        [&](std::size_t j) { return grid_row(z, 2 * j); });
          if (parity == 1) {
            add_direction(next, z / 2, (n_[0] + 1) / 2, width_, 3, 1,
                          [&](std::size_t j) { return grid_row(2 * j, y); });
          }
          if (!row_of_grid(next)) return false;
        }
      }
    }
    return true;
  }

  bool row_of_grid(RowJob<T>& next) {
    next.output.store = kernels::RowStore::contiguous;
    next.output.values = grid_row(next.z, next.y);
    next.first_x = 0;
    next.step_x = along_[2] ? 2 : 1;
    return coder_.row(next);
  }

  bool pass_x(std::size_t pass) {
    const std::size_t between = n_[2] / 2;
    begin_pass(pass, n_[1], between);
    const bool split_z = mode_.average && along_[0] && n_[0] > 1;
    const bool split_y = mode_.average && along_[1] && n_[1] > 1;
    for (std::size_t odd_z = 0; odd_z < (split_z ? 2u : 1u); ++odd_z) {
      for (std::size_t odd_y = 0; odd_y < (split_y ? 2u : 1u); ++odd_y) {
        for (std::size_t z = odd_z; z < n_[0]; z += split_z ? 2 : 1) {
          begin_plane();
          for (std::size_t y = odd_y; y < n_[1]; y += split_y ? 2 : 1) {
            if (!row_of_fine(z, y, odd_z == 1, odd_y == 1)) return false;
          }
        }
      }
    }
    return true;
  }

  bool row_of_fine(std::size_t z, std::size_t y, bool odd_z, bool odd_y) {
    const std::size_t evens = m_[2];
    T* const even = grid_row(z, y);
    T* const to = fine_ == nullptr ? nullptr : fine_row(z, y);
    if (width_ > 0) {
      extrapolate_ends(even, evens);
      RowJob<T>& next = next_job(z, y, y);
      next.row.directions = 1;
      next.row.direction[0] = {even - 1, even, even + 1, even + 2, 1};
      if (odd_y) {
        add_direction(next, y / 2, (n_[1] + 1) / 2, n_[2] - 1, 0, 2,
                      [&](std::size_t j) { return readable(fine_row(z, 2 * j)); });
      }
      if (odd_z) {
        add_direction(next, z / 2, (n_[0] + 1) / 2, n_[2] - 1, 3, 2,
                      [&](std::size_t j) { return readable(fine_row(2 * j, y)); });
      }
      if (to != nullptr) next.output = {kernels::RowStore::interleaved, to, even};
      next.first_x = 1;
      next.step_x = 2;
      if (!coder_.row(next)) return false;
    }
    if (to != nullptr && evens > width_) to[n_[2] - 1] = even[evens - 1];
    return true;
  }

  // The odd elements of a row of the finer level; copied when a vector would read behind the end.
  const T* readable(const T* row) {
    const auto left = static_cast<std::size_t>(fine_end_ - row);
    if (left >= n_[2] + 2 * kernels::kRowSlack) return row + 1;
    T* const copy = buffers_.tail + (left / n_[2] - 1) * buffers_.tail_pitch;
    std::memcpy(copy, row + 1, (n_[2] - 1) * sizeof(T));
    return copy;
  }

  void extrapolate_ends(T* even, std::size_t evens) const {
    const T first = even[0], last = even[evens - 1];
    const T before = evens > 1 ? even[evens - 2] : last;
    if (evens >= 3) {
      even[-1] = (3 * first + -3 * even[1]) + even[2];
    } else {
      even[-1] = evens == 2 ? 2 * first + -1 * even[1] : first;
    }
    if (width_ == evens) {
      even[evens] = 2 * last + -1 * before;
      even[evens + 1] = 3 * last + -2 * before;
    } else {
      even[evens] =
          evens >= 3 ? (3 * last + -3 * before) + even[evens - 3] : 2 * last + -1 * before;
      even[evens + 1] = even[evens];
    }
  }

  Extents n_, m_;  // of the finer and the coarser level
  std::array<bool, 3> along_;
  int level_;
  const InterpolationMode& mode_;
  PassBuffers<T>& buffers_;
  T* fine_;
  const T* fine_end_;
  Coder& coder_;
  std::size_t pitch_;
  bool planes_;
  bool feedback_;
  RowJob<T> job_;
  std::size_t width_ = 0;
};

}  // namespace tensorpress::dense
