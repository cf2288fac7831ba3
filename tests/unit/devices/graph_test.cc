// graph.json: what the Python package writes, and what it never should.
#include "devices/programs/graph_file.h"

#include <gtest/gtest.h>

#include "devices/check.h"

namespace tensorpress::devices {
namespace {

constexpr const char* kGraph = R"({"format": "tensorpress-graph", "version": 1, "name": "Two",
 "tensors": [{"name": "x", "shape": [2, 512, 512], "type": "float32", "role": "input"},
             {"name": "w", "shape": [512, 64], "type": "float32", "role": "constant"},
             {"name": "y", "shape": [2, 512, 64], "type": "float32", "role": "output"}],
 "operators": [{"name": "matmul", "inputs": [0, 1], "outputs": [2]}]})";

std::string with(const std::string& from, const std::string& to) {
  std::string json = kGraph;
  const std::size_t at = json.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return json.replace(at, from.size(), to);
}

TEST(GraphFile, AGraphIsJudgedAsAnyProgram) {
  const auto program = parse_graph(kGraph, "g.json");
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->name, "Two");
  EXPECT_EQ(peak_bytes(*program), 4.0 * (2 * 512 * 512 + 512 * 64 + 2 * 512 * 64));
  EXPECT_FALSE(check(*builtin_device("sn30"), *program)->fits());  // 1 MiB a plane
  EXPECT_TRUE(check(*builtin_device("ipu"), *program)->fits());
}

TEST(GraphFile, AnExtentThatIsNullIsDynamic) {
  const auto program = parse_graph(with("[2, 512, 512]", "[null, 64, 64]"), "g.json");
  ASSERT_TRUE(program.ok());
  EXPECT_TRUE(program->tensors[0].dynamic);
  EXPECT_FALSE(check(*builtin_device("ipu"), *program)->fits());
}

TEST(GraphFile, EverythingElseIsAnErrorThatNamesThePlace) {
  const auto message = [](const std::string& json) {
    const auto program = parse_graph(json, "g.json");
    EXPECT_FALSE(program.ok()) << json;
    return program.ok() ? std::string() : program.error().message;
  };
  EXPECT_NE(message("{").find("g.json is not a graph: it is not JSON"), std::string::npos);
  EXPECT_NE(message("[]").find("write_graph"), std::string::npos);
  EXPECT_NE(message(with("\"version\": 1", "\"version\": 2")).find("version"), std::string::npos);
  EXPECT_NE(message(with("[0, 1]", "[0, 3]")).find("operator 0 (matmul) names tensor 3 of 3"),
            std::string::npos);
  EXPECT_NE(message(with("[0, 1]", "[0, -1]")).find("names tensor -1"), std::string::npos);
  EXPECT_NE(message(with("[2, 512, 512]", "[2.5]")).find("tensor 0 has an extent"),
            std::string::npos);
  EXPECT_NE(message(with("[2, 512, 512]", "7")).find("tensor 0 has no \"shape\""),
            std::string::npos);
  EXPECT_NE(message(with("\"role\": \"constant\"", "\"role\": \"weight\"")).find("tensor 1"),
            std::string::npos);
  EXPECT_NE(message(with("{\"name\": \"matmul\"", "{\"nome\": \"matmul\"")).find("operator 0"),
            std::string::npos);
  for (std::size_t length = 0; length + 1 < std::string(kGraph).size(); length += 7) {
    EXPECT_FALSE(parse_graph(std::string(kGraph).substr(0, length), "g.json").ok());
  }
}

}  // namespace
}  // namespace tensorpress::devices
