#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/cpu.h"

namespace tensorpress {
namespace {

// Sets TENSORPRESS_MAX_ISA for one test and puts back what was there.
class MaxIsa {
 public:
  explicit MaxIsa(const char* value) {
    if (const char* const old = std::getenv(kName)) old_ = old;
    value == nullptr ? unsetenv(kName) : setenv(kName, value, 1);
  }
  ~MaxIsa() { old_.empty() ? unsetenv(kName) : setenv(kName, old_.c_str(), 1); }
  MaxIsa(const MaxIsa&) = delete;
  MaxIsa& operator=(const MaxIsa&) = delete;

 private:
  static constexpr const char* kName = "TENSORPRESS_MAX_ISA";
  std::string old_;
};

TEST(Cpu, NamesAreReadBack) {
  for (const Isa isa : {Isa::scalar, Isa::neon, Isa::sse4, Isa::avx2, Isa::avx512}) {
    EXPECT_EQ(parse_isa(name_of(isa)).value(), isa);
  }
  EXPECT_EQ(name_of(Isa::avx512), "avx512");
}

TEST(Cpu, UnknownNamesAreRefusedWithTheKnownOnes) {
  for (const char* name : {"", "AVX2", "avx", "avx1024"}) {
    const auto isa = parse_isa(name);
    ASSERT_FALSE(isa.ok()) << name;
    EXPECT_EQ(isa.error().message,
              "'" + std::string(name) +
                  "' is not an instruction set; use scalar, sse4, avx2, avx512 or neon");
  }
}

TEST(Cpu, ScalarIsAlwaysUsableAndFirst) {
  const auto usable = usable_isas();
  ASSERT_FALSE(usable.empty());
  EXPECT_EQ(usable.front(), Isa::scalar);
  EXPECT_EQ(usable.back(), detected_isa());
  EXPECT_TRUE(std::is_sorted(usable.begin(), usable.end()));
}

TEST(Cpu, WithoutACapTheBestIsActive) {
  for (const char* value : {static_cast<const char*>(nullptr), ""}) {
    const MaxIsa cap(value);
    EXPECT_EQ(active_isa().value(), detected_isa());
  }
}

TEST(Cpu, EveryUsableIsaCanBeTheCap) {
  for (const Isa isa : usable_isas()) {
    const MaxIsa cap(std::string(name_of(isa)).c_str());
    EXPECT_EQ(active_isa().value(), isa);
  }
}

TEST(Cpu, ACapBeyondTheCpuIsNoPromise) {
  const MaxIsa cap("avx512");
  EXPECT_EQ(active_isa().value(), detected_isa());
}

TEST(Cpu, AnUnknownCapIsAnErrorThatNamesTheVariable) {
  const MaxIsa cap("fastest");
  const auto isa = active_isa();
  ASSERT_FALSE(isa.ok());
  EXPECT_EQ(isa.error().code, ErrorCode::bad_argument);
  EXPECT_NE(isa.error().message.find("TENSORPRESS_MAX_ISA: 'fastest'"), std::string::npos)
      << isa.error().message;
}

}  // namespace
}  // namespace tensorpress
