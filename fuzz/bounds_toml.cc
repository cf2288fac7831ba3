// Arbitrary bytes as a file of bounds: an error that names its line, or rules that can be asked.
#include "files/rewriting/bounds_file.h"

#include "inputs/must.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tensorpress;
  files::VariableBounds rules;
  const auto read =
      files::parse_bounds({reinterpret_cast<const char*>(data), size}, "fuzz.toml", rules);
  if (!fuzz::told(read)) return 0;
  fuzz::must(!rules.empty(), "a file of bounds names a variable");
  files::matches(std::string(reinterpret_cast<const char*>(data), size), "ocean/temp");
  return 0;
}
