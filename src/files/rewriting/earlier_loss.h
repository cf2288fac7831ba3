// Compressing again what has lost something already: the bound is meant against the first values,
// so what was lost before counts.
#pragma once

#include "files/netcdf/file.h"
#include "stream/writer.h"

namespace tensorpress::files {

/// A variable's history with the error that only a look at its values tells: where our filter kept
/// a bound of each chunk's own range, the largest error that this can have been.
Result<stream::History> history_of(NetcdfFile& file, const NetcdfVariable& variable,
                                   std::size_t threads);

/// How a bound is to be understood where values have lost something before.
struct EarlierLoss {
  /// The bound counts from the values as they are now, and what was lost before is added to it.
  bool from_here = false;
  /// What a person says to have that, for messages.
  std::string from_here_name = "from_here";
};

/// Makes `bound` count from the first values of `what`, such as "variable 'SST'". The error names
/// it, both bounds and the way out.
Result<void> count_from_first_values(std::string_view what, const stream::History& history,
                                     const EarlierLoss& loss, stream::BoundOptions& bound);

/// The error of a bound that cannot be kept against the first values, with the way out.
Error with_way_out(const EarlierLoss& loss, Error error);

}  // namespace tensorpress::files
