// Our attributes of variables in NetCDF and HDF5 files: how one was compressed, what it lost
// against its first values, and how it was stored before (docs/adr/0034).
//
//   tensorpress_codec            "dense"
//   tensorpress_bound            "rel 0.0001", kept against the first values
//   tensorpress_max_abs_error    the same as a number, where there is one
//   tensorpress_version          of the program that compressed it
//   tensorpress_history          every lossy step (stream/history.h); stays when the others go
//   tensorpress_filters_before   "shuffle deflate:4", "none" or "contiguous"
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/netcdf_file.h"
#include "stream/history.h"

namespace tensorpress::files {

/// Numbers of HDF5's own filters, which never change.
inline constexpr std::uint32_t kDeflateFilter = 1, kShuffleFilter = 2, kFletcherFilter = 3;

bool is_own_attribute(std::string_view name);
void erase_own_attributes(std::vector<NetcdfAttribute>& attributes);

NetcdfAttribute text_attribute(std::string name, std::string_view value);
NetcdfAttribute number_attribute(std::string name, double value);
/// An empty history has none.
std::vector<NetcdfAttribute> history_attributes(const stream::History& history);

struct Storage {
  bool contiguous = false;
  std::vector<StoredFilter> filters = {};
  friend bool operator==(const Storage&, const Storage&) = default;
};

std::string to_text(const Storage& storage);
/// From anybody's text.
Result<Storage> parse_storage(std::string_view text);

struct Provenance {
  std::string codec;
  /// Absent where no bound is kept against the first values.
  std::optional<Bound> bound = {};
  stream::History history = {};
  std::string filters_before = {};
};
std::vector<NetcdfAttribute> to_attributes(const Provenance& provenance);

/// Fills in what attributes and filters of a variable tell about earlier compression: `history`,
/// `kept_bound` and `filters_before`.
void read_provenance(const std::vector<NetcdfAttribute>& attributes, NetcdfVariable& variable);

/// What remains of a history when values of type `dtype` are packed again as whole numbers: nothing
/// where all come back, and otherwise one more step.
stream::History history_when_packed(stream::History history, const NetcdfNotes& notes, DType dtype);

/// The attribute of a file that says which programs it went through, as NCO and CDO write it.
inline constexpr std::string_view kFileHistory = "history";
/// `line` before what it holds.
std::string history_text(std::string_view line, std::string_view before);

}  // namespace tensorpress::files
