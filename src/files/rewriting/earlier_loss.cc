#include "files/rewriting/earlier_loss.h"

#include "base/errors.h"
#include "files/conventions/hdf5_filter_settings.h"
#include "files/rewriting/provenance.h"
#include "stream/bounds/resolve.h"

namespace tensorpress::files {
namespace {

/// The bound of each chunk's range that our filter kept; nothing where it has another or is absent.
std::optional<Hdf5FilterSettings> relative_filter(const NetcdfVariable& variable) {
  auto filter = own_filter(variable.filters);
  if (!filter.ok() || !*filter || !(*filter)->bound) return std::nullopt;
  if ((*filter)->bound->kind() != Bound::Kind::relative) return std::nullopt;
  return *std::move(filter);
}

/// A chunk had a range of at most w + 2 e when it has one of w now, and the error e was at most a
/// share r of that: e <= r / (1 - 2 r) w. No chunk's range is wider than that of all values.
Result<std::optional<Bound>> largest_error(stream::TensorSource& source,
                                           const Hdf5FilterSettings& settings,
                                           std::size_t threads) {
  const double share = settings.bound->value();
  if (share >= 0.25) return std::optional<Bound>();
  stream::WriteOptions look{.threads = threads};
  look.bound.bound = Bound::relative(share / (1 - 2 * share) * (1 + 0x1p-40));
  look.bound.fill_values = settings.fill_values;
  if (settings.chunk && settings.chunk->fill_value) {
    look.bound.fill_values.push_back(*settings.chunk->fill_value);
  }
  look.bound.whole_range = true;
  TRY(const Bound error, stream::resolve_bound(source, look));
  return std::optional(error);
}

std::string in_words(const stream::History& history) {
  return text("'", to_text(history), "'");
}

}  // namespace

Result<stream::History> history_of(NetcdfFile& file, const NetcdfVariable& variable,
                                   std::size_t threads) {
  stream::History history = variable.history;
  if (history.empty() || history.back().error || !variable.refusal.empty()) return history;
  const auto settings = relative_filter(variable);
  if (!settings || history.back().codec != settings->codec.name()) return history;
  TRY(const auto source, file.source(variable));
  TRY(history.back().error, largest_error(*source, *settings, threads));
  return history;
}

Result<void> count_from_first_values(std::string_view what, const stream::History& history,
                                     const EarlierLoss& loss, stream::BoundOptions& bound) {
  if (history.empty() || loss.from_here || !bound.bound) return {};
  const auto lost = stream::error_of(history);
  if (!lost) {
    return bad_argument(what, " was compressed before, as ", in_words(history),
                        ", and how much it lost is not known, so '", bound.bound->to_string(),
                        "' against the first values cannot be kept; let the bound count from the "
                        "values as they are now: ",
                        loss.from_here_name);
  }
  if (bound.bound->kind() == Bound::Kind::psnr) {
    return bad_argument(what, " has lost up to '", lost->to_string(), "' before, so '",
                        bound.bound->to_string(),
                        "' against the first values cannot be kept; give another bound, or let it "
                        "count from the values as they are now: ",
                        loss.from_here_name);
  }
  bound.earlier_error = lost;
  return {};
}

Error with_way_out(const EarlierLoss& loss, Error error) {
  if (error.code == ErrorCode::bad_argument) error.message += text(": ", loss.from_here_name);
  return error;
}

}  // namespace tensorpress::files
