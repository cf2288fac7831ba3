"""tensorpress wafer check: what a compiler says of a CSL program."""

import pytest

LAYOUT = """param M: i16;
const memcpy = @import_module("<memcpy/get_params>", .{ .width = 1, .height = 1 });
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(0), .M = M });
  @export_name("y", [*]f32, false);
  @export_name("fill", fn()void);
}
"""
TILE = """param memcpy_params: comptime_struct;
param M: i16;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
var y: [M]f32 = @zeros([M]f32);
var y_ptr: [*]f32 = &y;
fn fill() void {
  for (@range(i16, M)) |i| {
    y[i] = @as(f32, i);
  }
}
comptime {
  @export_symbol(y_ptr, "y");
  @export_symbol(fill);
}
"""


@pytest.fixture
def program(tensorpress):
    def write(tile=TILE):
        (tensorpress.directory / "layout.csl").write_text(LAYOUT)
        (tensorpress.directory / "pe.csl").write_text(tile)

    write()
    return write


def test_a_good_program_says_what_it_takes(tensorpress, program):
    said = tensorpress("wafer", "check", "layout.csl", "--params=M:4", "--json").json
    assert said["ok"] and (said["width"], said["height"]) == (1, 1)
    assert said["programs"][0]["data_bytes"] == 4 * 4 + 2 and said["diagnostics"] == []
    text = tensorpress("wafer", "check", "layout.csl", "--params=M:4").out.decode()
    assert "1 x 1 PEs, 1 tile program" in text


def test_memory_that_does_not_fit_is_listed_by_size(tensorpress, program):
    checked = tensorpress("wafer", "check", "layout.csl", "--params=M:20000", status=1)
    text = checked.out.decode()
    assert "pe.csl:4:5: error:" in text and "its SRAM has 49152" in text
    assert "80000 bytes  y" in text and "1 error\n" in text


def test_a_name_that_nobody_declares_has_a_line_and_a_caret(tensorpress, program):
    program(TILE.replace("y[i] =", "z[i] ="))
    text = tensorpress("wafer", "check", "layout.csl", "--params=M:4", status=1).out.decode()
    assert "pe.csl:8:5: error: 'z' is not declared\n      z[i] = @as(f32, i);\n" in text
    one = tensorpress("wafer", "check", "layout.csl", "--params=M:4", "--json", status=1).json
    assert [(each["file"], each["line"]) for each in one["diagnostics"]] == [("pe.csl", 8)]


def test_a_param_without_a_value_names_the_option(tensorpress, program):
    text = tensorpress("wafer", "check", "layout.csl", status=1).out.decode()
    assert "--params=M:VALUE" in text


def test_an_end_too_early_is_an_error(tensorpress, program):
    for size in range(0, len(LAYOUT), 7):
        (tensorpress.directory / "cut.csl").write_text(LAYOUT[:size])
        checked = tensorpress("wafer", "check", "cut.csl", "--params=M:4", status=1)
        assert b"error" in checked.out


def test_bad_usage_has_status_2(tensorpress, program):
    assert "none.csl" in tensorpress.refuses("wafer", "check", "none.csl")
    assert "NAME:VALUE" in tensorpress.refuses("wafer", "check", "layout.csl", "--params", "M")
