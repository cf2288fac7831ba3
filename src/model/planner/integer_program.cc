#include "model/planner/integer_program.h"

#include <cmath>
#include <limits>
#include <memory>

#include "base/errors.h"
#include "model/planner/cbc_library.h"

namespace tensorpress::model::planner {
namespace {

/// The matrix by columns, as CBC wants it.
struct ByColumns {
  std::vector<CoinBigIndex> starts;
  std::vector<int> rows;
  std::vector<double> factors;
};

ByColumns by_columns(const IntegerProgram& program) {
  ByColumns matrix;
  matrix.starts.assign(program.columns.size() + 1, 0);
  for (const Row& row : program.rows) {
    for (const Term& term : row.terms) ++matrix.starts[static_cast<std::size_t>(term.column) + 1];
  }
  for (std::size_t i = 1; i < matrix.starts.size(); ++i) matrix.starts[i] += matrix.starts[i - 1];
  const auto entries = static_cast<std::size_t>(matrix.starts.back());
  matrix.rows.resize(entries);
  matrix.factors.resize(entries);
  std::vector<CoinBigIndex> next(matrix.starts.begin(), matrix.starts.end() - 1);
  for (std::size_t r = 0; r < program.rows.size(); ++r) {
    for (const Term& term : program.rows[r].terms) {
      const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(term.column)]++);
      matrix.rows[at] = static_cast<int>(r);
      matrix.factors[at] = term.factor;
    }
  }
  return matrix;
}

void load(const CbcFunctions& cbc, Cbc_Model* model, const IntegerProgram& program) {
  const ByColumns matrix = by_columns(program);
  std::vector<double> objective, lower, upper, row_lower, row_upper;
  for (const Column& column : program.columns) {
    objective.push_back(column.objective);
    lower.push_back(column.lower);
    upper.push_back(column.upper);
  }
  for (const Row& row : program.rows) {
    row_lower.push_back(row.lower);
    row_upper.push_back(row.upper);
  }
  cbc.Cbc_loadProblem(model, static_cast<int>(program.columns.size()),
                      static_cast<int>(program.rows.size()), matrix.starts.data(),
                      matrix.rows.data(), matrix.factors.data(), lower.data(), upper.data(),
                      objective.data(), row_lower.data(), row_upper.data());
  for (std::size_t i = 0; i < program.columns.size(); ++i) {
    if (program.columns[i].whole) cbc.Cbc_setInteger(model, static_cast<int>(i));
  }
  if (program.start.size() == program.columns.size()) {
    std::vector<int> numbers(program.start.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i);
    cbc.Cbc_setMIPStartI(model, static_cast<int>(numbers.size()), numbers.data(),
                         program.start.data());
  }
}

}  // namespace

Result<ProgramSolution> minimize(const IntegerProgram& program, const SearchLimits& limits) {
  std::size_t entries = 0;
  for (const Row& row : program.rows) entries += row.terms.size();
  constexpr std::size_t kMostEntries = 100'000'000;
  if (entries > kMostEntries || program.columns.size() > kMostEntries ||
      program.rows.size() > kMostEntries) {
    return too_large("an integer program of ", program.columns.size(), " columns, ",
                     program.rows.size(), " rows and ", entries,
                     " entries is beyond what the planner solves");
  }
  TRY(const CbcFunctions cbc, CbcFunctions::load());
  const std::unique_ptr<Cbc_Model, decltype(cbc.Cbc_deleteModel)> model(cbc.Cbc_newModel(),
                                                                        cbc.Cbc_deleteModel);
  if (model == nullptr) return internal_error("CBC makes no model");
  cbc.Cbc_setLogLevel(model.get(), 0);
  load(cbc, model.get(), program);
  cbc.Cbc_setObjSense(model.get(), 1);  // minimize
  // CBC 2.10.8's preprocessing loses optimal solutions of programs as small as eight columns
  // (compare issues 724 and 740 of coin-or/Cbc); memory_rows.h does what it would gain.
  cbc.Cbc_setParameter(model.get(), "preprocess", "off");
  cbc.Cbc_setMaximumSeconds(model.get(), limits.seconds);
  cbc.Cbc_setMaximumNodes(model.get(), limits.nodes);
  cbc.Cbc_setAllowableGap(model.get(), 1e-12);
  cbc.Cbc_setAllowableFractionGap(model.get(), limits.relative_gap);
  cbc.Cbc_solve(model.get());

  ProgramSolution solution;
  const double* values = cbc.Cbc_bestSolution(model.get());
  if (values == nullptr) {
    solution.status = cbc.Cbc_isProvenInfeasible(model.get()) != 0
                          ? ProgramSolution::Status::infeasible
                          : ProgramSolution::Status::unknown;
    return solution;
  }
  solution.values.assign(values, values + program.columns.size());
  solution.objective = cbc.Cbc_getObjValue(model.get());
  solution.bound = cbc.Cbc_getBestPossibleObjValue(model.get());
  solution.status = cbc.Cbc_isProvenOptimal(model.get()) != 0 ? ProgramSolution::Status::optimal
                                                              : ProgramSolution::Status::feasible;
  return solution;
}

}  // namespace tensorpress::model::planner
