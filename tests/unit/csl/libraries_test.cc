// The libraries on several PEs.
#include <gtest/gtest.h>

#include "programs.h"

namespace tensorpress::csl {
namespace {

const char* const kRow = R"(
param width: u16;
param root: u16;
const c2d = @import_module("<collectives_2d/params>");
const memcpy = @import_module("<memcpy/get_params>", .{ .width = width, .height = 1 });
layout {
  @set_rectangle(width, 1);
  for (@range(u16, width)) |x| {
    @set_tile_code(x, 0, "tile.csl", .{ .memcpy_params = memcpy.get_params(x), .root = root, .c2d =
      c2d.get_params(x, 0, .{
        .x_colors = .{ @get_color(0), @get_color(1) },
        .x_entrypoints = .{ @get_local_task_id(10), @get_local_task_id(11) },
        .y_colors = .{ @get_color(4), @get_color(5) },
        .y_entrypoints = .{ @get_local_task_id(12), @get_local_task_id(13) } }) });
  }
  @export_name("out", [*]u32, true);
  @export_name("run", fn()void);
}
)";

/// Every PE's `out` of eight values after `body`, which calls `mpi`; in front of it `mine` is set
/// to 100 * pe + k.
std::vector<std::uint32_t> after(int width, int root, const std::string& body) {
  TestProgram program(Files{{"layout.csl", kRow}, {"tile.csl", R"(
param memcpy_params; param c2d; param root: u16;
const sys = @import_module("<memcpy/memcpy>", memcpy_params);
const mpi = @import_module("<collectives_2d/pe>", .{ .dim_params = c2d.x });
var mine = @zeros([2]u32);
var floats = @zeros([2]f32);
var out = @zeros([16]u32);
var out_ptr: [*]u32 = &out;
const done_id = @get_local_task_id(14);
task done() void { sys.unblock_cmd_stream(); }
fn run() void {
  mpi.init();
  for (@range(u16, 2)) |k| {
    mine[k] = 100 * @as(u32, mpi.pe_id) + @as(u32, k);
    floats[k] = @as(f32, mine[k]);
  }
)" + body + R"(
}
comptime { @bind_local_task(done, done_id); @export_symbol(out_ptr, "out"); @export_symbol(run); }
)"}},
                      {{"width", std::to_string(width)}, {"root", std::to_string(root)}});
  EXPECT_TRUE(program.compiles()) << program.said();
  if (!program.compiles()) return {};
  const auto launched = program.session().launch("run", {});
  EXPECT_TRUE(launched.ok()) << (launched.ok() ? "" : launched.error().message);
  std::vector<std::uint32_t> out(static_cast<std::size_t>(width) * 16);
  const auto copied = program.session().copy_from(0, {.width = width}, 16, 32, out);
  EXPECT_TRUE(copied.ok()) << (copied.ok() ? "" : copied.error().message);
  return out;
}

TEST(CslLibraries, BroadcastReachesEveryPe) {
  for (const int width : {1, 2, 5}) {
    for (int root = 0; root < width; ++root) {
      const auto out = after(width, root, R"(
  const buffer = if (mpi.pe_id == root) @as([*]u32, &mine) else out_ptr;
  if (mpi.pe_id == root) { out[0] = mine[0]; out[1] = mine[1]; }
  mpi.broadcast(root, buffer, 2, done_id);)");
      ASSERT_EQ(out.size(), static_cast<std::size_t>(width) * 16);
      for (int x = 0; x < width; ++x) {
        EXPECT_EQ(out[static_cast<std::size_t>(x) * 16], 100u * static_cast<unsigned>(root));
        EXPECT_EQ(out[static_cast<std::size_t>(x) * 16 + 1],
                  100u * static_cast<unsigned>(root) + 1);
      }
    }
  }
}

TEST(CslLibraries, GatherAndReduceArriveInOrderAtBothEnds) {
  for (const int width : {1, 2, 3, 6}) {
    for (const int root : {0, width - 1}) {
      const auto gathered = after(width, root, "  mpi.gather(root, &mine, out_ptr, 2, done_id);");
      ASSERT_EQ(gathered.size(), static_cast<std::size_t>(width) * 16);
      const std::size_t at = static_cast<std::size_t>(root) * 16;
      for (unsigned x = 0; x < static_cast<unsigned>(width); ++x) {
        EXPECT_EQ(gathered[at + 2 * x], 100 * x) << width << " " << root;
        EXPECT_EQ(gathered[at + 2 * x + 1], 100 * x + 1);
      }
      const auto sums = after(
          width, root, "  mpi.reduce_fadds(root, &floats, @ptrcast([*]f32, out_ptr), 2, done_id);");
      const auto n = static_cast<unsigned>(width);
      EXPECT_EQ(std::bit_cast<float>(sums[at]), static_cast<float>(100 * (n * (n - 1) / 2)));
      EXPECT_EQ(std::bit_cast<float>(sums[at + 1]),
                static_cast<float>(100 * (n * (n - 1) / 2) + n));
    }
  }
}

TEST(CslLibraries, ScatterGivesEveryPeItsPart) {
  for (const int width : {1, 2, 5}) {
    const auto out = after(width, 0, R"(
  if (mpi.pe_id == 0) { for (@range(u16, 12)) |k| { out[k + 2] = @as(u32, k) + 7; } }
  mpi.scatter(0, @ptrcast([*]u32, &out[2]), out_ptr, 2, done_id);)");
    ASSERT_EQ(out.size(), static_cast<std::size_t>(width) * 16);
    for (unsigned x = 0; x < static_cast<unsigned>(width); ++x) {
      EXPECT_EQ(out[16 * x], 2 * x + 7);
      EXPECT_EQ(out[16 * x + 1], 2 * x + 8);
    }
  }
}

TEST(CslLibraries, ATornDownColorWaitsUntilItIsConfigured) {
  TestProgram program(Files{{"layout.csl", R"(
const memcpy = @import_module("<memcpy/get_params>", .{ .width = 2, .height = 1 });
layout {
  @set_rectangle(2, 1);
  for (@range(u16, 2)) |x| {
    @set_tile_code(x, 0, "tile.csl", .{ .memcpy_params = memcpy.get_params(x), .x = x });
  }
  @export_name("out", [*]u32, true);
  @export_name("run", fn()void);
}
)"},
                            {"tile.csl", R"(
param memcpy_params; param x: u16;
const sys = @import_module("<memcpy/memcpy>", memcpy_params);
const tile_config = @import_module("<tile_config>");
const switches = @import_module("<memcpy/memcpy_switches>");
const c = @get_color(3);
var out = @zeros([2]u32);
var out_ptr: [*]u32 = &out;
const word = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{1} -> out[0] });
const from = @get_dsd(fabin_dsd, .{ .extent = 1, .input_queue = @get_input_queue(2) });
const to = @get_dsd(fabout_dsd, .{ .extent = 1, .fabric_color = c, .output_queue = @get_output_queue(2) });
const control = @get_dsd(fabout_dsd, .{ .extent = 1, .control = true, .fabric_color = c, .output_queue = @get_output_queue(2) });
const done_id = @get_local_task_id(14);
task done() void { sys.unblock_cmd_stream(); }
fn handler() void {
  out[1] += 1;
  @activate(done_id);
}
fn run() void {
  if (x == 0) {
    tile_config.color_config.reset_routes(tile_config.color_config.get_color_config_addr(c), .{ .tx = EAST, .rx = RAMP });
    tile_config.teardown.exit(c);
    @mov32(to, @as(u32, 42), .{ .async = true });
    @mov32(control, switches.ctrl(switches.teardown_cmd_1()), .{ .async = true });
  } else {
    tile_config.color_config.reset_routes(tile_config.color_config.get_color_config_addr(c), .{ .tx = RAMP, .rx = WEST });
    tile_config.teardown.exit(c);
    @mov32(word, from, .{ .async = true });
  }
}
comptime {
  @bind_local_task(done, done_id);
  @initialize_queue(@get_input_queue(2), .{ .color = c });
  @set_local_color_config(c, .{ .routes = .{ .rx = .{ WEST }, .tx = .{ EAST } }, .teardown = true });
  @set_teardown_handler(handler, c);
  @export_symbol(out_ptr, "out"); @export_symbol(run);
}
)"}});
  ASSERT_TRUE(program.compiles()) << program.said();
  ASSERT_TRUE(program.session().launch("run", {}).ok());
  std::vector<std::uint32_t> out(4);
  const auto copied = program.session().copy_from(0, {.width = 2}, 2, 32, out);
  ASSERT_TRUE(copied.ok()) << copied.error().message;
  EXPECT_EQ(out, (std::vector<std::uint32_t>{0, 1, 42, 1}));
}

TEST(CslLibraries, TracesHaveTheirKey) {
  TestProgram program = one_tile(R"(
const trace = @import_module("<debug>", .{ .key = "mine", .buffer_size = 10 });
fn run() void { trace.trace_string("begin"); trace.trace_u16(7); sys.unblock_cmd_stream(); }
)");
  ASSERT_TRUE(program.compiles()) << program.said();
  ASSERT_TRUE(program.session().launch("run", {}).ok());
  EXPECT_EQ(program.session().take_lines(),
            (std::vector<std::string>{"trace\t0\t0\tmine\tbegin", "trace\t0\t0\tmine\t7"}));
}

}  // namespace
}  // namespace tensorpress::csl
