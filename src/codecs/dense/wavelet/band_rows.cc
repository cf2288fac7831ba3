#include "codecs/dense/wavelet/band_rows.h"

#include <algorithm>

namespace tensorpress::dense {

ContextMemory::ContextMemory(AlignedBuffer& buffer, const Pyramid& pyramid) {
  const int levels = pyramid.levels();
  const Extents chunk = pyramid.level(0).size;
  const std::size_t row =
      MagnitudeGrid::pitch_of(std::max(pyramid.level(0).padded[2], pyramid.level(levels).size[2])) +
      64;
  const Extents planes = {3, chunk[1], chunk[2]};
  // First count, then hand out.
  std::uint16_t* memory = nullptr;
  std::size_t used = 0;
  const auto take = [&](std::size_t count) {
    std::uint16_t* const piece = memory == nullptr ? nullptr : memory + used;
    used += count;
    return piece;
  };
  for (int round = 0; round < 2; ++round) {
    used = 0;
    zeros_ = take(row);
    parent_row_ = take(row);
    class_row_ = reinterpret_cast<std::uint8_t*>(take(row));
    const auto grid = [&](const Extents& size) {
      return MagnitudeGrid(take(MagnitudeGrid::elements_for(size)), zeros_, size);
    };
    corrections_ = grid(planes);
    bands_[static_cast<std::size_t>(levels)][0] = grid(pyramid.level(levels).size);
    for (int level = 0; level < levels; ++level) {
      siblings_[static_cast<std::size_t>(level)] = grid(pyramid.level(level).low);
      if (level == 0) {
        current_memory_ = take(MagnitudeGrid::elements_for(pyramid.level(0).low));
        continue;
      }
      for (const unsigned which : Pyramid::kOrder) {
        WaveletBand band;
        if (pyramid.band(level, which, band)) {
          bands_[static_cast<std::size_t>(level)][which] = grid(band.size);
        }
      }
    }
    if (round == 0) memory = buffer.reserve_as<std::uint16_t>(used).data();
  }
  std::fill_n(zeros_, row, std::uint16_t{0});
  std::fill_n(parent_row_, row, std::uint16_t{0});
}

void ContextMemory::finish(const WaveletBand& band) {
  MagnitudeGrid& from = this->band(band.level, band.which);
  MagnitudeGrid& to = siblings(band.level);
  for (std::size_t z = 0; z < band.size[0]; ++z) {
    for (std::size_t y = 0; y < band.size[1]; ++y) {
      if (!from.is_kept(z, y)) continue;
      const std::uint16_t* const add = from.row(z, y);
      std::uint16_t* const sum = to.row(z, y);
      const std::size_t width = to.size()[2];
      if (!to.is_kept(z, y)) {
        std::copy_n(add, band.size[2], sum);
        std::fill(sum + band.size[2], sum + width, std::uint16_t{0});
        to.keep(z, y, width);
        continue;
      }
      for (std::size_t x = 0; x < band.size[2]; ++x) {
        const auto both = static_cast<std::int16_t>(sum[x] + add[x]);
        sum[x] = static_cast<std::uint16_t>(
            std::min<std::int16_t>(both, std::int16_t{kernels::kMostMagnitude}));
      }
    }
  }
}

void BandRows::begin(const WaveletBand& band) {
  if (band.level == 0 && band.which != 0) {
    memory_.current_ = MagnitudeGrid(memory_.current_memory_, memory_.zeros_, band.size);
  }
  memory_.band(band.level, band.which).clear();
  WaveletBand parent;
  const int above = band.level + 1;
  const bool has_parent =
      band.which != 0 && above < pyramid_.levels() && pyramid_.band(above, band.which, parent);
  set_parents(has_parent ? &memory_.band(above, band.which) : nullptr);
}

// Pointers are set one by one and not moved on: to load two of them at once so soon after they were
// stored would stall.
const BandRow& BandRows::row_of(const WaveletBand& band, std::size_t z, std::size_t y) {
  MagnitudeGrid& own = memory_.band(band.level, band.which);
  row_.group = group_of(band);
  row_.z = z;
  row_.y = y;
  row_.count = band.size[2];
  row_.classes = memory_.class_row();
  row_.magnitudes = own.row(z, y);
  const std::uint16_t* const zeros = memory_.zeros();
  bool any = false;
  const auto take = [&](const MagnitudeGrid& grid, std::size_t at_z, std::size_t at_y) {
    const std::uint16_t* const found = grid.row_or_zeros(at_z, at_y);
    any = any || found != zeros;
    return found;
  };
  // Before the first row or plane the number wraps around to one that no grid has.
  kernels::ContextRows& rows = row_.rows;
  rows.above = take(own, z, y - 1);
  rows.above2 = take(own, z, y - 2);
  rows.behind = take(own, z - 1, y);
  rows.behind_up = take(own, z - 1, y - 1);
  rows.behind_down = take(own, z - 1, y + 1);
  rows.behind2 = take(own, z - 2, y);
  if (band.which == 0) {
    rows.sibling = rows.sibling_up = rows.sibling_down = rows.sibling_front = rows.sibling_back =
        zeros;
  } else {
    const MagnitudeGrid& siblings = memory_.siblings(band.level);
    rows.sibling = take(siblings, z, y);
    rows.sibling_up = take(siblings, z, y - 1);
    rows.sibling_down = take(siblings, z, y + 1);
    rows.sibling_front = take(siblings, z - 1, y);
    rows.sibling_back = take(siblings, z + 1, y);
  }
  const int above = band.level + 1;
  if (parents_ != nullptr) find_parents(*parents_, pyramid_.level(above).split);
  return classify(any);
}

const BandRow& BandRows::correction_row(std::size_t z, std::size_t y) {
  MagnitudeGrid& own = memory_.corrections();
  const WaveletLevel& finest = pyramid_.level(0);
  row_.group = kCorrections;
  row_.z = z;
  row_.y = y;
  row_.count = finest.size[2];
  row_.classes = memory_.class_row();
  row_.magnitudes = own.row(z % 3, y);
  const std::uint16_t* const zeros = memory_.zeros();
  bool any = false;
  const auto plane = [&](std::size_t back, std::size_t row) {
    const std::uint16_t* const found = z >= back ? own.row_or_zeros((z - back) % 3, row) : zeros;
    any = any || found != zeros;
    return found;
  };
  kernels::ContextRows& rows = row_.rows;
  rows.above = plane(0, y - 1);
  rows.above2 = plane(0, y - 2);
  rows.behind = plane(1, y);
  rows.behind_up = plane(1, y - 1);
  rows.behind_down = plane(1, y + 1);
  rows.behind2 = plane(2, y);
  rows.sibling = rows.sibling_up = rows.sibling_down = rows.sibling_front = rows.sibling_back =
      zeros;
  if (parents_ != nullptr) find_parents(*parents_, finest.split);
  return classify(any);
}

void BandRows::find_parents(const MagnitudeGrid& parent, const std::array<bool, 3>& split) {
  const std::size_t z = split[0] ? row_.z / 2 : row_.z, y = split[1] ? row_.y / 2 : row_.y;
  if (has_parent_row_ && z == parent_z_ && y == parent_y_) return;
  parent_z_ = z;
  parent_y_ = y;
  has_parent_row_ = true;
  const std::uint16_t* const zeros = memory_.zeros();
  bool any = false;
  const auto take = [&](std::size_t at_z, std::size_t at_y) {
    const std::uint16_t* const found = parent.row_or_zeros(at_z, at_y);
    any = any || found != zeros;
    return found;
  };
  kernels::ParentRows& rows = row_.parents;
  rows.middle = take(z, y);
  rows.up = take(z, y - 1);
  rows.down = take(z, y + 1);
  rows.front = take(z - 1, y);
  rows.back = take(z + 1, y);
  row_.parents_doubled = split[2];
  any_parents_ = any;
  row_.rows.parent = zeros;
  if (!any || weights_ == nullptr) return;
  kernels_.weigh_parent(rows, (*weights_)[row_.group], row_.count, split[2], memory_.parent_row());
  row_.rows.parent = memory_.parent_row();
}

const BandRow& BandRows::classify(bool any) {
  row_.is_quiet = !any && !any_parents_;
  if (weights_ == nullptr) return row_;
  const kernels::ContextWeights& weights = (*weights_)[row_.group];
  row_.only_class = kernels::context_class_of(weights.floor);
  if (!row_.is_quiet) kernels_.classify(row_.rows, weights, row_.count, row_.classes);
  return row_;
}

void BandRows::set_parents(const MagnitudeGrid* parents) {
  const std::uint16_t* const zeros = memory_.zeros();
  parents_ = parents;
  has_parent_row_ = any_parents_ = false;
  row_.rows.parent = zeros;
  row_.parents = {zeros, zeros, zeros, zeros, zeros};
  row_.parents_doubled = false;
}

void BandRows::begin_corrections() {
  memory_.corrections().clear();
  set_parents(pyramid_.levels() > 0 ? &memory_.siblings(0) : nullptr);
}

WeightFit::Features features_of(const BandRow& row, std::size_t at) {
  const auto beside = [at](const std::uint16_t* from, std::ptrdiff_t distance) {
    const auto i = static_cast<std::ptrdiff_t>(at);
    return from[i - distance] + from[i + distance];
  };
  const kernels::ContextRows& r = row.rows;
  const kernels::ParentRows& p = row.parents;
  const auto parent_at = static_cast<std::ptrdiff_t>(row.parents_doubled ? at / 2 : at);
  const int wide = r.above2[at] + r.behind2[at] + beside(r.above, 2) + beside(r.behind, 2) +
                   beside(r.behind_up, 1) + beside(r.behind_down, 1);
  const int parents = p.middle[parent_at - 1] + p.middle[parent_at + 1] + p.up[parent_at] +
                      p.down[parent_at] + p.front[parent_at] + p.back[parent_at];
  const int siblings = beside(r.sibling, 1) + r.sibling_up[at] + r.sibling_down[at] +
                       r.sibling_front[at] + r.sibling_back[at];
  const auto narrow = [](int value) { return static_cast<std::uint16_t>(value); };
  return {1,
          r.above[at],
          narrow(beside(r.above, 1)),
          r.behind[at],
          narrow(beside(r.behind, 1) + r.behind_up[at] + r.behind_down[at]),
          narrow(wide),
          p.middle[parent_at],
          narrow(parents),
          r.sibling[at],
          narrow(siblings)};
}

}  // namespace tensorpress::dense
