// An older CPU for as long as the object lives.
#pragma once

#include <cstdlib>
#include <string>

#include "base/cpu.h"

namespace tensorpress {

class WithIsa {
 public:
  explicit WithIsa(Isa isa) { setenv("TENSORPRESS_MAX_ISA", std::string(name_of(isa)).c_str(), 1); }
  ~WithIsa() { unsetenv("TENSORPRESS_MAX_ISA"); }
  WithIsa(const WithIsa&) = delete;
  WithIsa& operator=(const WithIsa&) = delete;
};

}  // namespace tensorpress
