#include "files/hdf5/dataset.h"

#include <algorithm>
#include <bit>

namespace tensorpress::files {

Hdf5Space space_of(const Hdf5Functions& hdf5, const Hdf5Id& dataset) {
  const Hdf5Id space(hdf5.H5Dget_space(dataset.get()), hdf5.H5Sclose);
  const int rank = std::max(hdf5.H5Sget_simple_extent_ndims(space.get()), 0);
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank)), limits(extents.size());
  hdf5.H5Sget_simple_extent_dims(space.get(), extents.data(), limits.data());
  return {.extents = {extents.begin(), extents.end()},
          .limits = {limits.begin(), limits.end()},
          .empty = hdf5.H5Sget_simple_extent_npoints(space.get()) <= 0};
}

std::vector<std::uint64_t> chunk_of(const Hdf5Functions& hdf5, const Hdf5Id& dataset) {
  const Hdf5Id creation(hdf5.H5Dget_create_plist(dataset.get()), hdf5.H5Pclose);
  const std::size_t rank = space_of(hdf5, dataset).extents.size();
  if (rank == 0 || hdf5.H5Pget_layout(creation.get()) != H5D_CHUNKED) return {};
  std::vector<hsize_t> chunk(rank);
  hdf5.H5Pget_chunk(creation.get(), static_cast<int>(rank), chunk.data());
  return {chunk.begin(), chunk.end()};
}

std::vector<StoredFilter> filters_of(const Hdf5Functions& hdf5, const Hdf5Id& dataset) {
  constexpr std::size_t kMostValues = 64;
  const Hdf5Id creation(hdf5.H5Dget_create_plist(dataset.get()), hdf5.H5Pclose);
  std::vector<StoredFilter> filters;
  const int count = hdf5.H5Pget_nfilters(creation.get());
  for (int i = 0; i < count; ++i) {
    StoredFilter filter;
    filter.values.resize(kMostValues);
    unsigned flags = 0;
    std::size_t used = filter.values.size();
    const H5Z_filter_t id = hdf5.H5Pget_filter2(creation.get(), static_cast<unsigned>(i), &flags,
                                                &used, filter.values.data(), 0, nullptr, nullptr);
    if (id < 0) continue;
    filter.id = static_cast<std::uint32_t>(id);
    filter.values.resize(std::min(used, filter.values.size()));
    filters.push_back(std::move(filter));
  }
  return filters;
}

bool is_unwritten(const Hdf5Functions& hdf5, const Hdf5Id& dataset) {
  const Hdf5Id creation(hdf5.H5Dget_create_plist(dataset.get()), hdf5.H5Pclose);
  return hdf5.H5Pget_layout(creation.get()) != H5D_VIRTUAL &&
         hdf5.H5Dget_storage_size(dataset.get()) == 0;
}

std::optional<Hdf5Floats> floats_of(const Hdf5Functions& hdf5, const Hdf5Id& type) {
  if (hdf5.H5Tget_class(type.get()) != H5T_FLOAT) return std::nullopt;
  constexpr bool kBig = std::endian::native == std::endian::big;
  constexpr std::size_t kBiasOfBf16 = 127;
  const bool swapped = (hdf5.H5Tget_order(type.get()) == H5T_ORDER_BE) != kBig;
  switch (hdf5.H5Tget_size(type.get())) {
    case 2:
      return Hdf5Floats{hdf5.H5Tget_ebias(type.get()) == kBiasOfBf16 ? DType::bf16 : DType::f16,
                        swapped};
    case 4:
      return Hdf5Floats{DType::f32, swapped};
    case 8:
      return Hdf5Floats{DType::f64, swapped};
    default:
      return std::nullopt;
  }
}

}  // namespace tensorpress::files
