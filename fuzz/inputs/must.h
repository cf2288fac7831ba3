// What must hold for every input. A fuzzer notices an abort, and its message is the last thing on
// the screen.
#pragma once

#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tensorpress/result.h"

namespace tensorpress::fuzz {

inline void must(bool holds, const std::string& fact) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: this does not hold: %s\n", fact.c_str());
  std::abort();
}

/// The same with a function that makes the sentence: for checks of every element, where writing it
/// each time would take longer than what is tested.
template <std::invocable Sentence>
void must(bool holds, const Sentence& fact) {
  if (!holds) must(false, std::string(fact()));
}

/// An error is fine, but it says what is wrong, and it is not our own fault.
inline void must_explain(const Error& error) {
  must(!error.message.empty(), "an error has a message");
  must(error.code != ErrorCode::internal, "no internal error: " + error.message);
}

/// Whether there is a result; if not, its error explains itself.
template <class T>
bool told(const Result<T>& result) {
  if (!result.ok()) must_explain(result.error());
  return result.ok();
}

}  // namespace tensorpress::fuzz
