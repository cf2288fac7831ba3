// CBC's C interface as a table of the functions that integer_program.cc needs. Types come from its
// header; nothing is linked.
#pragma once

#include <coin/Cbc_C_Interface.h>

#include "tensorpress/result.h"

namespace tensorpress::model::planner {

// clang-format off
#define TENSORPRESS_CBC_FUNCTIONS(FUNCTION) \
  FUNCTION(Cbc_bestSolution) FUNCTION(Cbc_deleteModel) FUNCTION(Cbc_getBestPossibleObjValue) \
  FUNCTION(Cbc_getObjValue) FUNCTION(Cbc_isProvenInfeasible) FUNCTION(Cbc_isProvenOptimal) \
  FUNCTION(Cbc_loadProblem) FUNCTION(Cbc_newModel) FUNCTION(Cbc_setAllowableFractionGap) \
  FUNCTION(Cbc_setAllowableGap) FUNCTION(Cbc_setInteger) FUNCTION(Cbc_setLogLevel) \
  FUNCTION(Cbc_setMIPStartI) FUNCTION(Cbc_setMaximumNodes) FUNCTION(Cbc_setMaximumSeconds) \
  FUNCTION(Cbc_setObjSense) FUNCTION(Cbc_setParameter) FUNCTION(Cbc_solve)
// clang-format on

struct CbcFunctions {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration
#define TENSORPRESS_MEMBER(name) decltype(&::name) name = nullptr;
  TENSORPRESS_CBC_FUNCTIONS(TENSORPRESS_MEMBER)
#undef TENSORPRESS_MEMBER

  static Result<CbcFunctions> load();
};

}  // namespace tensorpress::model::planner
