#include "model/policy/policy.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/errors.h"
#include "model/policy/levels.h"
#include "tensorpress/pack.h"

namespace tensorpress::model {
namespace {

/// An estimate in whole bytes: at most those of the values as they are, however small the bound.
std::int64_t at_most(std::int64_t plain, double estimate) {
  return estimate < static_cast<double>(plain) ? static_cast<std::int64_t>(estimate) : plain;
}

}  // namespace

bool keeps_values(const Storing& storing) {
  return storing.kind == Storing::Kind::keep || storing.kind == Storing::Kind::offload;
}

bool is_lossy(const Storing& storing) {
  return !keeps_values(storing) && storing.kind != Storing::Kind::rebuild;
}

bool is_lossy(const Policy& policy) {
  return is_lossy(policy.fallback) || is_lossy(policy.smooth) ||
         std::ranges::any_of(policy.by_name,
                             [](const auto& rule) { return is_lossy(rule.second); });
}

std::string to_text(const Storing& storing) {
  switch (storing.kind) {
    case Storing::Kind::keep:
      return "keep";
    case Storing::Kind::quantize:
      return text("quantize ", storing.bits, storing.bits == 1 ? " bit" : " bits",
                  storing.stochastic ? " stochastic" : "");
    case Storing::Kind::cast:
      return text("cast ", storing.type);
    case Storing::Kind::chop:
      return text("dct-chop ", storing.chop_factor);
    case Storing::Kind::bounded:
      return text(storing.codec, " ", storing.bound, " ", storing.bound_value);
    case Storing::Kind::rebuild:
      return "rebuild";
    case Storing::Kind::offload:
      return "offload";
  }
  return "";
}

std::int64_t stored_bytes(const Storing& storing, const TensorType& type, const Sizes& sizes) {
  const std::int64_t count = elements(type.shape, sizes);
  switch (storing.kind) {
    case Storing::Kind::keep:
      return count * bytes_of(type.element);
    case Storing::Kind::quantize:
      return static_cast<std::int64_t>(
          packed_size(static_cast<std::size_t>(count), QuantizeOptions{.bits = storing.bits})
              .value());
    case Storing::Kind::cast:
      return count * (storing.type == "bf16" || storing.type == "f16" ? 2 : 1);
    case Storing::Kind::chop: {
      if (type.shape.size() < 2) return count * bytes_of(type.element);
      const std::int64_t rows = extent(type.shape[type.shape.size() - 2], sizes);
      const std::int64_t columns = extent(type.shape.back(), sizes);
      if (rows == 0 || columns == 0) return 0;
      const std::int64_t blocks = ((rows + 7) / 8) * ((columns + 7) / 8);
      return count / (rows * columns) * blocks * storing.chop_factor * storing.chop_factor *
             bytes_of(type.element);
    }
    case Storing::Kind::bounded: {
      const std::int64_t plain = count * bytes_of(type.element);
      if (storing.bound == "ratio") {
        return at_most(plain, static_cast<double>(plain) / storing.bound_value);
      }
      if (storing.bound != "relative") return plain / 4;
      // Steps of twice the bound, less what the entropy of a normal distribution is below them.
      const double bits = std::max(1.0, std::log2(0.5 / storing.bound_value) - 1.5);
      return at_most(plain, static_cast<double>(count) * bits / 8);
    }
    case Storing::Kind::rebuild:
    case Storing::Kind::offload:
      return 0;
  }
  return 0;
}

bool has_planes(const TensorType& type) {
  const std::size_t rank = type.shape.size();
  if (rank < 3) return false;
  const Dim& rows = type.shape[rank - 2];
  const Dim& columns = type.shape[rank - 1];
  return rows.known() && columns.known() && rows.factor >= 8 && columns.factor >= 8;
}

Policy policy_off() {
  return named_policy("off").value();
}

Result<Policy> named_policy(const std::string& name) {
  for (const Policy& policy : levels().policies) {
    if (policy.name == name) return policy;
  }
  return bad_argument(
      "there is no plan '", name,
      "'; there are off, lossless, safe, balanced and max, and files ending in .json");
}

}  // namespace tensorpress::model
