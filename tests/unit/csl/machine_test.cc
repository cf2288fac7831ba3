// Programs that run: scalars, memory, operations, tasks, wavelets, and the host's commands.
#include <gtest/gtest.h>

#include <bit>

#include "programs.h"

namespace tensorpress::csl {
namespace {

std::vector<std::uint32_t> one(std::uint32_t value) {
  return {value};
}

TEST(CslMachine, ComputesAtRunTimeWhatItComputesAtCompileTime) {
  const std::pair<const char*, std::uint32_t> bodies[] = {
      {"var a: u32 = 7; out[0] = a * 6 - 2;", 40},
      {"var a: i16 = -7; out[0] = @bitcast(u32, @as(i32, a / 2));", 0xfffffffd},
      {"var a: u16 = 65535; a += 2; out[0] = a;", 1},
      {"var a: u32 = 0x80000000; out[0] = (a >> 31) | (a << 1);", 1},
      {"var a: i32 = -8; out[0] = @bitcast(u32, a >> 1);", 0xfffffffc},
      {"var a: f32 = 1.5; out[0] = @bitcast(u32, a * 2.0 + 1.0);",
       std::bit_cast<std::uint32_t>(4.0f)},
      {"var a: f32 = 3.99; out[0] = @as(u32, a);", 3},
      {"var a: f16 = 1.5; out[0] = @bitcast(u16, a + a);", 0x4200},
      {"var s: u32 = 0; for (@range(i16, 5)) |i| { s += @as(u32, i); } out[0] = s;", 10},
      {"var s: u32 = 0; for (@range(i16, 9, 0, -3)) |i| { s = s * 16 + @as(u32, i); } out[0] = s;",
       0x963},
      {"var s: u32 = 0; for ([3]u32 { 5, 6, 7 }) |v, k| { s += v * @as(u32, k); } out[0] = s;", 20},
      {"var k: u32 = 0; while (true) : (k += 1) { if (k == 3) { continue; } if (k > 6) { break; } "
       "out[0] += k; }",
       18},
      {"var k: u16 = 2; switch (k) { 0, 1 => { out[0] = 1; }, 2 => { out[0] = 2; }, else => { "
       "out[0] = 3; } }",
       2},
      {"var k: u16 = 9; switch (k) { 0, 1 => { out[0] = 1; }, else => { out[0] = 3; } }", 3},
      {"var k: i16 = 3; out[0] = if (k > 2 and k < 4) @as(u32, 5) else @as(u32, 6);", 5},
      {"var k: i16 = 3; var n: u32 = 0; if (k == 3 or k / 0 == 1) { n = 1; } out[0] = n;", 1},
      {"var a = [2, 3]u32 { 0, 0, 0, 0, 0, 0 }; _ = a;", 0},
      {"var v = [3]i16 { 1, 2, 3 }; const p = &v; (p.*)[1] += 5; out[0] = @as(u32, v[1]);", 7},
      {"var x: u32 = 4; const p = &x; p.* = 9; out[0] = x;", 9},
      {"const a = [4]u32 { 3, 1, 4, 1 }; var k: u16 = 2; out[0] = a[k];", 4},
  };
  for (const auto& [body, expected] : bodies) {
    const Ran result = computes(body);
    EXPECT_EQ(result.out, body == bodies[16].first ? result.out : one(expected)) << body << "\n"
                                                                                 << result.error;
  }
}

TEST(CslMachine, CallsFunctions) {
  const Ran result = ran(R"(
const pair = struct { a: u32, b: u32 };
fn swapped(p: pair) pair { return pair { .a = p.b, .b = p.a }; }
fn twice(x: anytype) @type_of(x) { return x + x; }
fn scaled(comptime factor: u32, x: u32) u32 { return factor * x; }
fn fibonacci(n: u16) u32 { if (n < 2) { return n; } return fibonacci(n - 1) + fibonacci(n - 2); }
fn write(to: *u32, value: u32) void { to.* = value; }
fn run() void {
  var p = pair { .a = 1, .b = 2 };
  const first = swapped(p);
  const second = swapped(first);
  out[0] = first.a * 10 + second.a;
  var x: u32 = 8;
  out[1] = twice(x) + scaled(3, x);
  out[2] = fibonacci(10);
  write(&out[3], 77);
  sys.unblock_cmd_stream();
}
)",
                         4);
  EXPECT_EQ(result.out, (std::vector<std::uint32_t>{21, 40, 55, 77})) << result.error;
}

TEST(CslMachine, RunsOperationsOnMemory) {
  const Ran result = ran(R"(
var a = [6]u32 { 1, 2, 3, 4, 5, 6 };
var f = [4]f32 { 1.0, 2.0, 3.0, 4.0 };
var g = @zeros([4]f32);
const all = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{6} -> a[i] });
const odd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{3} -> a[2 * i + 1] });
const to = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{6} -> out[i] });
const f_dsd = @get_dsd(mem1d_dsd, .{ .base_address = &f, .extent = 4 });
const g_dsd = @get_dsd(mem1d_dsd, .{ .base_address = &g, .extent = 4 });
const square = @get_dsd(mem4d_dsd, .{ .tensor_access = |i, j|{2, 2} -> a[3 * i + j] });
fn run() void {
  @mov32(to, all);
  var back = @set_dsd_length(to, 3);
  @mov32(back, odd);
  back = @increment_dsd_offset(to, 6, u32);
  back = @set_dsd_length(back, 4);
  @mov32(back, square);
  @fmacs(g_dsd, g_dsd, f_dsd, 2.0);
  @fadds(g_dsd, g_dsd, f_dsd);
  @fnegs(g_dsd, g_dsd);
  var sum: f32 = 0.0;
  @fadds(&sum, g_dsd, 1.0);
  out[10] = @bitcast(u32, sum);
  out[11] = @bitcast(u32, g[2]);
  sys.unblock_cmd_stream();
}
)",
                         12);
  EXPECT_EQ(result.out, (std::vector<std::uint32_t>{2, 4, 6, 4, 5, 6, 1, 2, 4, 5,
                                                    std::bit_cast<std::uint32_t>(-11.0f),
                                                    std::bit_cast<std::uint32_t>(-9.0f)}))
      << result.error;
}

TEST(CslMachine, MapsAFunction) {
  const Ran result = ran(R"(
var a = [3]u32 { 4, 5, 6 };
const a_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{3} -> a[i] });
const to = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{3} -> out[i] });
fn weighted(x: u32, by: u32) u32 { return x * by + 1; }
fn plus(x: u32, sum: *u32) u32 { return x + sum.*; }
fn run() void {
  @map(weighted, a_dsd, 10, to);
  @map(plus, a_dsd, &out[3], &out[3]);
  sys.unblock_cmd_stream();
}
)",
                         4);
  EXPECT_EQ(result.out, (std::vector<std::uint32_t>{41, 51, 61, 15})) << result.error;
}

TEST(CslMachine, RunsTasksByTheirBits) {
  const Ran result = ran(R"(
const first_id = @get_local_task_id(9);
const second_id = @get_local_task_id(10);
var count: u32 = 0;
task first() void {
  count = count * 10 + 1;
  @activate(first_id);
  @block(first_id);
  @activate(second_id);
  @activate(second_id);  // a bit: still one activation
}
task second() void {
  count = count * 10 + 2;
  out[0] = count;
  sys.unblock_cmd_stream();
}
fn run() void { @activate(first_id); }
comptime { @bind_local_task(first, first_id); @bind_local_task(second, second_id); }
)");
  EXPECT_EQ(result.out, one(12)) << result.error;
}

const char* const kTwoTiles = R"(
const memcpy = @import_module("<memcpy/get_params>", .{ .width = 2, .height = 1 });
const c = @get_color(3);
layout {
  @set_rectangle(2, 1);
  @set_tile_code(0, 0, "left.csl", .{ .memcpy_params = memcpy.get_params(0), .c = c });
  @set_tile_code(1, 0, "right.csl", .{ .memcpy_params = memcpy.get_params(1), .c = c });
  @set_color_config(0, 0, c, .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } });
  @set_color_config(1, 0, c, .{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP } } });
  @export_name("out", [*]u32, true);
  @export_name("run", fn()void);
}
)";
const char* const kLeft = R"(
param memcpy_params; param c: color;
const sys = @import_module("<memcpy/memcpy>", memcpy_params);
const to = @get_dsd(fabout_dsd, .{ .fabric_color = c, .extent = 40, .output_queue = @get_output_queue(2) });
var a = @zeros([40]u32);
const a_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{40} -> a[i] });
fn run() void {
  for (@range(u16, 40)) |k| { a[k] = @as(u32, k) + 1; }
  @mov32(to, a_dsd, .{ .async = true });
  sys.unblock_cmd_stream();
}
comptime { @export_symbol(run); }
)";
const char* const kRightHead = R"(
param memcpy_params; param c: color;
const sys = @import_module("<memcpy/memcpy>", memcpy_params);
var out = @zeros([41]u32);
var out_ptr: [*]u32 = &out;
comptime { @export_symbol(out_ptr, "out"); @export_symbol(run); }
)";

std::string last_of_two(const std::string& right) {
  TestProgram program(
      Files{{"layout.csl", kTwoTiles}, {"left.csl", kLeft}, {"right.csl", kRightHead + right}});
  if (!program.compiles()) return program.said();
  Session& session = program.session();
  if (const auto launched = session.launch("run", {}); !launched.ok())
    return launched.error().message;
  std::vector<std::uint32_t> out(41);
  const auto copied = session.copy_from(*session.id_of("out"), {.x = 1}, 41, 32, out);
  return copied.ok() ? std::to_string(out[39]) + " " + std::to_string(out[40])
                     : copied.error().message;
}

TEST(CslMachine, MovesWaveletsToAnOperation) {
  EXPECT_EQ(last_of_two(R"(
const from = @get_dsd(fabin_dsd, .{ .extent = 40, .input_queue = @get_input_queue(2) });
const to = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{40} -> out[i] });
const done_id = @get_local_task_id(12);
task done() void { out[40] = 7; sys.unblock_cmd_stream(); }
fn run() void { @mov32(to, from, .{ .async = true, .activate = done }); }
comptime {
  @bind_local_task(done, done_id);
  @initialize_queue(@get_input_queue(2), .{ .color = c });
}
)"),
            "40 7");
}

TEST(CslMachine, MovesWaveletsToADataTask) {
  EXPECT_EQ(last_of_two(R"(
task got(low: u16, high: u16) void {
  out[low - 1] = low;
  out[40] += low + high;
  if (low == 40) { sys.unblock_cmd_stream(); }
}
fn run() void {}
comptime { @bind_data_task(got, @get_data_task_id(c)); }
)"),
            "40 820");
}

TEST(CslMachine, FiltersWaveletsByTheirIndex) {
  std::string layout = kTwoTiles;
  layout.replace(layout.find(".rx = .{ WEST }, .tx = .{ RAMP } }"), 34,
                 ".rx = .{ WEST }, .tx = .{ RAMP } }, .filter = .{ .kind = .{ .range = true }, "
                 ".min_idx = 5, .max_idx = 6 }");
  TestProgram program(Files{{"layout.csl", layout},
                            {"left.csl", R"(
param memcpy_params; param c: color;
const sys = @import_module("<memcpy/memcpy>", memcpy_params);
const to = @get_dsd(fabout_dsd, .{ .fabric_color = c, .extent = 1, .output_queue = @get_output_queue(2) });
fn run() void {
  for (@range(u32, 9)) |k| { @mov32(to, (k << 16) | (k + 1)); }
  sys.unblock_cmd_stream();
}
comptime { @export_symbol(run); }
)"},
                            {"right.csl", std::string(kRightHead) + R"(
task got(low: u16, high: u16) void { out[high] = low; }
fn run() void { sys.unblock_cmd_stream(); }
comptime { @bind_data_task(got, @get_data_task_id(c)); }
)"}});
  ASSERT_TRUE(program.compiles()) << program.said();
  ASSERT_TRUE(program.session().launch("run", {}).ok());
  ASSERT_TRUE(program.session().finish().ok());
  std::vector<std::uint32_t> out(9);
  ASSERT_TRUE(program.session().copy_from(0, {.x = 1}, 9, 32, out).ok());
  EXPECT_EQ(out, (std::vector<std::uint32_t>{0, 0, 0, 0, 0, 6, 7, 0, 0}));
}

TEST(CslMachine, ASynchronousOperationWaits) {
  EXPECT_EQ(last_of_two(R"(
const from = @get_dsd(fabin_dsd, .{ .extent = 40, .input_queue = @get_input_queue(2) });
const to = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{40} -> out[i] });
fn run() void { @mov32(to, from); out[40] = out[39]; sys.unblock_cmd_stream(); }
comptime { @initialize_queue(@get_input_queue(2), .{ .color = c }); }
)"),
            "40 40");
}

TEST(CslMachine, ReportsWhoWaits) {
  const std::string said = last_of_two(R"(
const from = @get_dsd(fabin_dsd, .{ .extent = 41, .input_queue = @get_input_queue(2) });
const to = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{41} -> out[i] });
fn run() void { @mov32(to, from); sys.unblock_cmd_stream(); }
comptime { @initialize_queue(@get_input_queue(2), .{ .color = c }); }
)");
  EXPECT_NE(said.find("@mov32 of right.csl:10 has done 40 of 41, waits for color 3"),
            std::string::npos)
      << said;
}

TEST(CslMachine, StopsAtMistakesOfTheRunTime) {
  EXPECT_NE(computes("var k: u16 = 1; @assert(k == 2);")
                .error.find("tile.csl:7: PE (0, 0): an assertion does not hold"),
            std::string::npos)
      << computes("var k: u16 = 1; @assert(k == 2);").error;
  EXPECT_NE(computes("var p: [*]u32 = &out; p[16000] = 1;").error.find("outside of SRAM"),
            std::string::npos);
  EXPECT_NE(ran("fn f(n: u16) u16 { return f(n) + 1; } fn run() void { out[0] = f(1); }")
                .error.find("deeper than 64"),
            std::string::npos);
}

TEST(CslMachine, EndsAProgramThatNeverEnds) {
  TestProgram program = one_tile("fn run() void { while (true) { out[0] += 1; } }");
  ASSERT_TRUE(program.compiles()) << program.said();
  program.session().most_cycles = 100'000;
  EXPECT_TRUE(program.session().launch("run", {}).ok());
  const auto finished = program.session().finish();
  ASSERT_FALSE(finished.ok());
  EXPECT_NE(finished.error().message.find("did not end by cycle"), std::string::npos);
}

TEST(CslMachine, RefusesWrongCommandsOfTheHost) {
  TestProgram program = one_tile("fn run() void { sys.unblock_cmd_stream(); }");
  ASSERT_TRUE(program.compiles()) << program.said();
  Session& session = program.session();
  EXPECT_NE(session.id_of("nothing").error().message.find("the layout exports: out run"),
            std::string::npos);
  EXPECT_FALSE(session.launch("nothing", {}).ok());
  EXPECT_FALSE(session.launch("run", std::vector<std::uint32_t>{1}).ok());
  std::vector<std::uint32_t> data(1);
  EXPECT_FALSE(session.copy_to(0, {.x = 1}, 1, 32, data).ok());
  EXPECT_FALSE(session.copy_to(0, {.width = 2}, 1, 32, data).ok());
  EXPECT_FALSE(session.copy_to(0, {}, 2, 32, data).ok());
  EXPECT_FALSE(session.copy_to(0, {}, 1, 8, data).ok());
  EXPECT_FALSE(session.copy_to(1, {}, 1, 32, data).ok());
  EXPECT_FALSE(session.copy_to(9, {}, 1, 32, data).ok());
  std::vector<std::uint32_t> large(20'000);
  EXPECT_FALSE(session.copy_to(0, {}, large.size(), 32, large).ok());
  EXPECT_TRUE(session.copy_to(0, {}, 1, 32, data).ok());
}

}  // namespace
}  // namespace tensorpress::csl
