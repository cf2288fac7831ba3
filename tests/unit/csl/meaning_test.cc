// What the compiler accepts and what it says of mistakes.
#include <gtest/gtest.h>

#include "programs.h"

namespace tensorpress::csl {
namespace {

std::string said_of(const std::string& tile) {
  return one_tile(tile).said();
}

const char* const kRun = "fn run() void { sys.unblock_cmd_stream(); }\n";

TEST(CslMeaning, ComputesConstants) {
  TestProgram program = one_tile(std::string(kRun) + R"(
const a = 7 / 2 + (1 << 20) % 1000;
const b: u8 = 255;
const words = [3]i16 { 1, -2, 3 };
fn factorial(n: i32) i32 { if (n < 2) { return 1; } return n * factorial(n - 1); }
comptime {
  @comptime_assert(a == 3 + 576);
  @comptime_assert(b + 1 == 0);
  @comptime_assert(words[1] == -2);
  @comptime_assert(factorial(10) == 3628800);
  @comptime_assert(@as(i16, 10.8) == 10 and @as(i16, -10.8) == -10);
  @comptime_assert(@bitcast(u16, @as(f16, 1.0)) == 0x3c00);
  @comptime_assert(@bitcast(u32, @as(f32, -2.0)) == 0xc0000000);
  @comptime_assert(@element_count([3, 5, 7]f16) == 105);
  @comptime_assert(@is_same_type(@type_of(words), [3]i16));
  var sum: i16 = 0;
  for (words) |w| { sum += w; }
  @comptime_assert(sum == 2);
  const both = @concat_structs(.{ .x = 1 }, .{ .y = 2 });
  @comptime_assert(both.y == 2 and @has_field(both, "x") and !@has_field(both, "z"));
}
)");
  EXPECT_TRUE(program.compiles()) << program.said();
}

TEST(CslMeaning, WhatNobodyReachesMayBeWrongAndTakesNoMemory) {
  TestProgram program = one_tile(std::string(kRun) + R"(
var huge = @zeros([40000]f32);
fn never() void { undeclared(1, 2, 3); two(1); }
fn two(a: i16, b: i16) void { if (false) { nothing_like_this(); } }
)");
  EXPECT_TRUE(program.compiles()) << program.said();
}

TEST(CslMeaning, SaysWhoTakesTheMemory) {
  const std::string said = said_of(R"(
var small = @zeros([10]f32);
var huge = @zeros([13000]f32);
fn run() void { huge[0] = small[0]; sys.unblock_cmd_stream(); }
)");
  EXPECT_NE(said.find("its SRAM has 49152"), std::string::npos) << said;
  EXPECT_NE(said.find("52000 bytes  huge"), std::string::npos) << said;
}

TEST(CslMeaning, ExplainsMistakes) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"comptime { @comptime_assert(1 == 2, \"one is not two\"); }", "one is not two"},
      {"const a: u8 = 256; comptime { _ = a; }", "256 does not fit in u8"},
      {"const a = b; const b = a; comptime { _ = a; }", "needs itself"},
      {"comptime { _ = missing; }", "'missing' is not declared"},
      {"comptime { _ = 1 / 0; }", "division by zero"},
      {"comptime { while (true) {} }", "does not end"},
      {"fn f(n: i16) i16 { return f(n); } comptime { _ = f(1); }", "nested"},
      {"comptime { _ = [2]i16 { 1, 2 }[2]; }", ""},
      {"comptime { const a = [2]i16 { 1, 2 }; _ = a[2]; }", "outside of 0 to 1"},
      {"comptime { _ = @get_color(24); }", "0 to 23"},
      {"comptime { _ = @get_output_queue(6); }", "0 to 5"},
      {"comptime { @no_such_builtin(); }", "not supported yet"},
      {"const m = @import_module(\"other.csl\"); comptime { _ = m.x; }", "cannot be read"},
      {"const m = @import_module(\"<no/such>\"); comptime { _ = m.x; }", "not supported yet"},
      {"task t() void {} comptime { const id = @get_local_task_id(9);\n@bind_local_task(t, id); "
       "@bind_local_task(t, id); }",
       "bound to 't' already"},
      {"task t() void {} comptime { @bind_data_task(t, @get_data_task_id(@get_color(3))); }",
       "takes the wavelet"},
      {"task t(a: u32, b: u16) void {} comptime { @bind_data_task(t, "
       "@get_data_task_id(@get_color(3))); }",
       "32 bits"},
      {"comptime { const q = @get_input_queue(2); @initialize_queue(q, .{ .color = @get_color(1) "
       "});\n"
       "@initialize_queue(q, .{ .color = @get_color(2) }); }",
       "has color 1 already"},
      {"const d = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> out[i * i] }); comptime { _ = "
       "d; }",
       "affine"},
      {"const d = @get_dsd(mem1d_dsd, .{ .base_address = &out }); comptime { _ = d; }", "extent"},
      {"comptime { const x: i16 = \"text\"; }", "a value of type i16 is needed"},
      {"comptime { @as(); }", "takes 2 arguments"},
      {"const c = 1; fn g() void { c = 2; } comptime { @export_symbol(g); }", "cannot be assigned"},
      {"fn g() i16 { return; } comptime { @export_symbol(g); }", "returns i16"},
      {"fn g(a: i16) void { if (a) {} } comptime { @export_symbol(g); }", "bool"},
      {"fn g(a: i16, b: f32) void { _ = a + b; } comptime { @export_symbol(g); }",
       "two values of one type"},
      {"const d = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{1} -> out[i] });\n"
       "fn g() void { @mov32(d, d, .{ .async = true }); } comptime { @export_symbol(g); }",
       "fabric operand"},
      {"const x: [1 << 40]i16 = undefined; comptime { _ = x; }", "2^28"},
  };
  for (const auto& [tile, words] : mistakes) {
    const std::string said = said_of(std::string(kRun) + tile);
    EXPECT_NE(said.find(words), std::string::npos) << tile << "\n" << said;
    EXPECT_NE(said.find("error: "), std::string::npos) << tile;
  }
}

TEST(CslMeaning, ExplainsMistakesOfLayouts) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"const a = 1;", "no layout block"},
      {"layout { }", "sets no rectangle"},
      {"layout { @set_rectangle(0, 1); }", "1 to 1000"},
      {"layout { @set_rectangle(1, 1); @set_tile_code(1, 0, \"t.csl\", .{}); }",
       "outside of the rectangle"},
      {"layout { @set_rectangle(1, 1); @set_tile_code(0, 0, \"t.csl\", .{}); @set_tile_code(0, 0, "
       "\"t.csl\", .{}); }",
       "has code already"},
      {"layout { @set_rectangle(1, 1); @set_tile_code(0, 0, \"t.csl\", .{ .q = 1 }); }",
       "has no param 'q'"},
      {"layout { @set_rectangle(1, 1); @export_name(\"x\", [*]f32, true); }",
       "no tile exports the symbol"},
      {"param n: i16; layout { @set_rectangle(n, 1); }", "--params=n:VALUE"},
      {"layout { @set_rectangle(2, 1);\n"
       "@set_color_config(0, 0, @get_color(3), .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } "
       "}); }",
       "takes nothing from WEST"},
      {"layout { @set_rectangle(1, 1);\n"
       "@set_color_config(0, 0, @get_color(3), .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ NORTH } } "
       "}); }",
       "out of the rectangle"},
  };
  for (const auto& [layout, words] : mistakes) {
    const TestProgram program(Files{{"layout.csl", layout}, {"t.csl", "const x = 1;"}});
    EXPECT_NE(program.said().find(words), std::string::npos) << layout << "\n" << program.said();
  }
}

TEST(CslMeaning, NamesTheFileOfAModulesMistake) {
  const TestProgram program(Files{
      {"layout.csl", "layout { @set_rectangle(1, 1); @set_tile_code(0, 0, \"t.csl\", .{}); }"},
      {"t.csl", "const m = @import_module(\"m.csl\", .{ .n = 3 });"},
      {"m.csl", "param n: i16;\ncomptime { @comptime_assert(n == 4); }"}});
  EXPECT_NE(program.said().find("m.csl:2:12: error: this assertion does not hold"),
            std::string::npos)
      << program.said();
}

}  // namespace
}  // namespace tensorpress::csl
