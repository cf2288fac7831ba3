// NetCDF files (classic, 64-bit and netCDF-4) and HDF5 files: what variables there are, and each of
// them as a tensor that is read region by region. NetCDF's library is opened when the first such
// file is; a build without its header says so instead.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "files/conventions/netcdf_notes.h"
#include "files/tensor/tensor_files.h"
#include "stream/container/history.h"
#include "stream/tensor_io.h"

namespace tensorpress::files {

enum class ArrayFormat { other, netcdf_classic, hdf5 };

/// From the first bytes; a file that cannot be read is `other`.
ArrayFormat array_format_of(const std::string& path);
/// From the first 8 bytes of a file.
ArrayFormat array_format_of(std::span<const std::byte> beginning);
/// From a name: .nc, .nc4, .cdf, .h5, .hdf5, in small or capital letters.
bool is_array_file_name(const std::string& path);
/// .h5 or .hdf5.
bool is_hdf5_file_name(const std::string& path);
/// .cdf, which is written as a classic file.
bool is_classic_file_name(const std::string& path);

struct StoredFilter {
  std::uint32_t id = 0;
  std::vector<std::uint32_t> values = {};
  friend bool operator==(const StoredFilter&, const StoredFilter&) = default;
};

/// How values are laid down in a file.
struct Storage {
  bool contiguous = false;
  std::vector<StoredFilter> filters = {};
  friend bool operator==(const Storage&, const Storage&) = default;
};

struct NetcdfVariable {
  std::string path;  // "TEMP", or "ocean/TEMP" in a group
  std::string type;  // NetCDF's name: "float", "short", "char"
  std::vector<std::string> dimensions;
  std::vector<std::uint64_t> extents;
  std::uint64_t bytes = 0;                   // of its elements as they are stored
  std::vector<std::uint64_t> chunk_extents;  // none when it has no chunks
  std::vector<StoredFilter> filters;
  std::vector<double> fill_values;  // of all kinds (files/conventions/netcdf_conventions.h)
  bool packed = false;              // whole numbers with scale_factor or add_offset
  bool coordinate = false;          // a dimension has its name, or another variable's attribute
  std::string refusal;              // why it cannot be compressed; "" when it can
  /// What it lost before, as its attributes and our filter tell (files/rewriting/provenance.h).
  stream::History history = {};
  std::optional<Bound> kept_bound = {};       // against the first values
  std::optional<Storage> stored_before = {};  // before our filter; absent where that is not known
};

class NetcdfFile {
 public:
  static Result<std::unique_ptr<NetcdfFile>> open(const std::string& path);
  virtual ~NetcdfFile() = default;

  virtual const std::vector<NetcdfVariable>& variables() const = 0;
  /// f32 or f64, packed numbers unpacked and their fill values NaN. The file must outlive it.
  virtual Result<std::unique_ptr<stream::TensorSource>> source(const NetcdfVariable& variable) = 0;
  /// What it takes in the file; 0 when that is not known (classic files).
  virtual Result<std::uint64_t> stored_bytes(const NetcdfVariable& variable) = 0;
  virtual Result<NetcdfNotes> notes(const NetcdfVariable& variable) = 0;

  /// By its path, with or without a leading slash; the error lists what there is.
  Result<const NetcdfVariable*> find(const std::string& name) const;
};

/// A variable alone, as open_tensor gives it. Without a name: the only one that is data.
Result<std::unique_ptr<stream::TensorSource>> open_netcdf_tensor(const std::string& path,
                                                                 const std::string& variable);

/// A new netCDF-4 file (.cdf: classic) with one variable; with notes it has its name, attributes
/// and coordinates, and packed numbers are packed again. `error` is how far elements may be from
/// what was packed, where that is known: remarks depend on it. The variable carries `history`, what
/// was lost before its elements came here. `made_from` as of AtomicFile.
Result<std::unique_ptr<TensorFile>> create_netcdf_tensor(const std::string& path, DType dtype,
                                                         const Shape& shape,
                                                         const std::optional<NetcdfNotes>& notes,
                                                         std::optional<double> error,
                                                         const stream::History& history,
                                                         const std::string& made_from = {});

}  // namespace tensorpress::files
