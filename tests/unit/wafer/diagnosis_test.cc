// What is said of layouts that cannot be and of programs that wait forever.
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <stdexcept>

#include "tensorpress/wafer/wafer.h"

namespace tensorpress::wafer {
namespace {

class Idle final : public PeProgram {
 public:
  void start(Pe&) override {}
};

class Receiver final : public PeProgram {
 public:
  explicit Receiver(Color color, std::size_t words) : color_(color), words_(words) {}
  void start(Pe& pe) override { pe.receive(color_, words_, kNoTask); }

 private:
  Color color_;
  std::vector<std::uint32_t> words_;
};

class Sender final : public PeProgram {
 public:
  explicit Sender(Color color, std::size_t words) : color_(color), words_(words) {}
  void start(Pe& pe) override { pe.send(color_, std::span<const std::uint32_t>(words_)); }

 private:
  Color color_;
  std::vector<std::uint32_t> words_;
};

class Glutton final : public PeProgram {
 public:
  std::vector<MemoryItem> memory() const override { return {{"code", 2048}, {"table", 48000}}; }
  void start(Pe&) override {}
};

class Restless final : public PeProgram {
 public:
  void start(Pe& pe) override { pe.activate(0); }
  void on_task(Pe& pe, Task) override { pe.activate(0); }
};

enum class Throws { at_start, later, for_memory, no_exception };

class Thrower final : public PeProgram {
 public:
  explicit Thrower(Throws when) : when_(when) {}
  void start(Pe& pe) override {
    if (when_ == Throws::at_start) throw std::runtime_error("thrown at the start");
    pe.activate(0);
  }
  void on_task(Pe&, Task) override {
    if (when_ == Throws::for_memory) throw std::bad_alloc();
    if (when_ == Throws::no_exception) throw 7;
    throw std::runtime_error("thrown in a task");
  }

 private:
  Throws when_;
};

void expect_says(const std::string& message, std::initializer_list<const char*> words) {
  for (const char* const word : words) {
    EXPECT_NE(message.find(word), std::string::npos) << word << " in: " << message;
  }
}

template <class T>
std::string refusal(const Result<T>& result) {
  EXPECT_FALSE(result.ok());
  return result.ok() ? "" : result.error().message;
}

const Route kEast = Route::fixed({Port::ramp}, {Port::east});
const Route kIn = Route::fixed({Port::west}, {Port::ramp});

TEST(WaferDiagnosis, MeshesMustFitTheWafer) {
  expect_says(refusal(Layout::make(0, 5)), {"0x5", "757x996"});
  expect_says(refusal(Layout::make(5, 0)), {"5x0"});
  expect_says(refusal(Layout::make(758, 1)), {"758x1"});
  expect_says(refusal(Layout::make(1, std::uint64_t{1} << 40)), {"757x996"});
  EXPECT_TRUE(Layout::make(757, 996).ok());
}

TEST(WaferDiagnosis, TheTwentyFifthColorIsRefusedWithTheNamesOfTheOthers) {
  auto layout = Layout::make(1, 1);
  for (int i = 0; i < 24; ++i) ASSERT_TRUE(layout->new_color("c" + std::to_string(i)).ok());
  expect_says(refusal(layout->new_color("one more")), {"one more", "24", "c0", "c23"});
}

TEST(WaferDiagnosis, APeOutOfSramSaysWhatTakesHowMuchAndWhere) {
  auto layout = Layout::make(4, 4);
  expect_says(refusal(layout->place({3, 1}, std::make_unique<Glutton>())),
              {"PE (3, 1)", "50048", "896 more", "49152", "table 48000", "code 2048"});
}

TEST(WaferDiagnosis, RoutesThatCannotBeAreRefused) {
  auto layout = Layout::make(2, 2);
  expect_says(refusal(layout->route({2, 0}, 0, kEast)), {"PE (2, 0)", "2x2"});
  expect_says(refusal(layout->route({0, 0}, 24, kEast)), {"color 24"});
  expect_says(refusal(layout->route({0, 0}, 0, Route{})), {"0 switch positions"});
  expect_says(refusal(layout->route({0, 0}, 0, Route::fixed({Port::ramp}, {}))),
              {"without a port"});
  expect_says(refusal(layout->route({0, 0}, 0, Route::fixed({Port::west}, {Port::west}))),
              {"back"});
  EXPECT_TRUE(layout->route({0, 0}, 0, kEast).ok());
  EXPECT_TRUE(layout->route({0, 0}, 0, kEast).ok());  // the same again is no conflict
  expect_says(refusal(layout->route({0, 0}, 0, kIn)), {"PE (0, 0)", "already"});
}

TEST(WaferDiagnosis, ARoutingConflictNamesBothRouters) {
  auto layout = Layout::make(3, 1);
  ASSERT_TRUE(layout->route({0, 0}, 5, kEast).ok());
  ASSERT_TRUE(layout->route({1, 0}, 5, Route::fixed({Port::east}, {Port::ramp})).ok());
  ASSERT_TRUE(layout->place({1, 0}, std::make_unique<Idle>()).ok());
  expect_says(refusal(run(*layout)),
              {"routing conflict", "color 5", "PE (0, 0)", "PE (1, 0)", "west"});
}

TEST(WaferDiagnosis, AColorThatLeavesTheMeshMustBeAnEdgeOutput) {
  auto layout = Layout::make(1, 1);
  ASSERT_TRUE(layout->route({0, 0}, 5, kEast).ok());
  expect_says(refusal(run(*layout)), {"leaves the mesh", "east", "edge_output"});
}

TEST(WaferDiagnosis, AColorMustNotRunInACircle) {
  auto layout = Layout::make(2, 2);
  ASSERT_TRUE(layout->route({0, 0}, 1, Route::fixed({Port::south, Port::ramp}, {Port::east})).ok());
  ASSERT_TRUE(layout->route({1, 0}, 1, Route::fixed({Port::west}, {Port::south})).ok());
  ASSERT_TRUE(layout->route({1, 1}, 1, Route::fixed({Port::north}, {Port::west})).ok());
  ASSERT_TRUE(layout->route({0, 1}, 1, Route::fixed({Port::east}, {Port::north})).ok());
  expect_says(refusal(run(*layout)), {"circle", "color 1"});
}

TEST(WaferDiagnosis, APeThatWaitsForWordsThatNobodySendsIsADeadlock) {
  for (const std::size_t threads : {1u, 2u}) {
    auto layout = Layout::make(3, 2);
    const Color color = *layout->new_color("sums");
    ASSERT_TRUE(layout->route({0, 1}, color, kEast).ok());
    ASSERT_TRUE(layout->route({1, 1}, color, kIn).ok());
    ASSERT_TRUE(layout->place({0, 1}, std::make_unique<Sender>(color, 3)).ok());
    ASSERT_TRUE(layout->place({1, 1}, std::make_unique<Receiver>(color, 5)).ok());
    expect_says(refusal(run(*layout, {.threads = threads})),
                {"deadlock", "PE (1, 1)", "2 more words", "sums"});
  }
}

TEST(WaferDiagnosis, WordsThatNobodyTakesAreADeadlockAllTheWayBack) {
  auto layout = Layout::make(2, 1);
  const Color color = *layout->new_color("flood");
  ASSERT_TRUE(layout->route({0, 0}, color, kEast).ok());
  ASSERT_TRUE(layout->route({1, 0}, color, kIn).ok());
  ASSERT_TRUE(layout->place({0, 0}, std::make_unique<Sender>(color, 500)).ok());
  ASSERT_TRUE(layout->place({1, 0}, std::make_unique<Idle>()).ok());
  expect_says(refusal(run(*layout)), {"deadlock", "PE (1, 0)", "PE (0, 0)", "flood"});
}

TEST(WaferDiagnosis, ASwitchThatNeverMovesIsADeadlock) {
  auto layout = Layout::make(3, 1);
  const Color color = *layout->new_color("turns");
  ASSERT_TRUE(layout->route({0, 0}, color, kEast).ok());
  ASSERT_TRUE(layout
                  ->route({1, 0}, color,
                          {{{{Port::ramp}, {Port::east}}, {{Port::west}, {Port::east}}}, false})
                  .ok());
  ASSERT_TRUE(layout->route({2, 0}, color, kIn).ok());
  ASSERT_TRUE(layout->place({0, 0}, std::make_unique<Sender>(color, 2)).ok());
  ASSERT_TRUE(layout->place({1, 0}, std::make_unique<Sender>(color, 2)).ok());  // without advance
  ASSERT_TRUE(layout->place({2, 0}, std::make_unique<Receiver>(color, 4)).ok());
  expect_says(refusal(run(*layout)), {"deadlock", "router of PE (1, 0)", "from the west"});
}

TEST(WaferDiagnosis, AProgramThatNeverEndsIsStopped) {
  auto layout = Layout::make(1, 1);
  ASSERT_TRUE(layout->place({0, 0}, std::make_unique<Restless>()).ok());
  expect_says(refusal(run(*layout, {.max_cycles = 100000})), {"still running", "100000"});
}

/// What a run says of a program that throws in row `y` of four while other rows are busy. Every
/// cycle is shared among the threads if `shared`, none otherwise.
Error outcome_of_throwing(Throws when, std::uint32_t y, std::size_t threads, bool shared) {
  auto layout = Layout::make(2, 4);
  for (std::uint32_t row = 0; row < 4; ++row) {
    EXPECT_TRUE(layout->place({0, row}, std::make_unique<Restless>()).ok());
  }
  EXPECT_TRUE(layout->place({1, y}, std::make_unique<Thrower>(when)).ok());
  const auto done = run(
      *layout,
      {.threads = threads, .shared_from = shared ? 0 : ~std::uint32_t{0}, .max_cycles = 100000});
  EXPECT_FALSE(done.ok());
  return done.ok() ? Error{} : done.error();
}

TEST(WaferDiagnosis, AProgramThatThrowsEndsTheRunWithAnErrorOnWhateverThread) {
  for (const std::size_t threads : {1u, 2u}) {
    for (const std::uint32_t row : {0u, 3u}) {
      for (const bool shared : {false, true}) {
        const Error start = outcome_of_throwing(Throws::at_start, row, threads, shared);
        EXPECT_EQ(start.code, ErrorCode::bad_argument);
        expect_says(start.message, {"a program threw", "thrown at the start"});
        expect_says(outcome_of_throwing(Throws::later, row, threads, shared).message,
                    {"a program threw", "thrown in a task"});
        expect_says(outcome_of_throwing(Throws::no_exception, row, threads, shared).message,
                    {"a program threw", "not a std::exception"});
      }
    }
  }
}

TEST(WaferDiagnosis, MemoryThatRunsOutInARunIsAnErrorOnWhateverThread) {
  for (const std::uint32_t row : {0u, 3u}) {
    for (const bool shared : {false, true}) {
      const Error error = outcome_of_throwing(Throws::for_memory, row, 2, shared);
      EXPECT_EQ(error.code, ErrorCode::too_large);
      expect_says(error.message, {"memory ran out", "2x4"});
    }
  }
}

TEST(WaferDiagnosis, OfSeveralProgramsThatThrowTheFirstRowsIsTold) {
  for (const std::size_t threads : {1u, 2u}) {
    auto layout = Layout::make(1, 4);
    ASSERT_TRUE(layout->place({0, 0}, std::make_unique<Thrower>(Throws::later)).ok());
    ASSERT_TRUE(layout->place({0, 3}, std::make_unique<Thrower>(Throws::for_memory)).ok());
    expect_says(refusal(run(*layout, {.threads = threads, .shared_from = 0})),
                {"thrown in a task"});
  }
}

TEST(WaferDiagnosis, SendingAColorWithoutARouteFails) {
  auto layout = Layout::make(2, 1);
  ASSERT_TRUE(layout->route({0, 0}, 3, kEast).ok());
  ASSERT_TRUE(layout->route({1, 0}, 3, kIn).ok());
  ASSERT_TRUE(layout->place({1, 0}, std::make_unique<Sender>(Color{3}, 1)).ok());
  EXPECT_FALSE(run(*layout).ok());
  auto other = Layout::make(1, 1);
  ASSERT_TRUE(other->place({0, 0}, std::make_unique<Sender>(Color{9}, 1)).ok());
  expect_says(refusal(run(*other)), {"PE (0, 0)", "color 9", "no route"});
}

}  // namespace
}  // namespace tensorpress::wafer
