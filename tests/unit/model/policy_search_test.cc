// Plans of real model texts: beside brute force over lowered plans, at impossible budgets, and as
// files.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "base/text.h"
#include "model/memory/profile.h"
#include "model/planner/planned_file.h"
#include "model/planner/policy_search.h"
#include "model/policy/plan_file.h"
#include "model/policy/storing_cost.h"
#include "model/text/elaborate.h"

namespace tensorpress::model {
namespace {

constexpr const char* kText = R"(
model small
input x: f32[N, 3, 16, 16]
target y: i64[N]
h = conv1: conv2d(x, 8, 3, padding = 1)
h = relu(h)
h = conv2: conv2d(h, 8, 3, padding = 1)
h = relu(h)
h = conv3: conv2d(h, 8, 3, padding = 1)
h = relu(h)
h = conv4: conv2d(h, 16, 3, stride = 2, padding = 1)
h = relu(h)
h = fc: linear(flatten(h), 10)
loss cross_entropy(h, y)
)";

Graph small() {
  auto graph = elaborate(SourceText("small.tpm", kText));
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  return std::move(graph).value();
}

StepOptions batch(std::int64_t n) {
  StepOptions options;
  options.lowering.sizes = {{"N", n}};
  return options;
}

StepMemory memory_of(const Graph& graph, const Policy& policy, const StepOptions& options) {
  const auto program = lower(graph, policy, options.lowering);
  EXPECT_TRUE(program.ok());
  return step_memory(graph, *program, options);
}

constexpr double kLinkBytesPerSecond = 2e9;

/// The value alone offloaded, as the planner prices it beside others of the same plan.
double offload_seconds(const Graph& graph, const StepOptions& options, const HostLink& link,
                       const std::vector<ValueId>& values, ValueId wanted) {
  std::vector<Transfers> all;
  for (const ValueId id : values) {
    Policy policy = *named_policy("balanced");
    policy.by_name[graph.values[id].name].kind = Storing::Kind::offload;
    const auto program = lower(graph, policy, options.lowering);
    EXPECT_TRUE(program.ok());
    all.push_back({id, program->fetches});
  }
  const OffloadTimes times(graph, options.lowering.sizes, link, all);
  return times.seconds(*std::ranges::find(all, wanted, &Transfers::value));
}

/// What any assignment of levels to the lossy activations reaches, lowered one by one.
struct Reached {
  std::int64_t peak = std::numeric_limits<std::int64_t>::max();
  std::int64_t saved = std::numeric_limits<std::int64_t>::max();
  double seconds_within = std::numeric_limits<double>::infinity();
};

Reached try_everything(const Graph& graph, const StepOptions& options, std::int64_t limit,
                       bool offload = false) {
  std::vector<Storing> levels = storing_levels();
  levels.insert(levels.begin(), Storing());
  if (offload) levels.emplace_back().kind = Storing::Kind::offload;
  std::vector<ValueId> values;
  const auto balanced = named_policy("balanced");
  const auto stashes = decide(graph, *balanced, options.lowering.sizes);
  for (ValueId id = 0; id < stashes->size(); ++id) {
    if ((*stashes)[id].values && (*stashes)[id].how.kind != Storing::Kind::keep) {
      values.push_back(id);
    }
  }
  EXPECT_EQ(values.size(), 4U);  // x is the caller's
  std::map<ValueId, double> transfers;
  for (const ValueId id : values) {
    transfers[id] =
        offload_seconds(graph, options, {.bytes_per_second = kLinkBytesPerSecond}, values, id);
  }
  Reached reached;
  std::size_t count = 1;
  for (std::size_t i = 0; i < values.size(); ++i) count *= levels.size();
  for (std::size_t number = 0; number < count; ++number) {
    Policy policy = *balanced;
    double seconds = 0;
    std::size_t rest = number;
    for (const ValueId id : values) {
      const Storing& storing = levels[rest % levels.size()];
      rest /= levels.size();
      policy.by_name[graph.values[id].name] = storing;
      seconds +=
          storing.kind == Storing::Kind::offload
              ? transfers[id]
              : storing_cost(storing, bytes(graph.values[id].type, options.lowering.sizes), {})
                    .seconds;
    }
    const StepMemory memory = memory_of(graph, policy, options);
    reached.peak = std::min(reached.peak, memory.peak_bytes());
    reached.saved = std::min(reached.saved, memory.saved_bytes);
    if (memory.peak_bytes() <= limit) {
      reached.seconds_within = std::min(reached.seconds_within, seconds);
    }
  }
  return reached;
}

TEST(PolicySearch, IsTheQuickestOfAllLoweredPlansWithinThePeak) {
  const Graph graph = small();
  const StepOptions options = batch(50);
  const std::int64_t lossless = memory_of(graph, *named_policy("lossless"), options).peak_bytes();
  const std::int64_t smallest = try_everything(graph, options, 0).peak;
  ASSERT_LT(smallest, lossless);
  for (const double share : {0.0, 0.3, 0.6, 0.9}) {
    const std::int64_t limit =
        smallest + static_cast<std::int64_t>(share * static_cast<double>(lossless - smallest));
    const auto planned = plan_step(graph, options, {.peak_bytes = limit}, {});
    ASSERT_TRUE(planned.ok()) << planned.error().message;
    EXPECT_LE(planned->memory.peak_bytes(), limit);
    EXPECT_EQ(planned->memory.peak_bytes(),
              memory_of(graph, planned->policy, options).peak_bytes());
    EXPECT_DOUBLE_EQ(planned->added_seconds, try_everything(graph, options, limit).seconds_within);
  }
}

TEST(PolicySearch, WithOffloadingIsTheQuickestOfAllLoweredPlansWithinThePeak) {
  const Graph graph = small();
  const StepOptions options = batch(50);
  const std::int64_t lossless = memory_of(graph, *named_policy("lossless"), options).peak_bytes();
  const std::int64_t smallest = try_everything(graph, options, 0, true).peak;
  bool offloaded = false;
  for (const double share : {0.0, 0.3, 0.6, 0.9}) {
    const std::int64_t limit =
        smallest + static_cast<std::int64_t>(share * static_cast<double>(lossless - smallest));
    const auto planned = plan_step(
        graph, options,
        {.peak_bytes = limit, .offload = HostLink{.bytes_per_second = kLinkBytesPerSecond}}, {});
    ASSERT_TRUE(planned.ok()) << planned.error().message;
    EXPECT_LE(planned->memory.peak_bytes(), limit);
    EXPECT_DOUBLE_EQ(planned->added_seconds,
                     try_everything(graph, options, limit, true).seconds_within);
    offloaded = offloaded || planned->offloaded_bytes > 0;
  }
  EXPECT_TRUE(offloaded);
}

TEST(PolicySearch, OffloadedValuesLeaveTheDeviceBetweenThePassesAndComeBackOneProductAhead) {
  const Graph graph = small();
  const StepOptions options = batch(50);
  Policy policy = *named_policy("lossless");
  policy.by_name["relu"].kind = Storing::Kind::offload;
  const auto program = lower(graph, policy, options.lowering);
  ASSERT_TRUE(program.ok());
  ASSERT_EQ(program->fetches.size(), 1U);
  EXPECT_EQ(graph.nodes[program->fetches[0].during].name, "conv3");  // conv2's backward reads it
  const StepMemory here = memory_of(graph, *named_policy("lossless"), options);
  const StepMemory away = step_memory(graph, *program, options);
  // Its sign bits stay, one for each of the values.
  const std::int64_t values = 50 * 8 * 16 * 16;
  EXPECT_EQ(here.saved_bytes - away.saved_bytes, 4 * values - values / 8);
}

TEST(PolicySearch, AFastLinkIsFreeAndASlowOneTakesBytesTwice) {
  const Graph graph = small();
  const Sizes sizes = {{"N", 50}};
  const auto value = std::ranges::find(graph.values, "relu", &Value::name);
  ASSERT_NE(value, graph.values.end());
  const auto id = static_cast<ValueId>(value - graph.values.begin());
  const auto conv3 = std::ranges::find(graph.nodes, "conv3", &Node::name);
  const Transfers relu{id, {{"relu", static_cast<NodeId>(conv3 - graph.nodes.begin())}}};
  const double size = 50 * 8 * 16 * 16 * 4;
  const HostLink fast{.bytes_per_second = 1e15};
  EXPECT_EQ(OffloadTimes(graph, sizes, fast, {relu}).seconds(relu), 0);
  // conv2 hides what leaves, conv3 what comes back, of as many flops; backward takes twice them.
  const double computing = 2.0 * 50 * 8 * 16 * 16 * 8 * 9 / fast.flops_per_second;
  const HostLink slow{.bytes_per_second = size};
  EXPECT_DOUBLE_EQ(OffloadTimes(graph, sizes, slow, {relu}).seconds(relu), 2 - 3 * computing);
  // Two that share both products have half of each.
  EXPECT_DOUBLE_EQ(OffloadTimes(graph, sizes, slow, {relu, relu}).seconds(relu),
                   2 - 1.5 * computing);
}

TEST(PolicySearch, OneBitIsChosenOnlyWhereItIsAllowed) {
  const Graph graph = small();
  const double two =
      static_cast<double>(memory_of(graph, policy_off(), batch(50)).saved_bytes) /
      static_cast<double>(memory_of(graph, *named_policy("max"), batch(50)).saved_bytes);
  EXPECT_FALSE(plan_step(graph, batch(50), {.ratio = 1.1 * two}, {}).ok());
  const auto planned = plan_step(graph, batch(50), {.ratio = 1.1 * two, .fewest_bits = 1}, {});
  ASSERT_TRUE(planned.ok()) << planned.error().message;
  EXPECT_TRUE(std::ranges::any_of(planned->choices,
                                  [](const Choice& each) { return each.storing.bits == 1; }));
  EXPECT_LT(planned->lowest_score, 0.3);
}

TEST(PolicySearch, ImpossibleBudgetsSayTheSmallestThatAnyPlanReaches) {
  const Graph graph = small();
  const StepOptions options = batch(50);
  const Reached reached = try_everything(graph, options, 0);
  const auto planned = plan_step(graph, options, {.peak_bytes = reached.peak - 1}, {});
  ASSERT_FALSE(planned.ok());
  EXPECT_EQ(planned.error().code, ErrorCode::bad_argument);
  EXPECT_NE(planned.error().message.find(text("(", reached.peak, " bytes)")), std::string::npos)
      << planned.error().message;
  EXPECT_NE(planned.error().message.find("backward of"), std::string::npos);

  const double plain = static_cast<double>(memory_of(graph, policy_off(), options).saved_bytes);
  const double best = plain / static_cast<double>(reached.saved);
  EXPECT_TRUE(plan_step(graph, options, {.ratio = best * 0.999}, {}).ok());
  const auto more = plan_step(graph, options, {.ratio = best * 1.01}, {});
  ASSERT_FALSE(more.ok());
  EXPECT_NE(more.error().message.find(rounded(best, 4)), std::string::npos) << more.error().message;
}

TEST(PolicySearch, EnoughMemoryNeedsNoCodec) {
  const auto planned = plan_step(small(), batch(50), {.peak_bytes = std::int64_t{1} << 40}, {});
  ASSERT_TRUE(planned.ok());
  EXPECT_TRUE(planned->choices.empty());
  EXPECT_EQ(planned->policy.name, "lossless");
}

TEST(PolicySearch, MeasuredScoresDecide) {
  const Graph graph = small();
  const Budget budget{.min_score = 0.9};
  const auto before = plan_step(graph, batch(50), budget, {});
  ASSERT_TRUE(before.ok());
  ASSERT_FALSE(before->choices.empty());
  // Whatever was packed is now said to be ruined by it.
  Statistics statistics;
  for (const Choice& each : before->choices) {
    for (const Storing& level : storing_levels()) {
      statistics[each.name].scores[to_text(level)] = 0.1;
    }
  }
  const auto after = plan_step(graph, batch(50), budget, statistics);
  ASSERT_TRUE(after.ok());
  for (const Choice& each : after->choices) EXPECT_EQ(each.storing.kind, Storing::Kind::keep);
  EXPECT_GE(after->lowest_score, 0.9);
}

TEST(PolicySearch, HalfTheBitsAreNeverBetterWhateverABatchSays) {
  const Graph graph = small();
  const auto before = plan_step(graph, batch(50), {.ratio = 6, .aim = planner::Aim::error}, {});
  ASSERT_TRUE(before.ok()) << before.error().message;
  Statistics statistics;
  for (const Choice& each : before->choices) {
    statistics[each.name].scores = {{"quantize 8 bits", 0.9999},
                                    {"quantize 4 bits", 0.98},
                                    {"quantize 2 bits stochastic", 0.99}};
  }
  const auto after =
      plan_step(graph, batch(50), {.ratio = 6, .aim = planner::Aim::error}, statistics);
  ASSERT_TRUE(after.ok()) << after.error().message;
  int with_four_or_more = 0;
  for (const Choice& each : after->choices) {
    if (each.storing.kind == Storing::Kind::quantize && each.storing.bits >= 4) ++with_four_or_more;
    if (each.storing == quantize_level(2)) {
      EXPECT_LT(each.score, 0.98);
    }
  }
  EXPECT_GT(with_four_or_more, 0);
}

TEST(PolicySearch, BitsGoWhereMeasuredErrorsAreLarge) {
  const Graph graph = small();
  const Budget budget{.ratio = 5, .aim = planner::Aim::error};
  const auto before = plan_step(graph, batch(50), budget, {});
  ASSERT_TRUE(before.ok()) << before.error().message;
  ASSERT_GT(before->choices.size(), 1U);
  // One activation does all the harm: its errors are a thousand times the others'.
  const std::string& harmful = before->choices.front().name;
  Statistics statistics;
  for (const Choice& each : before->choices) {
    const double times = each.name == harmful ? 1 : 1e-3;
    statistics[each.name].errors = {{"quantize 8 bits", times * 4e-5},
                                    {"quantize 4 bits", times * 1e-2},
                                    {"quantize 2 bits stochastic", times * 0.5}};
  }
  const auto after = plan_step(graph, batch(50), budget, statistics);
  ASSERT_TRUE(after.ok()) << after.error().message;
  int most = 0, of_harmful = 0;
  for (const Choice& each : after->choices) {
    const int bits = each.storing.kind == Storing::Kind::quantize ? each.storing.bits : 32;
    (each.name == harmful ? of_harmful : most) =
        std::max(each.name == harmful ? of_harmful : most, bits);
  }
  EXPECT_GT(of_harmful, most);
}

TEST(PolicySearch, SenselessBudgetsAreRefused) {
  const Graph graph = small();
  for (const double ratio : {0.0, -3.0, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(plan_step(graph, batch(50), {.ratio = ratio}, {}).ok()) << ratio;
  }
  EXPECT_FALSE(plan_step(graph, batch(50), {.peak_bytes = -5}, {}).ok());
  EXPECT_FALSE(plan_step(graph, batch(50), {.min_score = 1.5}, {}).ok());
}

TEST(PlanFile, ComesBackAsItWasPlanned) {
  const Graph graph = small();
  const StepOptions options = batch(50);
  const auto planned = plan_step(graph, options, {.ratio = 6}, {});
  ASSERT_TRUE(planned.ok()) << planned.error().message;
  const auto read = parse_plan(plan_to_json(*planned, graph.name, options), graph.name);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->by_name, planned->policy.by_name);
  EXPECT_EQ(memory_of(graph, *read, options).peak_bytes(), planned->memory.peak_bytes());
  const auto other = parse_plan(plan_to_json(*planned, graph.name, options), "resnet18");
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("made for model 'small'"), std::string::npos);
}

TEST(PlanFile, DeeplyNestedJsonIsAnError) {
  EXPECT_FALSE(parse_plan(std::string(100'000, '['), "small").ok());
  EXPECT_FALSE(parse_plan("{\"by_name\":" + std::string(100'000, '['), "small").ok());
}

TEST(PlanFile, StatisticsOutsideOfTheirRangeAreRefused) {
  EXPECT_TRUE(
      statistics_from_json(
          R"({"activations": {"a": {"zeros": 0.5, "scores": {"quantize 4 bits": 1}}}})", "s.json")
          .ok());
  EXPECT_FALSE(statistics_from_json(R"({"activations": {"a": {"zeros": 1.5}}})", "s.json").ok());
  EXPECT_FALSE(statistics_from_json(R"({"activations": {"a": {"zeros": "x"}}})", "s.json").ok());
  EXPECT_FALSE(statistics_from_json(R"({"activations": 1})", "s.json").ok());
  EXPECT_FALSE(statistics_from_json(R"({})", "s.json").ok());
}

TEST(StepMemory, TheTimelineHasEveryByteOfThePeakLine) {
  const Graph graph = small();
  const StepOptions options = batch(50);
  for (const char* name : {"off", "lossless", "balanced", "max"}) {
    const auto program = lower(graph, *named_policy(name), options.lowering);
    ASSERT_TRUE(program.ok());
    std::int64_t most = 0;
    for (const Moment& moment : program->moments()) most = std::max(most, moment.total);
    std::int64_t parameters = parameter_bytes(graph);
    for (const ValueId id : graph.parameters) parameters += bytes(graph.values[id].type, {});
    EXPECT_EQ(step_memory(graph, *program, options).peak_bytes(), most + parameters) << name;
  }
}

TEST(Profile, ListsWhatWaitsAndForWhom) {
  const Graph graph = small();
  const auto profile = profile_step(graph, *named_policy("balanced"), batch(50), {});
  ASSERT_TRUE(profile.ok());
  const auto row = std::ranges::find(profile->activations, "relu", &ProfiledActivation::name);
  ASSERT_NE(row, profile->activations.end());
  EXPECT_EQ(row->op, "relu");
  EXPECT_EQ(row->needed_by, "relu, conv2");
  EXPECT_EQ(row->bytes, 50 * 8 * 16 * 16 * 4);
  // 4 bits a value, 4 bytes for each group of 256, and 1 bit for each sign.
  EXPECT_EQ(row->stored_bytes, 50 * 8 * 256 / 2 + 50 * 8 * 4 + 50 * 8 * 256 / 8);
}

}  // namespace
}  // namespace tensorpress::model
