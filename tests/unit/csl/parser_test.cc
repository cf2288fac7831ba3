#include "csl/syntax/parser.h"

#include <gtest/gtest.h>

namespace tensorpress::csl {
namespace {

struct Parsed {
  bool ok = false;
  std::string said;
};

Parsed parse(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  const std::uint32_t id = sources.add("t.csl", text);
  Parsed made;
  made.ok = parsed(sources, id, diagnostics) != nullptr;
  for (const Diagnostic& one : diagnostics.all()) made.said += rendered(sources, one);
  return made;
}

TEST(CslParser, AcceptsEveryForm) {
  const Parsed made = parse(R"(
param size: i16; param depth: u16 = 4; param any;
const pi = 3.25e0; const mask: u32 = 0xff_ff; const bits = 0b101; const letter = 'a';
export var counter: u32 align(16) = 0;
const point = struct { x: i16, y: f32 };
const mode = enum(u16) { send = 0, receive };
const dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{size} -> array[2 * i + 1, 0] });
fn add(comptime T: type, a: T, b: anytype) T { return a + b; }
fn old(a: *[4]f32, p: [*]const u16) : void { (a.*)[0] += 1.0; }
task receive(data: u16, index: u16) void {
  var k: u16 = 0;
  while (k < 4) : (k += 1) { if (k == 2) continue; if (k == 3) break; }
  for (@range(i16, 4)) |i, n| total += i;
  inline for ([2]i16 { 1, 2 }) |v| { _ = v; }
  switch (k) { 0 => return, 1, 2 => { total = 1; }, else => total = 2 }
  if (@is_arch("wse3")) a() else b();
  const c = if (k > 0 and !done or false) -k else ~k;
  const q = point { .x = 1, .y = 2.0 };
  call(.{ .async = true, .color = c }, comptime f(1), &q.x, p.*, .receive);
}
comptime { @bind_data_task(receive, id); }
layout { @set_rectangle(1, 1); }
)");
  EXPECT_TRUE(made.ok) << made.said;
}

TEST(CslParser, PointsAtTheMistake) {
  EXPECT_EQ(parse("const a = 1\nconst b = 2;\n").said,
            "t.csl:2:1: error: ';' is missing behind this declaration, here is 'const'\n"
            "  const b = 2;\n"
            "  ^\n");
}

TEST(CslParser, RefusesWhatIsNotCsl) {
  for (const char* text :
       {"const = 1;", "fn f() void {", "var x: ;", "layout { @set_rectangle(1, 1) }",
        "const s = \"open;", "const n = 12ab;", "const a = 0x;", "const a = $;", "const c = @;",
        "x = 1;", "const a = [2;", "const a = |i|{4} -> b;", "fn f() void { else }",
        "const c = 'ab';", "const e = '\\q';", "for (x) |i| {}", "const a = switch (x) { 0 => 1 };",
        "fn f() void { for (a) |i, j, k| {} }"}) {
    const Parsed made = parse(text);
    EXPECT_FALSE(made.ok) << text;
    EXPECT_NE(made.said.find("error: "), std::string::npos) << text;
  }
}

TEST(CslParser, LimitsDepth) {
  for (const char* open : {"(", "[", "-", "*", ".{", "if (x) ", "f(", "@zeros(", "&"}) {
    std::string text = "const a = ";
    for (int k = 0; k < 50'000; ++k) text += open;
    EXPECT_FALSE(parse(text).ok) << open;
  }
  std::string blocks = "fn f() void ";
  for (int k = 0; k < 50'000; ++k) blocks += "{";
  EXPECT_FALSE(parse(blocks).ok);
  std::string chain = "const a = 1";
  for (int k = 0; k < 50'000; ++k) chain += " + 1";
  EXPECT_NE(parse(chain + ";").said.find("too many parts"), std::string::npos);
}

TEST(CslParser, EndsOnAnyPrefix) {
  const std::string text =
      "task t(a: u16) void { var x = .{ .a = [2]i16 { 1, 2 } }; @mov16(d, |i|{4} -> b[i]); }";
  for (std::size_t k = 0; k < text.size(); ++k) parse(text.substr(0, k));
  for (std::size_t k = 0; k < text.size(); ++k) {
    std::string changed = text;
    changed[k] = '(';
    parse(changed);
  }
}

}  // namespace
}  // namespace tensorpress::csl
