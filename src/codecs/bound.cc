// Bounds as text, and which values they may have.
#include "tensorpress/bound.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/errors.h"

namespace tensorpress {
namespace {

struct Name {
  Bound::Kind kind;
  std::string_view name;
};
constexpr std::array<Name, 5> kNames = {{{Bound::Kind::absolute, "abs"},
                                         {Bound::Kind::relative, "rel"},
                                         {Bound::Kind::pointwise_relative, "pw-rel"},
                                         {Bound::Kind::psnr, "psnr"},
                                         {Bound::Kind::ratio, "ratio"}}};

std::string_view name_of(Bound::Kind kind) {
  for (const Name& name : kNames) {
    if (name.kind == kind) return name.name;
  }
  return "unknown";
}

}  // namespace

Result<Bound> Bound::parse(std::string_view text) {
  const std::size_t space = text.find(' ');
  for (const Name& name : kNames) {
    if (text.substr(0, space) != name.name || space == std::string_view::npos) continue;
    const std::string_view number = text.substr(space + 1);
    double value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size()) break;
    const Bound bound(name.kind, value);
    RETURN_IF_ERROR(bound.check());
    return bound;
  }
  return bad_argument("'", text, "' is not a bound; examples are 'abs 0.001', 'rel 1e-4', ",
                      "'pw-rel 1e-3', 'psnr 80' and 'ratio 20'");
}

std::string Bound::to_string() const {
  return text(name_of(kind_), " ", value_);
}

Result<void> Bound::check() const {
  const auto refused = [this](std::string_view allowed) {
    return bad_argument("a bound of '", to_string(), "' cannot be kept: ", allowed);
  };
  if (!std::isfinite(value_)) return refused("it must be a finite number");
  if (kind_ == Kind::ratio) {
    if (value_ < 1) return refused("a ratio is at least 1");
  } else if (value_ < 0 || std::signbit(value_)) {
    return refused("it must not be negative");
  }
  if (kind_ == Kind::pointwise_relative && value_ >= 1) {
    return refused("a point-wise relative bound is below 1");
  }
  return {};
}

}  // namespace tensorpress
