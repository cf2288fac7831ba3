// A CSL program as the simulated wafer loads it: the layout is evaluated, every distinct tile is
// compiled once, and what no compiler should accept is reported.
#pragma once

#include <memory>

#include "csl/meaning/compilation.h"

namespace tensorpress::csl {

struct Executable {
  Architecture architecture = Architecture::wse2;
  int width = 0, height = 0;
  std::vector<std::unique_ptr<Program>> programs;
  std::vector<int> program_of;                           // of each PE; -1: no code
  std::vector<std::array<ColorConfig, kColors>> colors;  // of each PE
  std::vector<HostName> names;
};

/// Null after errors, which compilation.diagnostics has.
std::unique_ptr<Executable> built(Compilation& compilation, const std::string& path);

/// Overflow of SRAM, routes that lead nowhere, names that no tile has. Part of `built`.
void check(Compilation& compilation, const Executable& executable);

}  // namespace tensorpress::csl
