// What the attributes of NetCDF variables mean (NetCDF's own conventions and CF's): which values
// stand for no data, and which variables are coordinates of others. Asked by both readers, that of
// NetCDF's library and our own of HDF5.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "files/conventions/netcdf_notes.h"

namespace tensorpress::files {

/// Null when there is none of this name.
const NetcdfAttribute* find_attribute(const std::vector<NetcdfAttribute>& attributes,
                                      std::string_view name);
/// Of an attribute that is text; "" for others.
std::string text_of(const std::vector<NetcdfAttribute>& attributes, std::string_view name);
std::vector<std::string> words_of(const std::string& text);

/// "TEMP" of "ocean/TEMP".
std::string bare_name(const std::string& path);
/// Adds the bare names of variables that a variable's attributes name as its coordinates, their
/// bounds, the areas of its cells and so on. Not `ancillary_variables`, which are data.
void add_coordinates_of_variable(const std::vector<NetcdfAttribute>& attributes,
                                 std::set<std::string>& names);
/// Likewise of a file or group: xarray lists there those that no variable names.
void add_coordinates_of_group(const std::vector<NetcdfAttribute>& attributes,
                              std::set<std::string>& names);

/// `_FillValue`, `missing_value`, the fill value that the file itself has for the variable (of the
/// variable's type; 0 is an ordinary number), and what NetCDF writes where no value was written.
struct FillValues {
  const std::vector<NetcdfAttribute>& attributes;
  NetcdfType type;
  std::optional<NetcdfArray> own = {};

  /// Each once.
  std::vector<double> as_doubles() const;
  /// Those that are whole numbers of `type`, each cast.
  std::vector<std::uint64_t> as_whole_numbers() const;
  /// Adds the file's own as `_FillValue`, unless there is one already or it is NetCDF's default.
  void state_own(std::vector<NetcdfAttribute>& to) const;

 private:
  bool own_counts() const;
  std::vector<NetcdfArray> all() const;
};

/// The value that NetCDF fills variables of this type with; nothing for text and unknown types.
std::optional<NetcdfArray> default_fill(NetcdfType type);

}  // namespace tensorpress::files
