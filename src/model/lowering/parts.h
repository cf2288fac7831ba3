// What works together while the lines of a step are made. Lowering owns it and walks over the
// nodes; operators see it through Site.
#pragma once

#include "model/lowering/decoder.h"
#include "model/lowering/gradients.h"
#include "model/lowering/line_builder.h"
#include "model/lowering/site.h"

namespace tensorpress::model {

/// What random numbers are drawn for. A purpose and a value or node have a stream of their own.
enum class Draw : std::uint8_t { rounding, rounding_of_waiting_gradient, dropout };
inline constexpr std::size_t kDraws = 3;

struct Parts {
  explicit Parts(const Setting& given) : setting(given), lines(given) {}
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  const Setting& setting;
  LineBuilder lines;
  Decoder decoder{*this};
  Gradients gradients{*this};
  /// Values that lines of the forward pass compute slice by slice where they are read.
  std::map<ValueId, Expression> lazy;

  /// `seed + 3` while forward runs, `S[":seed"] + 3` later: another number for every purpose and
  /// id, and the same for these with every policy, so that policies can be compared with the same
  /// dropout.
  Expression seed_of(Draw purpose, std::size_t id, bool later);
};

}  // namespace tensorpress::model
