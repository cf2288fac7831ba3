// Our attributes of variables in NetCDF and HDF5 files: how one was compressed, what it lost
// against its first values, and how it was stored before (docs/adr/0034).
//
//   tensorpress_codec            "dense"
//   tensorpress_bound            "rel 0.0001", kept against the first values
//   tensorpress_max_abs_error    the same as a number, where there is one
//   tensorpress_version          of the program that compressed it
//   tensorpress_history          every lossy step (stream/container/history.h); stays when the
//   others go tensorpress_filters_before   "shuffle deflate:4", "none" or "contiguous"
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/conventions/hdf5_filter_settings.h"
#include "files/netcdf/file.h"
#include "stream/container/history.h"

namespace tensorpress::files {

/// Numbers of HDF5's own filters, which never change.
inline constexpr std::uint32_t kDeflateFilter = 1, kShuffleFilter = 2, kFletcherFilter = 3;

/// The attribute with the bound that a user gave.
inline constexpr std::string_view kBoundAttribute = "tensorpress_bound";

bool is_own_attribute(std::string_view name);
void erase_own_attributes(std::vector<NetcdfAttribute>& attributes);

NetcdfAttribute text_attribute(std::string name, std::string_view value);
NetcdfAttribute number_attribute(std::string name, double value);
/// An empty history has none.
std::vector<NetcdfAttribute> history_attributes(const stream::History& history);

/// What our filter, if it is among these, was told; the error says what is wrong with its words.
Result<std::optional<Hdf5FilterSettings>> own_filter(const std::vector<StoredFilter>& filters);
/// Whether it is.
bool has_own_filter(const NetcdfVariable& variable);

/// What our filter does to values. Bounds of a chunk's own range and PSNRs hold for each chunk and
/// are not errors that add up.
stream::HistoryStep step_of(const Hdf5FilterSettings& filter);
/// Adds the filter's step unless the history ends in it: other tools put our filter onto values
/// without telling the history.
void add_step(const Hdf5FilterSettings& filter, stream::History& history);

std::string to_text(const Storage& storage);
/// From any text.
Result<Storage> parse_storage(std::string_view text);

struct Provenance {
  std::string codec;
  /// Absent where no bound is kept against the first values.
  std::optional<Bound> bound = {};
  stream::History history = {};
  Storage stored_before = {};
};
std::vector<NetcdfAttribute> to_attributes(const Provenance& provenance);

/// Fills in what attributes and filters of a variable tell about earlier compression: `history`,
/// `kept_bound` and `stored_before`. What cannot be read there is not known.
void read_provenance(const std::vector<NetcdfAttribute>& attributes, NetcdfVariable& variable);

/// What remains of a history when values of type `dtype` are packed again as whole numbers: nothing
/// where all come back, and otherwise one more step.
stream::History history_when_packed(stream::History history, const NetcdfNotes& notes, DType dtype);

/// The attribute of a file that says which programs it went through, as NCO and CDO write it.
inline constexpr std::string_view kFileHistory = "history";
/// `line` before what it holds.
std::string history_text(std::string_view line, std::string_view before);

}  // namespace tensorpress::files
