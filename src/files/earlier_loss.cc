#include "files/earlier_loss.h"

#include <algorithm>
#include <charconv>

#include "base/cpu.h"
#include "base/errors.h"
#include "files/hdf5_filter_settings.h"
#include "stream/resolve.h"

namespace tensorpress::files {
namespace {

/// The bound of each chunk's range that our filter kept; nothing where it has another or is absent.
std::optional<Hdf5FilterSettings> relative_filter(const NetcdfVariable& variable) {
  const auto own =
      std::ranges::find(variable.filters, std::uint32_t{kHdf5FilterId}, &StoredFilter::id);
  if (own == variable.filters.end()) return std::nullopt;
  auto settings = Hdf5FilterSettings::from_words(own->values);
  if (!settings.ok() || !settings->bound) return std::nullopt;
  if (settings->bound->kind() != Bound::Kind::relative) return std::nullopt;
  return std::move(*settings);
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
  TRY(const Isa isa, active_isa());
  TRY(const Codec codec, Codec::make("dense"));
  TRY(const auto resolved, stream::resolve_codec(codec, source, look, isa));
  const std::string_view limit = resolved.codec.parameter("limit");
  double error = 0;
  const auto parsed = std::from_chars(limit.data(), limit.data() + limit.size(), error);
  ENSURE(parsed.ec == std::errc());
  return std::optional(Bound::absolute(error));
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

Result<void> count_from_first_values(const NetcdfVariable& variable, const stream::History& history,
                                     const EarlierLoss& loss, stream::BoundOptions& bound) {
  if (history.empty() || loss.from_here || !bound.bound) return {};
  const auto lost = stream::error_of(history);
  if (!lost) {
    return bad_argument("variable '", variable.path, "' was compressed before, as ",
                        in_words(history), ", and how much it lost is not known, so '",
                        bound.bound->to_string(),
                        "' against the first values cannot be kept; let the bound count from the "
                        "values as they are now: ",
                        loss.from_here_name);
  }
  if (bound.bound->kind() == Bound::Kind::psnr) {
    return bad_argument("variable '", variable.path, "' has lost up to '", lost->to_string(),
                        "' before, so '", bound.bound->to_string(),
                        "' against the first values cannot be kept; give another bound, or let it "
                        "count from the values as they are now: ",
                        loss.from_here_name);
  }
  bound.earlier_error = lost;
  return {};
}

Error with_way_out(const NetcdfVariable& variable, const EarlierLoss& loss, const Error& error) {
  const bool of_history = error.code == ErrorCode::bad_argument;
  return {error.code, text("variable '", variable.path, "': ", error.message,
                           of_history ? text(": ", loss.from_here_name) : "")};
}

}  // namespace tensorpress::files
