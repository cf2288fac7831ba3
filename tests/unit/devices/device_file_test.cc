// Device files: the ones that ship, one that a user writes, and ones that cannot be machines.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/near_names.h"
#include "devices/check.h"
#include "devices/description/device.h"

namespace tensorpress::devices {
namespace {

constexpr const char* kMadeUp = R"(
name = "toy"
title = "A machine that nobody builds"
architecture = "MIMD"

[compute]
units = 4
clock_hz = 1e9
f32_flops = 1e12

[on_chip]
bytes = 1_048_576

[host_link]
to_device_bytes_per_second = { value = 1e9, origin = "fitted", source = "a stopwatch" }
from_device_bytes_per_second = 2e9

[formats]
types = ["float32"]

[stacks.pytorch]
groups = ["product", "layout"]
without = ["einsum"]
operators = ["relu"]

[placement]
tensors = "on-chip"

[run]
launch_seconds = 1e-3
)";

std::string made_up_with(const std::string& from, const std::string& to) {
  std::string text = kMadeUp;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string message_of(const std::string& text) {
  const auto device = parse_device(text, "toy.toml");
  EXPECT_FALSE(device.ok()) << text;
  if (device.ok()) return "";
  EXPECT_EQ(device.error().code, ErrorCode::bad_argument);
  return device.error().message;
}

TEST(DeviceFile, TheFiveMachinesOfThePapersShip) {
  EXPECT_EQ(builtin_names(), (std::vector<std::string>{"a100", "cs2", "groqchip", "ipu", "sn30"}));
}

TEST(DeviceFile, EveryNumberThatShipsHasASource) {
  for (const std::string& name : builtin_names()) {
    const auto device = builtin_device(name);
    ASSERT_TRUE(device.ok()) << device.error().message;
    EXPECT_EQ(device->name, name);
    for (const Described& each : describe(*device)) {
      EXPECT_FALSE(each.fact.source.empty()) << name << " " << each.key;
    }
    for (const auto& [stack, operators] : device->stacks) {
      EXPECT_FALSE(operators.source.empty()) << name << " " << stack;
    }
  }
}

TEST(DeviceFile, AtMostTwoConstantsOfADeviceAreFittedOnThroughputs) {
  for (const std::string& name : builtin_names()) {
    const auto device = builtin_device(name);
    ASSERT_TRUE(device.ok());
    std::vector<double> fitted;
    for (const Described& each : describe(*device)) {
      const bool on_throughput = each.fact.origin == Origin::fitted &&
                                 each.fact.source.find("slow-down") == std::string::npos &&
                                 each.fact.source.find("faster'") == std::string::npos &&
                                 each.key != "off_chip.bytes_per_second";
      if (on_throughput && std::ranges::find(fitted, each.fact.value) == fitted.end()) {
        fitted.push_back(each.fact.value);
      }
    }
    EXPECT_LE(fitted.size(), name == "ipu" ? 1U : 2U) << name;
  }
}

TEST(DeviceFile, AMachineIsAddedByOneFileOnly) {
  const auto device = parse_device(kMadeUp, "toy.toml");
  ASSERT_TRUE(device.ok()) << device.error().message;
  EXPECT_EQ(device->units->value, 4);
  EXPECT_EQ(device->to_device->origin, Origin::fitted);
  EXPECT_EQ(device->to_device->source, "a stopwatch");
  EXPECT_EQ(device->from_device->origin, Origin::fact);
  EXPECT_TRUE(device->stacks.at("pytorch").has("matmul"));
  EXPECT_TRUE(device->stacks.at("pytorch").has("relu"));
  EXPECT_FALSE(device->stacks.at("pytorch").has("einsum"));
  // 2 x 1 x 256 x 256 float32 are 512 KiB, and half as much again is alive at CF 4.
  ChopTask task{.shape = {2, 1, 256, 256}};
  EXPECT_TRUE(check(*device, task)->fits());
  task.shape[0] = 6;
  const auto outcome = check(*device, task);
  EXPECT_FALSE(outcome->fits());
  EXPECT_NE(outcome->way_out.find("a batch of 2 fits"), std::string::npos) << outcome->way_out;
}

TEST(DeviceFile, ImpossibleMachinesAreRefusedWithTheirLine) {
  EXPECT_EQ(message_of(made_up_with("units = 4", "units = 0")),
            "toy.toml:7: 'compute.units' (compute units) is 0; it must be greater than 0");
  EXPECT_EQ(message_of(made_up_with("units = 4", "units = 1.5")),
            "toy.toml:7: 'compute.units' (compute units) is 1.5; it must be a whole number");
  EXPECT_EQ(
      message_of(made_up_with("from_device_bytes_per_second = 2e9",
                              "from_device_bytes_per_second = -2e9")),
      "toy.toml:16: 'host_link.from_device_bytes_per_second' (reached by programs) is -2e+09; "
      "it must be greater than 0");
  EXPECT_EQ(message_of(made_up_with("clock_hz = 1e9", "clock_hz = inf")),
            "toy.toml:8: 'compute.clock_hz' (clock) is inf; it must be greater than 0");
  EXPECT_EQ(message_of(made_up_with("clock_hz = 1e9", "clock_hz = nan")),
            "toy.toml:8: 'compute.clock_hz' (clock) is nan; it must be greater than 0");
  EXPECT_NE(message_of(made_up_with("bytes = 1_048_576", "bytes = 1000\nunit_bytes = 2000"))
                .find("toy.toml:13: one memory unit (2000 bytes) is larger"),
            std::string::npos);
  EXPECT_NE(
      message_of(made_up_with("bytes = 1_048_576", "bytes = 1000\nunits = 2\nunit_bytes = 100"))
          .find("2 units of 100 bytes are 200 bytes"),
      std::string::npos);
  EXPECT_NE(message_of(made_up_with("[host_link]", "[host_link]\npeak_bytes_per_second = 1e3"))
                .find("more than the wire's peak of 1000"),
            std::string::npos);
}

TEST(DeviceFile, MisspelledKeysAreNamedWithTheNearestRightOne) {
  EXPECT_NE(message_of(made_up_with("launch_seconds = 1e-3", "launch_second = 1e-3"))
                .find("toy.toml:30: unknown key 'launch_second' in [run] (did you mean "
                      "'launch_seconds'?)"),
            std::string::npos);
  EXPECT_NE(message_of(made_up_with("[run]", "[rum]")).find("(did you mean 'run'?)"),
            std::string::npos);
  EXPECT_NE(
      message_of(made_up_with("\"product\"", "\"products\"")).find("(did you mean 'product'?)"),
      std::string::npos);
  EXPECT_NE(
      message_of(made_up_with("\"float32\"", "\"flaot32\"")).find("(did you mean 'float32'?)"),
      std::string::npos);
  EXPECT_NE(message_of(made_up_with("origin = \"fitted\"", "origin = \"guessed\"")).find("guessed"),
            std::string::npos);
  const auto unknown = builtin_device("sn3");
  EXPECT_NE(unknown.error().message.find("(did you mean 'sn30'?)"), std::string::npos);
}

TEST(DeviceFile, MissingPartsAndOtherTypesAreRefused) {
  EXPECT_NE(message_of(made_up_with("launch_seconds = 1e-3", "")).find("'run.launch_seconds'"),
            std::string::npos);
  EXPECT_NE(message_of(made_up_with("tensors = \"on-chip\"", "")).find("placement.tensors"),
            std::string::npos);
  EXPECT_NE(message_of(made_up_with("tensors = \"on-chip\"", "tensors = \"off-chip\""))
                .find("[off_chip] has no bytes"),
            std::string::npos);
  EXPECT_NE(message_of(made_up_with("units = 4", "units = \"four\"")).find("must be a number"),
            std::string::npos);
  EXPECT_NE(message_of(made_up_with("name = \"toy\"", "name = \"../toy\"")).find("a to z"),
            std::string::npos);
  EXPECT_NE(message_of("name = ").find("toy.toml:1: "), std::string::npos);
  EXPECT_NE(message_of("compute = 3").find("compute"), std::string::npos);
  EXPECT_NE(message_of("").find("'name' is missing"), std::string::npos);
}

TEST(DeviceFile, CharactersBeyondAsciiStandInQuotesAndCommentsOnly) {
  const std::string text = kMadeUp;
  const auto refusal = [](const std::string& changed) {
    const auto device = parse_device(changed, "toy.toml");
    return device.ok() ? "" : device.error().message;
  };
  EXPECT_NE(refusal("\xC3\xA9 = 1\n" + text).find("toy.toml:1: a character beyond ASCII"),
            std::string::npos);
  EXPECT_NE(refusal(text + "\n\xEF\xB9\xBF").find("beyond ASCII"), std::string::npos);
  EXPECT_NE(refusal("about = '\xC3\xA9'\n" + text).find("beyond ASCII"), std::string::npos);
  EXPECT_NE(refusal("about = \"\\\xC3\xA9\"\n" + text).find("beyond ASCII"), std::string::npos);
  EXPECT_NE(refusal("about = \"\xC3\"\n" + text).find("not UTF-8"), std::string::npos);
  // What looks like a string after a mistake is none to toml++ (found by fuzzing).
  EXPECT_NE(refusal("name = [[*'\xEF\xBA\xBF").find("toy.toml:1:"), std::string::npos);
  EXPECT_NE(refusal("name = [[*\"\xEF\xBA\xBF").find("toy.toml:1:"), std::string::npos);
  EXPECT_NE(refusal("about = \"\"\"a\nb\"\"\"\n" + text).find("several lines"), std::string::npos);
  std::string named = "# \xC3\xA9\nabout = \"\\\"\xC3\xA9\"  # \xC2\xB5\n" + text;
  const auto device = parse_device(named, "toy.toml");
  ASSERT_TRUE(device.ok()) << device.error().message;
  EXPECT_EQ(device->about, "\"\xC3\xA9");
}

TEST(DeviceFile, AnyCutOfAFileIsAnErrorOrADevice) {
  const auto whole = builtin_text("ipu");
  ASSERT_TRUE(whole.ok());
  for (std::size_t length = 0; length < whole->size(); length += 13) {
    const auto device = parse_device(whole->substr(0, length), "cut.toml");
    if (!device.ok()) {
      EXPECT_TRUE(device.error().message.starts_with("cut.toml:")) << device.error().message;
    }
  }
}

TEST(NearNames, DistanceCountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("flaot", "float"), 1U);
}

}  // namespace
}  // namespace tensorpress::devices
