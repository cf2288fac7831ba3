// What src/devices answers, whatever it was asked: amounts that are numbers, and words.
#pragma once

#include <cmath>
#include <string>

#include "devices/check.h"
#include "inputs/must.h"

namespace tensorpress::fuzz {

inline void must_be_amount(double value, const std::string& what) {
  must(std::isfinite(value) && value >= 0, what + " is a number: " + std::to_string(value));
}

inline void check_outcome(const Result<devices::CheckOutcome>& outcome) {
  if (!told(outcome)) return;
  for (const devices::Requirement& each : outcome->requirements) {
    must_be_amount(each.needed, each.what);
    must_be_amount(each.limit, each.where);
    must(!devices::in_words(each).empty(), "a requirement has words");
  }
  for (const std::string& reason : outcome->reasons) must(!reason.empty(), "a reason has words");
}

}  // namespace tensorpress::fuzz
