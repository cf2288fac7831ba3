"""Hosts of CSL programs: the vendor's module names, cslc, and the machine behind them."""

import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import PROGRAM

from tensorpress.csl.arrays import input_array_to_u32, memcpy_view

MACHINE = os.environ.get("TENSORPRESS_CSL") or str(PROGRAM.absolute().parent / "tensorpress-csl")
ENVIRONMENT = {**os.environ, "TENSORPRESS_CSL": MACHINE}

LAYOUT = """
param size: u16;
const memcpy = @import_module("<memcpy/get_params>", .{ .width = 2, .height = 1, .MEMCPYD2H_1 = @as(i16, 5) });
layout {
  @set_rectangle(2, 1);
  for (@range(u16, 2)) |x| {
    @set_tile_code(x, 0, "tile.csl", .{ .memcpy_params = memcpy.get_params(x), .size = size });
  }
  @export_name("a", [*]f32, true);
  @export_name("double", fn(f32)void);
}
"""  # noqa: E501
TILE = """
param memcpy_params;
param size: u16;
const sys = @import_module("<memcpy/memcpy>", memcpy_params);
const trace = @import_module("<debug>", .{ .key = "times", .buffer_size = 4 });
var a = @zeros([size]f32);
var a_ptr: [*]f32 = &a;
const a_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{size} -> a[i] });
const host = @get_color(@bitcast(u16, sys.MEMCPYD2H_1));
const out = sys.get_streaming_fabout_dsd(host, size, @get_output_queue(2));
fn double(by: f32) void {
  @fmuls(a_dsd, a_dsd, by);
  @fmovs(out, a_dsd, .{ .async = true });
  trace.trace_u16(size);
  sys.unblock_cmd_stream();
}
comptime { @export_symbol(a_ptr, "a"); @export_symbol(double); }
"""
HOST = """
import json
import sys

import numpy as np
from cerebras.sdk.debug.debug_util import debug_util
from cerebras.sdk.runtime.sdkruntimepybind import MemcpyDataType, MemcpyOrder, SdkRuntime

size = int(json.load(open("made/out.json"))["params"]["size"])
runner = SdkRuntime("made", cmaddr=None)
runner.load()
runner.run()
a = runner.get_id("a")
data = np.arange(2 * size, dtype=np.float32)
how = dict(streaming=False, data_type=MemcpyDataType.MEMCPY_32BIT, nonblock=False)
runner.memcpy_h2d(a, data, 0, 0, 2, 1, size, order=MemcpyOrder.ROW_MAJOR, **how)
runner.launch("double", np.float32(2), nonblock=False)
back = np.zeros(2 * size, np.float32)
runner.memcpy_d2h(back, a, 0, 0, 2, 1, size, order=MemcpyOrder.ROW_MAJOR, **how)
columns = np.zeros(2 * size, np.float32)
runner.memcpy_d2h(columns, a, 0, 0, 2, 1, size, order=MemcpyOrder.COL_MAJOR, **how)
how["streaming"] = True
streamed = np.zeros(2 * size, np.float32)
runner.memcpy_d2h(streamed, 5, 0, 0, 2, 1, size, order=MemcpyOrder.ROW_MAJOR, **how)
runner.stop()
assert back.tolist() == (2 * data).tolist(), back
assert streamed.tolist() == back.tolist(), streamed
assert columns.tolist() == back.reshape(2, size).T.ravel().tolist(), columns
assert debug_util("made").read_trace(4 + 1, 1 + 0, "times") == [size]
print("fine")
"""


def python(*words, folder):
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "layout.csl").write_text(LAYOUT)
    (tmp_path / "tile.csl").write_text(TILE)
    (tmp_path / "host.py").write_text(HOST)
    return tmp_path


def compiled(folder, *more):
    words = ("--arch=wse2", "./layout.csl", "--fabric-dims=9,3", "--fabric-offsets=4,1")
    return python("-m", "tensorpress.csl.compiler", *words, "-o", "made", *more, folder=folder)


def test_a_host_runs_unchanged(folder):
    made = compiled(folder, "--params=size:3", "--memcpy", "--channels", "1")
    assert made.returncode == 0, made.stderr
    done = python("-m", "tensorpress.csl", "host.py", folder=folder)
    assert done.stdout == "fine\n", done.stderr


def test_the_compiler_says_what_is_wrong(folder):
    made = compiled(folder)
    assert made.returncode == 1
    assert "the param 'size' of" in made.stderr and "--params=size:VALUE" in made.stderr
    assert compiled(folder, "--no-such-option").returncode == 2


def test_examples_are_counted(folder):
    (folder / "commands_wse2.sh").write_text(
        "set -e\ncslc ./layout.csl --fabric-offsets=4,1 --params=size:2 -o made\n"
        "cs_python host.py\n"
    )
    (folder / "broken").mkdir()
    (folder / "broken" / "commands_wse2.sh").write_text("cslc ../missing.csl\n")
    done = python("-m", "tensorpress.csl", "examples", ".", folder=folder)
    assert done.returncode == 1
    assert "1 of 2 examples pass" in done.stdout, done.stdout
    assert "missing.csl cannot be read" in done.stdout


def test_sixteen_bits_travel_in_words():
    words = input_array_to_u32(np.array([1, -1, 5], np.int16), 1, 2)
    assert words.tolist() == [1, 0x1FFFF, 5]
    assert memcpy_view(words, np.dtype(np.int16)).tolist() == [1, -1, 5]
    assert input_array_to_u32(np.array([1, -1], np.int16), None, 2).tolist() == [1, 0xFFFF]
