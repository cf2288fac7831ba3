// The parameters that every error-bounded codec has beside its own. The stream's header holds them
// as text; users say them through Bound and CompressOptions, and resolve_codec (src/stream) fills
// them in when it has seen the data.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "tensorpress/bound.h"
#include "tensorpress/codec.h"

namespace tensorpress::bounded {

inline constexpr ParameterInfo kBoundParameter = {
    "bound", "", "abs E|rel E|pw-rel E|psnr P|ratio R", "what was asked for", true};
inline constexpr ParameterInfo kLimitParameter = {
    "limit", "", "a number", "the absolute error that is kept; of log2|x| for pw-rel", true};
inline constexpr ParameterInfo kFillParameter = {"fill", "", "numbers with a space between",
                                                 "values that stand for no data", true};

/// What a header says, which may be less than a KeptBound.
struct Parameters {
  std::optional<Bound> bound = {};
  std::optional<double> limit = {};  // absent until the bound is resolved
  std::vector<double> fills = {};

  bool pointwise() const { return bound && bound->kind() == Bound::Kind::pointwise_relative; }
  bool measured() const { return bound && bound->kind() == Bound::Kind::psnr; }

  std::optional<KeptBound> kept() const;
  static Parameters of(const KeptBound& kept) { return {kept.asked, kept.limit, kept.fill_values}; }
};

/// From the text of a header; the error says what is wrong.
Result<Parameters> parse(std::span<const Parameter> parameters);
/// Among a codec's parameters, as a header has it.
void write(const KeptBound& bound, std::span<Parameter> parameters);
/// Whether a header can say it.
Result<void> check(const KeptBound& bound);

}  // namespace tensorpress::bounded
