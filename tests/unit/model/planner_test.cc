// The planner beside brute force over every choice of small problems, at its limits, and with
// hostile problems.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <random>

#include "model/planner/candidates.h"
#include "model/planner/integer_program.h"
#include "model/planner/memory_rows.h"
#include "model/planner/solve.h"

namespace tensorpress::model::planner {
namespace {

/// Activations that wait from their forward to their backward position, with scratch at both.
Problem random_problem(std::uint32_t seed, std::size_t most_activations = 6) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  Problem problem;
  const std::size_t count = 1 + below(most_activations);
  const std::size_t length = 2 * count + below(4);
  for (std::size_t t = 0; t < length; ++t) {
    problem.positions.push_back(
        {"position " + std::to_string(t), static_cast<std::int64_t>(below(60))});
  }
  for (std::size_t a = 0; a < count; ++a) {
    Activation activation{.name = "a" + std::to_string(a), .options = {}};
    const std::size_t last = length - 1 - a;
    const auto full = static_cast<std::int64_t>(10 + below(90));
    activation.options.push_back({.name = "keep", .stored_bytes = full, .held = {{a, last, full}}});
    const std::size_t others = below(4);
    for (std::size_t o = 0; o < others; ++o) {
      const auto small = static_cast<std::int64_t>(below(static_cast<std::size_t>(full)));
      Option option{.name = "o" + std::to_string(o),
                    .stored_bytes = small,
                    .held = {{a, last, small}},
                    .seconds = static_cast<double>(below(20)),
                    .error = static_cast<double>(below(20)),
                    .score = static_cast<double>(below(11)) / 10};
      if (below(2) == 0) option.held.push_back({last, last, full});
      if (below(3) == 0) option.held.push_back({a, a, static_cast<std::int64_t>(below(40))});
      activation.options.push_back(std::move(option));
    }
    if (below(2) == 0 && last > a + 2) {  // sent away: there at both ends only, and exact
      activation.options.push_back({.name = "offload",
                                    .held = {{a, a + 1, full}, {last - 1, last, full}},
                                    .seconds = static_cast<double>(below(30))});
    }
    problem.activations.push_back(std::move(activation));
  }
  for (std::size_t i = below(3); i-- > 0 && count > 1;) {
    const std::size_t one = below(count);
    const std::size_t other = (one + 1 + below(count - 1)) % count;
    const std::size_t option = below(problem.activations[one].options.size());
    const std::size_t other_option = below(problem.activations[other].options.size());
    if (option == 0 && other_option == 0) continue;  // keeping everything is always possible
    problem.conflicts.push_back({one, option, other, other_option});
  }
  return problem;
}

void for_every_choice(const Problem& problem, const std::function<void(const Choice&)>& visit) {
  Choice choice(problem.activations.size());
  for (;;) {
    visit(choice);
    std::size_t a = 0;
    while (a < choice.size() && ++choice[a] == problem.activations[a].options.size()) {
      choice[a++] = 0;
    }
    if (a == choice.size()) return;
  }
}

std::optional<double> best_by_brute_force(const Problem& problem, const Request& request) {
  std::optional<double> best;
  for_every_choice(problem, [&](const Choice& choice) {
    const Evaluation evaluation = evaluate(problem, choice);
    if (!keeps(evaluation, request.limits)) return;
    const double value = value_of(evaluation, request.aim);
    if (!best || value < *best) best = value;
  });
  return best;
}

constexpr SearchLimits kExact{.relative_gap = 1e-9, .nodes = 1'000'000, .seconds = 600};

void expect_brute_force(const Problem& problem, const Request& request) {
  const auto solution = solve(problem, request);
  const auto expected = best_by_brute_force(problem, request);
  if (!solution.ok()) {  // an activation that reaches no such score
    EXPECT_FALSE(expected) << solution.error().message;
    return;
  }
  ASSERT_EQ(solution->outcome == Solution::Outcome::solved, expected.has_value())
      << solution->reason;
  if (!expected) {
    EXPECT_EQ(solution->outcome, Solution::Outcome::impossible);
    EXPECT_FALSE(solution->reason.empty());
    return;
  }
  EXPECT_TRUE(keeps(solution->evaluation, request.limits));
  EXPECT_TRUE(solution->proven_best);
  EXPECT_NEAR(value_of(solution->evaluation, request.aim), *expected, 1e-6 * (1 + *expected));
}

TEST(Planner, FindsWhatBruteForceFindsUnderAPeak) {
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = random_problem(seed);
    const auto limit = static_cast<std::int64_t>(40 + seed * 37 % 250);
    const Aim aim = seed % 2 == 0 ? Aim::seconds : Aim::error;
    expect_brute_force(problem, {.aim = aim, .limits = {.peak_bytes = limit}, .search = kExact});
  }
}

TEST(Planner, FindsWhatBruteForceFindsUnderLimitsOnBytesAndScore) {
  for (std::uint32_t seed = 1000; seed < 1100; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = random_problem(seed);
    Request request{.aim = seed % 2 == 0 ? Aim::seconds : Aim::error, .search = kExact};
    request.limits.stored_bytes = static_cast<std::int64_t>(20 + seed % 180);
    if (seed % 3 == 0) request.limits.mean_score = 0.6;
    if (seed % 3 == 1) request.limits.lowest_score = 0.5;
    expect_brute_force(problem, request);
  }
}

TEST(Planner, FindsTheSmallestPeakAndTheFewestBytesThatBruteForceFinds) {
  for (std::uint32_t seed = 2000; seed < 2100; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = random_problem(seed);
    Request request{.aim = seed % 2 == 0 ? Aim::peak_bytes : Aim::stored_bytes, .search = kExact};
    if (seed % 4 < 2) request.limits.mean_score = 0.7;
    expect_brute_force(problem, request);
  }
}

TEST(Planner, ImpossibleBudgetsSayTheSmallestPeakAndWhatSetsIt) {
  int impossible = 0;
  for (std::uint32_t seed = 3000; seed < 3060; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = random_problem(seed);
    const auto smallest = best_by_brute_force(problem, {.aim = Aim::peak_bytes});
    ASSERT_TRUE(smallest);
    const Limits limits{.peak_bytes = static_cast<std::int64_t>(*smallest) - 1};
    const auto solution = solve(problem, {.limits = limits, .search = kExact});
    ASSERT_TRUE(solution.ok());
    ASSERT_EQ(solution->outcome, Solution::Outcome::impossible);
    EXPECT_EQ(static_cast<double>(solution->evaluation.peak_bytes), *smallest);
    EXPECT_NE(solution->reason.find(problem.positions[solution->evaluation.peak_position].name),
              std::string::npos)
        << solution->reason;
    ++impossible;
    // One byte more is enough.
    const Limits enough{.peak_bytes = static_cast<std::int64_t>(*smallest)};
    const auto possible = solve(problem, {.limits = enough, .search = kExact});
    ASSERT_TRUE(possible.ok());
    EXPECT_EQ(possible->outcome, Solution::Outcome::solved);
  }
  EXPECT_EQ(impossible, 60);
}

TEST(Planner, MoreMemoryNeverCostsMoreTime) {
  const Problem problem = random_problem(77, 12);
  double before = std::numeric_limits<double>::infinity();
  int solved = 0;
  for (std::int64_t limit = 60; limit < 900; limit += 40) {
    const auto solution = solve(problem, {.limits = {.peak_bytes = limit}, .search = kExact});
    ASSERT_TRUE(solution.ok());
    if (solution->outcome != Solution::Outcome::solved) {
      EXPECT_EQ(solved, 0) << "a larger budget became impossible";
      continue;
    }
    ++solved;
    EXPECT_LE(solution->evaluation.seconds, before);
    before = solution->evaluation.seconds;
  }
  EXPECT_GT(solved, 3);
  EXPECT_EQ(before, 0) << "with enough memory everything is kept";
}

TEST(Planner, GivesTheSameAnswerTwice) {
  const Problem problem = random_problem(5, 14);
  const Request request{.aim = Aim::error, .limits = {.peak_bytes = 400}};
  const auto one = solve(problem, request);
  const auto two = solve(problem, request);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->choice, two->choice);
}

TEST(Planner, PrintsNothing) {
  testing::internal::CaptureStdout();
  const auto solution = solve(random_problem(9, 12), {.limits = {.peak_bytes = 300}});
  const std::string printed = testing::internal::GetCapturedStdout();
  ASSERT_TRUE(solution.ok());
  EXPECT_EQ(printed, "");
}

TEST(Planner, AwayFromThePeakNothingIsPaidForASmallerPeak) {
  // `late` is not there when `early` makes the peak, so only `early` needs its codec.
  Problem problem;
  for (int t = 0; t < 4; ++t) problem.positions.push_back({"p", t < 2 ? 100 : 0});
  const auto activation = [](const char* name, std::size_t first) {
    return Activation{
        .name = name,
        .options = {{.name = "keep", .stored_bytes = 50, .held = {{first, first + 1, 50}}},
                    {.name = "pack",
                     .stored_bytes = 5,
                     .held = {{first, first + 1, 5}},
                     .seconds = 1,
                     .error = 1,
                     .score = 0.9}}};
  };
  problem.activations = {activation("early", 0), activation("late", 2)};
  const auto solution = solve(problem, {.aim = Aim::peak_bytes, .second_aim = Aim::error});
  ASSERT_TRUE(solution.ok());
  EXPECT_EQ(solution->choice, (Choice{1, 0}));
  EXPECT_EQ(solution->evaluation.peak_bytes, 105);
}

TEST(Planner, RowsKeepEveryPeakOfEveryChoice) {
  for (std::uint32_t seed = 4000; seed < 4030; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = random_problem(seed, 4);
    std::vector<Candidate> candidates;
    for (std::size_t a = 0; a < problem.activations.size(); ++a) {
      for (std::size_t o = 0; o < problem.activations[a].options.size(); ++o) {
        candidates.push_back({a, o});
      }
    }
    const auto rows = memory_rows(problem, candidates);
    ASSERT_TRUE(rows.ok());
    EXPECT_LE(rows->size(), problem.positions.size());
    for_every_choice(problem, [&](const Choice& choice) {
      std::int64_t peak = 0;
      for (const MemoryRow& row : *rows) {
        std::int64_t bytes = row.base_bytes;
        for (const HeldBy& term : row.terms) {
          const Candidate& each = candidates[term.candidate];
          if (choice[each.activation] == each.option) bytes += term.bytes;
        }
        peak = std::max(peak, bytes);
      }
      EXPECT_EQ(peak, evaluate(problem, choice).peak_bytes);
    });
  }
}

/// Like ResNet-50 at batch 100 and larger: as many activations, each with a codec's levels, whose
/// sizes and errors differ from stage to stage but repeat within one.
Problem deep_network(std::size_t activations) {
  Problem problem;
  problem.positions.resize(2 * activations + 1);
  for (std::size_t t = 0; t < problem.positions.size(); ++t) {
    const std::size_t depth = std::min(t, problem.positions.size() - 1 - t);
    problem.positions[t] = {"p" + std::to_string(t),
                            200'000'000 + (t > activations ? 52'000'000 : 26'000'000) /
                                              static_cast<std::int64_t>(1 + depth / 40)};
  }
  for (std::size_t a = 0; a < activations; ++a) {
    const std::int64_t full = 26'214'400 >> std::min<std::size_t>(a / 40, 4);
    const std::size_t last = problem.positions.size() - 1 - a;
    Activation activation{.name = "a" + std::to_string(a),
                          .options = {{"keep", full, {{a, last, full}}, 0, 0, 1}}};
    const double sensitivity = 1 + static_cast<double>(a * 7919 % 13) / 4;
    for (const int bits : {8, 4, 2, 1}) {
      const std::int64_t packed = full * bits / 32 + full / 256;
      activation.options.push_back({.name = "quantize",
                                    .stored_bytes = packed,
                                    .held = {{a, last, packed}, {last, last, full}},
                                    .seconds = 2e-10 * static_cast<double>(full) * (1 + 0.1 * bits),
                                    .error = sensitivity * std::pow(4.0, -bits),
                                    .score = 1 / (1 + std::pow(4.0, -bits))});
    }
    activation.options.push_back({.name = "recompute",
                                  .held = {{last, last, full}},
                                  .seconds = 3e-9 * static_cast<double>(full)});
    if (a > 0) problem.conflicts.push_back({a, 5, a - 1, 5});
    problem.activations.push_back(std::move(activation));
  }
  return problem;
}

TEST(Planner, PlansAStepAsLongAsResNet50WithASmallGap) {
  const Problem problem = deep_network(160);
  const auto everything = evaluate(problem, Choice(160, 0)).peak_bytes;
  for (const Aim aim : {Aim::seconds, Aim::error}) {
    const auto solution = solve(problem, {.aim = aim,
                                          .limits = {.peak_bytes = everything / 4},
                                          .search = {.relative_gap = 5e-3, .nodes = 200}});
    ASSERT_TRUE(solution.ok());
    ASSERT_EQ(solution->outcome, Solution::Outcome::solved) << solution->reason;
    EXPECT_LE(solution->evaluation.peak_bytes, everything / 4);
    EXPECT_LT(solution->gap, 0.02);
  }
}

TEST(Planner, HostileProblemsAreRefusedByName) {
  Problem problem = random_problem(1);
  const auto message = [](const Problem& each) {
    const auto solution = solve(each, {});
    return solution.ok() ? std::string() : solution.error().message;
  };
  EXPECT_EQ(message(problem), "");
  EXPECT_NE(message({}).find("without positions"), std::string::npos);

  Problem worse = problem;
  worse.activations[0].options[0].held[0].bytes = std::numeric_limits<std::int64_t>::max();
  EXPECT_NE(message(worse).find("'keep' of activation 'a0'"), std::string::npos);
  worse = problem;
  worse.activations[0].options[0].held[0].bytes = -1;
  EXPECT_NE(message(worse).find("-1 bytes"), std::string::npos);
  worse = problem;
  worse.activations[0].options[0].held[0].last = problem.positions.size();
  EXPECT_NE(message(worse).find("positions 0..."), std::string::npos);
  worse = problem;
  worse.activations[0].options[0].seconds = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(message(worse).find("seconds nan"), std::string::npos);
  worse = problem;
  worse.activations[0].options.clear();
  EXPECT_NE(message(worse).find("no option"), std::string::npos);
  worse = problem;
  worse.conflicts.push_back({0, 99, 0, 0});
  EXPECT_NE(message(worse).find("do not both exist"), std::string::npos);
  worse = problem;
  worse.positions[0].base_bytes = std::numeric_limits<std::int64_t>::min();
  EXPECT_NE(message(worse).find("position 0"), std::string::npos);
  worse.positions.resize(2'000'000);
  EXPECT_NE(message(worse).find("too large to plan"), std::string::npos);
}

TEST(Planner, LimitsThatMakeNoSenseAreAnswered) {
  const Problem problem = random_problem(3);
  for (const std::int64_t limit :
       {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::int64_t{0}}) {
    const auto solution = solve(problem, {.limits = {.peak_bytes = limit}});
    ASSERT_TRUE(solution.ok());
    EXPECT_EQ(solution->outcome, Solution::Outcome::impossible);
  }
  const auto plenty =
      solve(problem, {.limits = {.peak_bytes = std::numeric_limits<std::int64_t>::max()}});
  ASSERT_TRUE(plenty.ok());
  EXPECT_EQ(plenty->outcome, Solution::Outcome::solved);
  EXPECT_FALSE(solve(problem, {.limits = {.lowest_score = 1.5}}).ok());
  EXPECT_FALSE(
      solve(problem, {.limits = {.mean_score = std::numeric_limits<double>::quiet_NaN()}}).ok());
}

TEST(Planner, AStepWithoutActivationsIsItsBase) {
  Problem problem;
  problem.positions = {{"only", 12}};
  const auto fits = solve(problem, {.limits = {.peak_bytes = 12}});
  ASSERT_TRUE(fits.ok());
  EXPECT_EQ(fits->outcome, Solution::Outcome::solved);
  const auto tight = solve(problem, {.limits = {.peak_bytes = 11}});
  ASSERT_TRUE(tight.ok());
  EXPECT_EQ(tight->outcome, Solution::Outcome::impossible);
  EXPECT_NE(tight->reason.find("12 bytes"), std::string::npos) << tight->reason;
}

}  // namespace
}  // namespace tensorpress::model::planner
