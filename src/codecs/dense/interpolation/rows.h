// What the encoder and the decoder do with each row of the passes, and with the coarsest level.
#pragma once

#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "codecs/dense/adaptive/quanta.h"
#include "codecs/dense/interpolation/passes.h"
#include "codecs/dense/interpolation/stencils/scales.h"
#include "codecs/dense/lattice/exact.h"
#include "codecs/dense/residuals/coding.h"
#include "kernels/rans/rans.h"

namespace tensorpress::dense {

/// The models of all levels and groups of a chunk.
template <class T>
class ModelSet {
 public:
  ModelSet(const InterpolationMode& mode, double bound, const Lattice& lattice) {
    const bool planes = lattice.extent[0][0] > 1;
    for (int level = 1; level <= lattice.levels + 1; ++level) {
      for (std::size_t group = 0; group < kRowGroups; ++group) {
        models_[level][group] = model_of<T>(mode, bound, level, group, planes);
      }
    }
  }
  const kernels::InterpolationModel<T>& of(int level, std::size_t group) const {
    return models_[level][group];
  }
  /// Of the coarsest level.
  T anchor_step(const Lattice& lattice) const { return models_[lattice.levels + 1][0].step; }
  T bound() const { return models_[1][0].bound; }

 private:
  std::array<std::array<kernels::InterpolationModel<T>, kRowGroups>, Lattice::kMaxLevels + 2>
      models_;
};

template <class T>
void predict_row(const RowJob<T>& job, const kernels::InterpolationKernels<T>& kernels,
                 const kernels::InterpolationModel<T>& model, T* predictions,
                 std::uint8_t* classes) {
  if (job.stencil != nullptr) {
    job.stencil_kernels->classify(*job.stencil, job.row, model, job.sums, job.bends, predictions,
                                  classes);
    if (job.stencil_at_end == nullptr) return;
    // As a row of its own.
    const std::size_t last = job.row.count - 1;
    kernels::StencilRow<T> stencil = *job.stencil_at_end;
    stencil.sizes += last;
    kernels::InterpolationRow<T> row = job.row;
    row.count = 1;
    row.above += last;
    if (row.behind != nullptr) row.behind += last;
    job.stencil_kernels->classify(stencil, row, model, job.sums + last, job.bends + last,
                                  predictions + last, classes + last);
  } else {
    kernels.predict(job.row, model, predictions, classes);
  }
}
/// Stencils look at residuals of other classes.
template <class T>
void keep_sizes(const RowJob<T>& job, const std::int32_t* residuals) {
  if (job.stencil == nullptr) return;
  job.stencil_kernels->keep_sizes(residuals, job.row.count, job.stencil->sizes);
}

/// Rows of the encoder: residuals and classes of the whole chunk, in the order of the passes.
template <class T>
class RowEncoder {
 public:
  using Span = RowSpan;
  struct Memory {
    std::span<T> predictions;           // a row
    std::span<T> originals_row;         // twice a row
    std::span<std::uint32_t> outliers;  // a row
    std::span<std::int32_t> residuals;  // Lattice::padded_values
    std::span<std::uint8_t> classes;    // as many
  };

  RowEncoder(const Lattice& lattice, const ModelSet<T>& models,
             const kernels::InterpolationKernels<T>& kernels, const Memory& memory,
             std::vector<Span>& spans, std::vector<Outlier<T>>& outliers, std::size_t most_outliers)
      : lattice_(lattice),
        models_(models),
        kernels_(kernels),
        memory_(memory),
        spans_(spans),
        outliers_(outliers),
        most_outliers_(most_outliers) {}

  /// The originals of a level; reads nothing at or behind `end`.
  void set_originals(const T* values, const T* end) {
    originals_ = values;
    originals_end_ = end;
  }

  /// Shows all rows, which must have stencils, to `fit`.
  void set_scale_fit(ScaleFit* fit) { scale_fit_ = fit; }

  bool row(const RowJob<T>& job) {
    const auto& model = models_.of(job.level, job.group);
    const std::size_t count = job.row.count, padded = padded_count(count);
    std::int32_t* const residuals = memory_.residuals.data() + used_;
    std::uint8_t* const classes = memory_.classes.data() + used_;
    predict_row(job, kernels_, model, memory_.predictions.data(), classes);
    if (scale_fit_ != nullptr) scale_fit_->see(job, model);
    const Extents& n = lattice_.extent[job.level - 1];
    const T* originals = originals_ + (job.z * n[1] + job.y) * n[2] + job.first_x;
    // The row after the next one: every second row of a field is not what hardware expects.
    if (job.stencil != nullptr &&
        originals_end_ - originals > static_cast<std::ptrdiff_t>(3 * n[2])) {
      constexpr std::size_t kLine = 64 / sizeof(T);
      const T* const soon = originals + 2 * n[2];
      for (std::size_t at = 0; at < n[2]; at += kLine) __builtin_prefetch(soon + at);
    }
    if (originals_end_ - originals < static_cast<std::ptrdiff_t>(n[2] + 2 * kernels::kRowSlack)) {
      std::memcpy(memory_.originals_row.data(), originals, (n[2] - job.first_x) * sizeof(T));
      originals = memory_.originals_row.data();
    }
    const std::size_t found =
        kernels_.quantize(originals, job.step_x, job.row, model, memory_.predictions.data(),
                          residuals, job.output, memory_.outliers.data());
    for (std::size_t i = 0; i < found; ++i) {
      const std::size_t at = memory_.outliers[i] * job.step_x;
      outliers_.push_back(
          {lattice_.position(job.level - 1, job.z, job.y, job.first_x + at), originals[at]});
    }
    keep_sizes(job, residuals);
    if (scale_fit_ != nullptr) scale_fit_->add(job.group, residuals, count);
    std::fill(residuals + count, residuals + padded, 0);
    spans_.push_back(
        {used_, static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(job.group)});
    used_ += padded;
    return outliers_.size() <= most_outliers_;
  }

  std::size_t used() const { return used_; }

 private:
  const Lattice& lattice_;
  const ModelSet<T>& models_;
  const kernels::InterpolationKernels<T>& kernels_;
  Memory memory_;
  std::vector<Span>& spans_;
  std::vector<Outlier<T>>& outliers_;
  std::size_t most_outliers_;
  const T* originals_ = nullptr;
  const T* originals_end_ = nullptr;
  ScaleFit* scale_fit_ = nullptr;
  std::size_t used_ = 0;
};

template <class T>
class RowDecoder {
 public:
  struct Memory {
    std::span<T> predictions;
    std::span<std::uint8_t> classes;
    std::span<std::int32_t> residuals;
  };

  RowDecoder(const ModelSet<T>& models, const kernels::InterpolationKernels<T>& kernels,
             const TableMap& map, kernels::RansDecoder& rans, kernels::RansKernels::Decode decode,
             const Memory& memory)
      : models_(models),
        kernels_(kernels),
        map_(map),
        tables_(residual_tables().rans()),
        rans_(rans),
        decode_(decode),
        memory_(memory) {}

  /// Residuals come from here instead of rANS.
  void set_adaptive(AdaptiveRows<BitDecoder>& rows, BitDecoder& coder) {
    adaptive_ = &rows;
    bits_ = &coder;
  }

  bool row(const RowJob<T>& job) {
    const auto& model = models_.of(job.level, job.group);
    const std::size_t count = job.row.count, padded = padded_count(count);
    predict_row(job, kernels_, model, memory_.predictions.data(), memory_.classes.data());
    if (!residuals(job.group, count, padded)) return false;
    kernels_.reconstruct(memory_.residuals.data(), job.row, model, memory_.predictions.data(),
                         job.output);
    keep_sizes(job, memory_.residuals.data());
    return true;
  }

 private:
  bool residuals(std::size_t group, std::size_t count, std::size_t padded) {
    std::uint8_t* const classes = memory_.classes.data();
    std::int32_t* const values = memory_.residuals.data();
    if (adaptive_ != nullptr) {
      adaptive_->row(*bits_, group, {classes, count}, values);
      std::fill(values + count, values + padded, 0);
      return !bits_->ran_out();
    }
    kernels_.translate(map_.ids[group].data(), classes, padded);
    std::fill(classes + count, classes + padded, std::uint8_t{0});
    return decode_(rans_, tables_, classes, padded / kernels::kRansGroup, values);
  }

  const ModelSet<T>& models_;
  const kernels::InterpolationKernels<T>& kernels_;
  const TableMap& map_;
  const kernels::RansTables& tables_;
  kernels::RansDecoder& rans_;
  kernels::RansKernels::Decode decode_;
  Memory memory_;
  AdaptiveRows<BitDecoder>* adaptive_ = nullptr;
  BitDecoder* bits_ = nullptr;
};

}  // namespace tensorpress::dense
