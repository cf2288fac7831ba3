// Filters of other compressors, run by HDF5 itself on a dataset that is one chunk of a file in
// memory. Timed are H5Dcreate, H5Dwrite and H5Dclose, and H5Dopen, H5Dread and H5Dclose; the empty
// file is made beforehand.
#include <algorithm>
#include <array>
#include <optional>

#include "base/errors.h"
#include "benchmark/peers/filter_options.h"
#include "benchmark/peers/peers.h"
#include "benchmark/stopwatch.h"
#include "files/hdf5/library.h"

namespace tensorpress::benchmark {
namespace {

using files::Hdf5Functions;
using files::Hdf5Id;

constexpr const char* kDataset = "field";
constexpr unsigned kTruncate = 2;  // H5F_ACC_TRUNC, whose macro calls into a linked library

class Hdf5Contender : public Contender {
 public:
  /// Without a filter: HDF5's own time.
  Hdf5Contender(const Hdf5Functions& library, std::optional<FilterPeer> filter)
      : library_(library), filter_(filter) {}

  std::string name() const override {
    return filter_ ? std::string(filter_->name) : "hdf5-uncompressed";
  }
  bool lossless() const override { return !filter_ || filter_->lossless; }

  Result<void> prepare(const Field& field, const FieldBound& bound) override {
    RETURN_IF_ERROR(check(field));
    input_ = field.view.data;
    type_ = field.view.dtype == DType::f32 ? library_.native_float : library_.native_double;
    std::array<hsize_t, kMaxRank> extents{};
    std::ranges::copy(field.view.shape.extents(), extents.begin());
    auto rank = static_cast<int>(field.view.shape.rank());
    if (rank == 0) extents[static_cast<std::size_t>(rank++)] = 1;
    space_ = {library_.H5Screate_simple(rank, extents.data(), nullptr), library_.H5Sclose};
    file_access_ = {library_.H5Pcreate(library_.file_access), library_.H5Pclose};
    creation_ = {library_.H5Pcreate(library_.dataset_creation), library_.H5Pclose};
    // The memory of the file grows once.
    constexpr bool kOnDisk = false;
    const auto room = static_cast<std::size_t>(field.view.byte_count() + (std::uint64_t{1} << 20));
    if (!space_.valid() || library_.H5Pset_fapl_core(file_access_.get(), room, kOnDisk) < 0 ||
        library_.H5Pset_chunk(creation_.get(), rank, extents.data()) < 0) {
      return failure();
    }
    if (!filter_) return {};
    TRY(const FilterOptions options, filter_->options(bound.absolute));
    if (library_.H5Pset_filter(creation_.get(), static_cast<H5Z_filter_t>(filter_->id),
                               H5Z_FLAG_MANDATORY, options.size(), options.data()) < 0) {
      return failure();
    }
    return {};
  }

  Result<double> compress() override {
    RETURN_IF_ERROR(new_file());
    bool fine = true;
    const double seconds = seconds_of([&] {
      Hdf5Id dataset = {library_.H5Dcreate2(file_.get(), kDataset, type_, space_.get(), H5P_DEFAULT,
                                            creation_.get(), H5P_DEFAULT),
                        library_.H5Dclose};
      fine = dataset.valid() &&
             library_.H5Dwrite(dataset.get(), type_, H5S_ALL, H5S_ALL, H5P_DEFAULT, input_) >= 0;
      // Small chunks wait in HDF5's cache until here.
      fine = fine && dataset.close();
    });
    if (!fine) return failure();
    return seconds;
  }

  Result<double> decompress(std::span<std::byte> output) override {
    bool fine = true;
    const double seconds = seconds_of([&] {
      const Hdf5Id dataset = open_dataset();
      fine = dataset.valid() && library_.H5Dread(dataset.get(), type_, H5S_ALL, H5S_ALL,
                                                 H5P_DEFAULT, output.data()) >= 0;
    });
    if (!fine) return failure();
    return seconds;
  }

  /// Of the chunk, without the file around it.
  Result<std::uint64_t> compressed_bytes() const override {
    const Hdf5Id dataset = open_dataset();
    if (!dataset.valid()) return failure();
    return std::uint64_t{library_.H5Dget_storage_size(dataset.get())};
  }

 private:
  Result<void> check(const Field& field) const {
    if (field.view.dtype != DType::f32 && field.view.dtype != DType::f64) {
      return unsupported("takes f32 and f64 only");
    }
    if (field.view.element_count() == 0) return unsupported("HDF5 has no empty chunks");
    if (!lossless() && field.has_nonfinite) return unsupported("NaN or infinity in the field");
    return {};
  }

  /// An empty file in memory instead of the one before.
  Result<void> new_file() {
    file_.close();
    file_ = {library_.H5Fcreate(name().c_str(), kTruncate, H5P_DEFAULT, file_access_.get()),
             library_.H5Fclose};
    if (!file_.valid()) return failure();
    return {};
  }

  Hdf5Id open_dataset() const {
    return {library_.H5Dopen2(file_.get(), kDataset, H5P_DEFAULT), library_.H5Dclose};
  }

  Error failure() const { return unsupported(library_.last_error()); }

  Hdf5Functions library_;
  std::optional<FilterPeer> filter_;
  const std::byte* input_ = nullptr;
  hid_t type_ = -1;
  Hdf5Id space_, file_access_, creation_, file_;
};

}  // namespace

Peers find_hdf5_peers(const std::vector<std::string>& names, const std::string& plugin_path) {
  Peers peers;
  const auto library = Hdf5Functions::load(SharedLibrary::Symbols::shared_with_plugins);
  if (!library.ok()) {
    peers.missing.push_back(library.error().message);
    return peers;
  }
  if (!plugin_path.empty()) library->H5PLprepend(plugin_path.c_str());
  const auto wanted = [&](std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  std::string absent;
  for (const FilterPeer& filter : filter_peers()) {
    if (!wanted(filter.name)) continue;
    if (library->H5Zfilter_avail(static_cast<H5Z_filter_t>(filter.id)) > 0) {
      peers.contenders.push_back(std::make_unique<Hdf5Contender>(*library, filter));
    } else {
      absent += text(absent.empty() ? "" : ", ", filter.name);
    }
  }
  if (!absent.empty()) {
    peers.missing.push_back(text(
        "HDF5 finds no filter for ", absent, " in ",
        plugin_path.empty() ? "its plugin path" : plugin_path,
        ": pip install hdf5plugin, and name its folder with `plugin_path` or HDF5_PLUGIN_PATH"));
  }
  if (wanted("hdf5-uncompressed")) {
    peers.contenders.push_back(std::make_unique<Hdf5Contender>(*library, std::nullopt));
  }
  return peers;
}

}  // namespace tensorpress::benchmark
