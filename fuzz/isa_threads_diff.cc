// The same bytes everywhere: every instruction set of this CPU and any number of threads write the
// same stream and read the same elements (where the caller's type is not fp8's: docs/format.md
// leaves a NaN's payload open there), and refuse the same.
#include <cstdlib>
#include <string>

#include "base/cpu.h"
#include "inputs/must.h"
#include "inputs/streams.h"
#include "inputs/tensor_case.h"

namespace tensorpress::fuzz {
namespace {

struct Outcome {
  Bytes stream = {};
  Bytes elements = {};
  std::string error = {};
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome outcome_of(TensorCase& made, std::size_t threads) {
  made.options.threads = threads;
  auto stream = compress(made.tensor.view(), made.codec, made.options);
  if (!stream.ok()) return {.error = stream.error().message};
  auto copy = decompress(*stream, {.threads = threads, .max_bytes = kMostBytes});
  must(copy.ok(), made.to_string() + ": " + (copy.ok() ? "" : copy.error().message));
  return {std::move(*stream), std::move(copy->bytes), {}};
}

void check(TensorCase made) {
  Outcome first;
  for (const Isa isa : usable_isas()) {
    const std::string name(name_of(isa));
    setenv("TENSORPRESS_MAX_ISA", name.c_str(), 1);
    Outcome outcome = outcome_of(made, 1);
    if (isa == Isa::scalar) {
      first = std::move(outcome);
      continue;
    }
    must(outcome == first, made.to_string() + ": " + name + " differs from scalar");
  }
  unsetenv("TENSORPRESS_MAX_ISA");
  must(outcome_of(made, 3) == first, made.to_string() + ": three threads differ from one");
}

}  // namespace
}  // namespace tensorpress::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tensorpress::fuzz::ByteTaker bytes(data, size);
  tensorpress::fuzz::check(tensorpress::fuzz::take_tensor_case(bytes));
  return 0;
}
