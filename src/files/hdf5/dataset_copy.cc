#include "files/hdf5/dataset_copy.h"

#include <algorithm>

#include "base/errors.h"
#include "files/conventions/hdf5_filter_settings.h"
#include "files/hdf5/dataset.h"

namespace tensorpress::files {
namespace {

/// A file may declare more than can ever be read, and store nothing.
Result<void> check_count(const std::vector<std::uint64_t>& extents, const std::string& path) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  std::uint64_t elements = 1;
  for (const std::uint64_t extent : extents) {
    if (extent > kMost / elements) {
      return too_large("dataset '", path,
                       "' has more than 2^40 elements of any length, which are copied one by "
                       "one; use h5repack with the line of `tensorpress hdf5 args`");
    }
    elements *= extent;
  }
  return {};
}

}  // namespace

Result<void> check_copyable(const Hdf5Functions& hdf5, const Hdf5Id& dataset,
                            const std::string& path) {
  const Hdf5Id type(hdf5.H5Dget_type(dataset.get()), hdf5.H5Tclose);
  if (hdf5.H5Tdetect_class(type.get(), H5T_REFERENCE) <= 0) return {};
  return unsupported("dataset '", path,
                     "' holds references, which a copy would break; use h5repack with the line of "
                     "`tensorpress hdf5 args`");
}

Result<bool> has_fill_of_any_length(const Hdf5Functions& hdf5, const Hdf5Id& dataset,
                                    const std::string& path) {
  const Hdf5Id type(hdf5.H5Dget_type(dataset.get()), hdf5.H5Tclose);
  const bool any_length = hdf5.H5Tdetect_class(type.get(), H5T_VLEN) > 0 ||
                          (hdf5.H5Tget_class(type.get()) == H5T_STRING
                               ? hdf5.H5Tis_variable_str(type.get()) > 0
                               : hdf5.H5Tdetect_class(type.get(), H5T_STRING) > 0);
  if (!any_length) return false;
  const Hdf5Id creation(hdf5.H5Dget_create_plist(dataset.get()), hdf5.H5Pclose);
  H5D_fill_value_t filled = H5D_FILL_VALUE_UNDEFINED;
  if (!creation.valid() || hdf5.H5Pfill_value_defined(creation.get(), &filled) < 0) {
    return hdf5.failure(text("the fill value of dataset '", path, "' cannot be read"));
  }
  return filled == H5D_FILL_VALUE_USER_DEFINED;
}

// What grows has chunks.
bool Hdf5DatasetCopy::can_be_contiguous(const Hdf5Id& dataset) const {
  const Hdf5Space space = space_of(hdf5_, dataset);
  return space.extents == space.limits;
}

// Filters of plugins that are not here cannot be used, and those of HDF5 that we do not name may
// lose something.
bool Hdf5DatasetCopy::can_filter(const Storage& storage) const {
  return std::ranges::all_of(storage.filters, [&](const StoredFilter& filter) {
    constexpr std::uint32_t kFirstPlugin = 256;
    const bool known = filter.id <= kFletcherFilter || filter.id >= kFirstPlugin;
    return known && hdf5_.H5Zfilter_avail(static_cast<H5Z_filter_t>(filter.id)) > 0;
  });
}

Result<void> Hdf5DatasetCopy::set_storage(const Hdf5Id& creation, const Hdf5Id& from,
                                          const std::string& path, PlannedVariable& planned) const {
  // Other filters would find nothing left to do.
  constexpr H5Z_filter_t kAllFilters = 0;
  bool set = hdf5_.H5Premove_filter(creation.get(), kAllFilters) >= 0;
  Storage& storage = planned.storage;
  if (storage.contiguous && !can_be_contiguous(from)) storage.contiguous = false;
  if (!can_filter(storage)) storage = shuffled_and_deflated();
  if (storage.contiguous) {
    set = set && hdf5_.H5Pset_layout(creation.get(), H5D_CONTIGUOUS) >= 0;
  } else {
    const std::vector<hsize_t> chunk(planned.chunk_extents.begin(), planned.chunk_extents.end());
    set = set &&
          hdf5_.H5Pset_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data()) >= 0;
    for (const StoredFilter& filter : storage.filters) {
      set = set && hdf5_.H5Pset_filter(creation.get(), static_cast<H5Z_filter_t>(filter.id),
                                       H5Z_FLAG_MANDATORY, filter.values.size(),
                                       filter.values.data()) >= 0;
    }
  }
  if (!set) return hdf5_.failure(text("the filters of '", path, "' cannot be set"));
  return {};
}

Result<std::uint64_t> Hdf5DatasetCopy::make(const Hdf5Id& from, const Hdf5Id& group,
                                            const std::string& name, const std::string& path,
                                            PlannedVariable* planned) {
  const Hdf5Id type(hdf5_.H5Dget_type(from.get()), hdf5_.H5Tclose);
  const Hdf5Id own(hdf5_.H5Tcopy(type.get()), hdf5_.H5Tclose);
  const Hdf5Id space(hdf5_.H5Dget_space(from.get()), hdf5_.H5Sclose);
  const Hdf5Id creation(hdf5_.H5Dget_create_plist(from.get()), hdf5_.H5Pclose);
  // The same call makes the same file.
  hdf5_.H5Pset_obj_track_times(creation.get(), false);
  if (planned != nullptr) RETURN_IF_ERROR(set_storage(creation, from, path, *planned));
  Hdf5Id made(hdf5_.H5Dcreate2(group.get(), name.c_str(), own.get(), space.get(), H5P_DEFAULT,
                               creation.get(), H5P_DEFAULT),
              hdf5_.H5Dclose);
  if (!made.valid()) return hdf5_.failure(text("dataset '", path, "' cannot be made"));
  RETURN_IF_ERROR(planned != nullptr
                      ? attributes_.copy_plain(from.get(), made.get(), planned->attributes)
                      : attributes_.copy_plain(from.get(), made.get()));
  RETURN_IF_ERROR(copy_values(from, made, own, path, planned));
  // Chunks are compressed when they leave the cache.
  if (hdf5_.H5Dflush(made.get()) < 0) {
    return hdf5_.failure(text("dataset '", path, "' cannot be written"));
  }
  const std::uint64_t bytes = hdf5_.H5Dget_storage_size(made.get());
  if (!made.close()) return hdf5_.failure(text("dataset '", path, "' cannot be completed"));
  return bytes;
}

// Chunk by chunk where it has some, in the byte order of the file.
Result<void> Hdf5DatasetCopy::copy_values(const Hdf5Id& from, const Hdf5Id& to, const Hdf5Id& type,
                                          const std::string& path, const PlannedVariable* planned) {
  const Hdf5Id space(hdf5_.H5Dget_space(from.get()), hdf5_.H5Sclose);
  if (hdf5_.H5Sget_simple_extent_npoints(space.get()) == 0) return {};
  const std::vector<std::uint64_t> extents = space_of(hdf5_, from).extents;
  const auto rank = static_cast<int>(extents.size());
  if (planned == nullptr) RETURN_IF_ERROR(check_count(extents, path));
  const std::size_t element_bytes = hdf5_.H5Tget_size(type.get());
  const auto box = planned != nullptr ? planned->chunk_extents : boxes_for(extents, element_bytes);
  if (extents.size() != box.size()) return internal_error("'", path, "' changed its rank");
  return for_each_box(extents, box, [&](const auto& origin, const auto& extent) -> Result<void> {
    const std::vector<hsize_t> start(origin.begin(), origin.end());
    const std::vector<hsize_t> count(extent.begin(), extent.end());
    const Hdf5Id memory(hdf5_.H5Screate_simple(rank, count.data(), nullptr), hdf5_.H5Sclose);
    // A single value has no axes to choose from.
    if (rank > 0 && hdf5_.H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr,
                                              count.data(), nullptr) < 0) {
      return hdf5_.failure(text("dataset '", path, "' cannot be read"));
    }
    std::uint64_t bytes = element_bytes;
    for (const auto each : extent) bytes *= each;
    RETURN_IF_ERROR(copy_box(from, to, type, path, memory, space, bytes));
    return progress_.add(bytes);
  });
}

Result<void> Hdf5DatasetCopy::copy_box(const Hdf5Id& from, const Hdf5Id& to, const Hdf5Id& type,
                                       const std::string& path, const Hdf5Id& memory,
                                       const Hdf5Id& space, std::uint64_t bytes) {
  const auto room = buffer_.reserve(static_cast<std::size_t>(bytes));
  if (hdf5_.H5Dread(from.get(), type.get(), memory.get(), space.get(), H5P_DEFAULT, room.data()) <
      0) {
    return hdf5_.failure(text("dataset '", path, "' cannot be read"));
  }
  const bool written = hdf5_.H5Dwrite(to.get(), type.get(), memory.get(), space.get(), H5P_DEFAULT,
                                      room.data()) >= 0;
  // Does nothing where no element has a length of its own.
  hdf5_.H5Dvlen_reclaim(type.get(), memory.get(), H5P_DEFAULT, room.data());
  RETURN_IF_ERROR(output_.check());
  if (!written) return hdf5_.failure(text("dataset '", path, "' cannot be written"));
  return {};
}

}  // namespace tensorpress::files
