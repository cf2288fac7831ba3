// A linear program with whole-numbered columns, solved by COIN-OR's branch-and-cut (CBC). Its
// library is opened when the first program is solved: it brings Clp, LAPACK and BLAS with it, which
// no other verb needs. One thread and no randomness: the same program gives the same answer, unless
// the time limit ends the search.
#pragma once

#include <vector>

#include "tensorpress/result.h"

namespace tensorpress::model::planner {

struct Term {
  int column = 0;
  double factor = 0;
};

/// lower <= sum of the terms <= upper; ±infinity where there is no limit.
struct Row {
  std::vector<Term> terms;
  double lower = 0;
  double upper = 0;
};

struct Column {
  double objective = 0;  // minimized
  double lower = 0;
  double upper = 1;
  bool whole = true;
};

struct IntegerProgram {
  std::vector<Column> columns;
  std::vector<Row> rows;
  std::vector<double> start = {};  // a solution to begin with, or nothing
};

struct SearchLimits {
  double relative_gap = 1e-3;  // the search ends when the proof is this close
  int nodes = 1000;            // of the search tree: ends it at the same place on every machine
  double seconds = 30;         // for machines too slow to search all the nodes
};

struct ProgramSolution {
  enum class Status {
    optimal,     // within the relative gap
    feasible,    // a limit ended the search; `bound` says how far from the best it can be
    infeasible,  // proven
    unknown,     // a limit ended the search before any solution was found
  };
  Status status = Status::unknown;
  std::vector<double> values = {};
  double objective = 0;
  double bound = 0;  // no solution is below this
};

/// An error only where CBC's library is missing or the program is larger than it can hold.
Result<ProgramSolution> minimize(const IntegerProgram& program, const SearchLimits& limits);

}  // namespace tensorpress::model::planner
