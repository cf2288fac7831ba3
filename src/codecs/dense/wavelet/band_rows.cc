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
      const std::uint16_t* const add = from.row(z, y);
      std::uint16_t* const sum = to.row(z, y);
      for (std::size_t x = 0; x < band.size[2]; ++x) {
        const auto both = static_cast<std::int16_t>(sum[x] + add[x]);
        sum[x] = static_cast<std::uint16_t>(
            std::min<std::int16_t>(both, std::int16_t{kernels::kMostMagnitude}));
      }
    }
  }
}

void BandRows::begin(const WaveletBand& band) {
  if (band.level == 0) {
    memory_.current_ = MagnitudeGrid(memory_.current_memory_, memory_.zeros_, band.size);
  }
  memory_.band(band.level, band.which).clear();
}

BandRow BandRows::row_of(const WaveletBand& band, std::size_t z, std::size_t y) {
  MagnitudeGrid& own = memory_.band(band.level, band.which);
  // Before the first row or plane the number wraps around to one that no grid has.
  BandRow row{group_of(band), z,  y,  band.size[2], memory_.class_row(),
              own.row(z, y),  {}, {}, false};
  const std::uint16_t* const zeros = memory_.zeros();
  row.rows = {own.row_or_zeros(z, y - 1),
              own.row_or_zeros(z, y - 2),
              own.row_or_zeros(z - 1, y),
              own.row_or_zeros(z - 1, y - 1),
              own.row_or_zeros(z - 1, y + 1),
              own.row_or_zeros(z - 2, y),
              zeros,
              zeros,
              zeros,
              zeros,
              zeros,
              zeros};
  row.parents = {zeros, zeros, zeros, zeros, zeros};
  if (band.which != 0) {
    const MagnitudeGrid& siblings = memory_.siblings(band.level);
    row.rows.sibling = siblings.row_or_zeros(z, y);
    row.rows.sibling_up = siblings.row_or_zeros(z, y - 1);
    row.rows.sibling_down = siblings.row_or_zeros(z, y + 1);
    row.rows.sibling_front = siblings.row_or_zeros(z - 1, y);
    row.rows.sibling_back = siblings.row_or_zeros(z + 1, y);
    WaveletBand parent_band;
    const int above = band.level + 1;
    if (above < pyramid_.levels() && pyramid_.band(above, band.which, parent_band)) {
      const auto& split = pyramid_.level(above).split;
      const MagnitudeGrid& parent = memory_.band(above, band.which);
      const std::size_t pz = split[0] ? z / 2 : z, py = split[1] ? y / 2 : y;
      row.parents = {parent.row_or_zeros(pz, py), parent.row_or_zeros(pz, py - 1),
                     parent.row_or_zeros(pz, py + 1), parent.row_or_zeros(pz - 1, py),
                     parent.row_or_zeros(pz + 1, py)};
      row.parents_doubled = split[2];
      row.has_parents = true;
    }
  }
  classify(row);
  return row;
}

BandRow BandRows::correction_row(std::size_t z, std::size_t y) {
  MagnitudeGrid& own = memory_.corrections();
  const WaveletLevel& finest = pyramid_.level(0);
  const std::uint16_t* const zeros = memory_.zeros();
  const auto plane = [&](std::size_t back, std::size_t row) {
    return z >= back ? own.row_or_zeros((z - back) % 3, row) : zeros;
  };
  BandRow row{kCorrections,      z,  y,  finest.size[2], memory_.class_row(),
              own.row(z % 3, y), {}, {}, false};
  row.rows = {plane(0, y - 1), plane(0, y - 2), plane(1, y), plane(1, y - 1),
              plane(1, y + 1), plane(2, y),     zeros,       zeros,
              zeros,           zeros,           zeros,       zeros};
  row.parents = {zeros, zeros, zeros, zeros, zeros};
  if (pyramid_.levels() > 0) {
    const MagnitudeGrid& parent = memory_.siblings(0);
    const std::size_t pz = finest.split[0] ? z / 2 : z, py = finest.split[1] ? y / 2 : y;
    row.parents = {parent.row_or_zeros(pz, py), parent.row_or_zeros(pz, py - 1),
                   parent.row_or_zeros(pz, py + 1), parent.row_or_zeros(pz - 1, py),
                   parent.row_or_zeros(pz + 1, py)};
    row.parents_doubled = finest.split[2];
    row.has_parents = true;
  }
  classify(row);
  return row;
}

void BandRows::classify(BandRow& row) {
  if (weights_ == nullptr) return;
  const kernels::ContextWeights& weights = (*weights_)[row.group];
  if (row.has_parents) {
    kernels_.weigh_parent(row.parents, weights, row.count, row.parents_doubled,
                          memory_.parent_row());
    row.rows.parent = memory_.parent_row();
  }
  kernels_.classify(row.rows, weights, row.count, memory_.class_row());
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
