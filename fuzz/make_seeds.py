"""Writes the seeds of fuzz/corpus: small inputs that are known to be right, from which a fuzzer
starts.

    python3 fuzz/make_seeds.py

Seeds are named seed-*; what fuzzing adds is named by its checksum and is left alone. decode_any,
model_text and device_toml have few: ./dev fuzz and the replay give them tests/golden, models/ and
src/devices/data/ themselves. Needs nothing but Python.
"""

import json
import pathlib
import random
import struct

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parent / "tests" / "golden"
LARGEST_CHUNK = 20000


def sections(stream: bytes):
    """(type, flags, payload) of every section, as docs/format.md says."""
    at = 16
    while at + 48 <= len(stream):
        kind, flags, _, size, _ = struct.unpack_from("<4sIQQQ", stream, at)
        yield kind, flags, stream[at + 32 : at + 32 + size]
        at += 32 + -(-size // 8) * 8


def decode_any():
    whole = (GOLDEN / "raw_scalar.tpz").read_bytes()
    yield "prologue", whole[:16]
    yield "twice", whole + whole


def decode_chunk():
    """A u16 length, HEAD, and the first coded chunk of every golden stream."""
    for path in sorted(GOLDEN.glob("*.tpz")) + sorted(GOLDEN.glob("must-fail/*.tpz")):
        if path.stem.startswith("compact_"):  # version 2: decode_any knows these
            continue
        found = list(sections(path.read_bytes()))
        coded = [payload for kind, flags, payload in found if kind == b"CHNK" and not flags]
        if found and found[0][0] == b"HEAD" and coded and len(coded[0]) < LARGEST_CHUNK:
            head = found[0][2]
            yield path.stem, struct.pack("<H", len(head)) + head + coded[0]


def tensors():
    """Choices of inputs/tensor_case.cc: dtype, rank, extents, codec, the rest at random; then
    elements."""
    generator = random.Random(10)
    for codec in range(8):
        for dtype in range(6):
            rank = 1 + (codec + dtype) % 3
            extents = b"".join(bytes([0, generator.randrange(2, 24)]) for _ in range(rank))
            choices = generator.randbytes(40)
            waves = bytes(128 + (i * i // 7 + 3 * i) % 23 for i in range(64))
            yield (
                f"codec{codec}-dtype{dtype}",
                bytes([dtype, rank]) + extents + bytes([codec]) + choices + waves,
            )


def npy():
    headers = {
        "f4": "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }",
        "fortran": "{'descr': '>f8', 'fortran_order': True, 'shape': (2, 3, 1), }",
        "scalar": "{'descr': '<f2', 'fortran_order': False, 'shape': (), }",
        "bytes": "{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }",
        "bf16": "{'shape': (7,), 'fortran_order': False, 'descr': '<V2'}",
        "struct": "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1L,), }",
    }
    for name, text in headers.items():
        yield f"{name}-dict", text.encode()
        padded = (text + " " * (-(len(text) + 11) % 16) + "\n").encode()
        yield (
            f"{name}-v1",
            b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded + bytes(64),
        )
        yield (
            f"{name}-v3",
            b"\x93NUMPY\x03\x00" + struct.pack("<I", len(padded)) + padded + bytes(range(64)),
        )


def codebook_json():
    yield "text", b"ABC2"
    yield "text-runs", b"KJ2CBACJ2K"
    for lengths in ([1, 1], [1, 2, 3, 3], [2] * 4, [3, 3, 3, 3, 1]):
        book = {
            "codec": "ceresz2",
            "symbols": len(lengths),
            "first_symbol": -(len(lengths) // 2),
            "lengths": lengths,
            "made_with": "by hand",
        }
        yield f"json-{len(lengths)}-{lengths[0]}", json.dumps(book).encode()
    yield "nested", b'{"codec": ' + b"[" * 70 + b"]" * 70 + b"}"


def hdf5_cd_values():
    """A byte with the number of words, the words of docs/hdf5.md, elements."""
    elements = struct.pack("<20f", *(1.5 * i for i in range(20)))
    f64 = lambda value: list(struct.unpack("<II", struct.pack("<d", value)))
    for codec, bound in ((1, 2), (2, 1), (3, 2), (4, 0), (1, 3), (1, 4)):
        value = {0: 0.0, 4: 60.0}.get(bound, 1e-3)
        fills = [-9999.0] if bound else []
        words = [1, codec, bound, *f64(value), 4 if codec == 4 else 0, 1, len(fills)]
        words += [word for fill in fills for word in f64(fill)]
        whole = [*words, 1 | 1 << 16, *f64(-1e34), 2, 4, 5]
        for name, row in (("user", words), ("whole", whole)):
            yield (
                f"{name}-{codec}-{bound}",
                bytes([len(row)]) + struct.pack(f"<{len(row)}I", *row) + elements,
            )


def netcdf_notes():
    notes = {
        "variable": "TEMP",
        "type": "i16",
        "dimensions": ["TIME", "X"],
        "unlimited": ["TIME"],
        "attributes": {
            "units": "K",
            "scale_factor": {"f64": [0.01]},
            "missing_value": {"f32": ["nan", -1e34, "inf"]},
            "names": {"string": ["a", "b"]},
            "old": {"text": [255, 10]},
            "flags": {"u8": [0, 255]},
        },
        "global": {"title": "seed", "big": {"u64": [2**64 - 1]}, "small": {"i64": [-(2**63)]}},
        "coordinates": {"TIME": {"attributes": {"units": "days"}, "values": {"f64": [0.5, 1.5]}}},
    }
    yield "full", json.dumps(notes).encode()
    yield "least", b'{"variable": "x", "type": "f32", "dimensions": []}'
    yield (
        "nested",
        b'{"variable": "x", "type": "f32", "dimensions": [], "attributes": '
        + b"[" * 70
        + b"]" * 70
        + b"}",
    )


def model_text():
    """What the shipped models, which are replayed too, do not use."""
    data = "input x: f32[N, 8]\ntarget y: i64[N]\n"
    yield "least", f"{data}loss cross_entropy(linear(x, 4), y)\n".encode()
    yield (
        "repeat",
        f"{data}repeat i in 0..3\n  x = l.{{i}}: linear(x, 8 * (i + 1))\nend\n"
        "loss cross_entropy(x, y)\n".encode(),
    )
    yield (
        "block",
        (
            f"{data}block b(x, n = 4, on = true)\n  if on and not n == 3\n    x = relu(x)\n"
            "  else\n    x = -x\n"
            "  end\n  return linear(x, n % 7 // 1)\nend\nh = a.b: b(x, n = 4)\n"
            "output h\nloss cross_entropy(h, y)\n"
        ).encode(),
    )
    yield (
        "share",
        (
            f"{data}param w: f32[8] = 1.5e-1\nh = f: linear(x * w / 2 + 1, 8)\n"
            "h = share f: linear(h, 8)\n"
            "h = cat([h, x], 1)\nloss cross_entropy(h, y)\n"
        ).encode(),
    )
    yield (
        "entries",
        (
            f"{data}input a: csr f32[N, N] entries 3 * 7\n"
            "loss cross_entropy(spmm(a, l: linear(x, 4)), y)\n"
        ).encode(),
    )
    yield "mistake", f'{data}h = con2d(x, [1, none, "a"])\n'.encode()


def device_toml():
    """What the shipped devices, which are replayed too, do not show."""
    least = 'name = "x"\ntitle = "X"\n[compute]\nf32_flops = 1e12\n[on_chip]\n'
    least += "bytes = 1e9\n[host_link]\n"
    least += "to_device_bytes_per_second = 1e9\nfrom_device_bytes_per_second = 1e9\n"
    least += '[stacks.pytorch]\noperators = ["*"]\n'
    yield "least", (least + '[placement]\ntensors = "on-chip"\n').encode()
    yield (
        "strange",
        (
            least.replace("1e12", '{ value = nan, origin = "guessed" }')
            + "[placement]\ntensors = 3\n"
        ).encode(),
    )
    yield "nested", b"name = " + b"[" * 300 + b"]" * 300


def plan_json():
    """What docs/plan.md names: plans of the target's small model, and statistics of it."""
    rules = {
        "norm1.normalized": {"codec": "quantize", "bits": 2, "rounding": "stochastic"},
        "relu1": "rebuild",
        "pool1": {"codec": "cast", "to": "e4m3"},
        "act2": {"codec": "dct-chop", "cf": 4},
    }
    yield (
        "by-name",
        json.dumps({"tensorpress_plan": 1, "model": "small", "by_name": rules}).encode(),
    )
    for rule in ("keep", "offload", {"codec": "dense", "relative": 0.01}):
        name = rule if isinstance(rule, str) else rule["codec"]
        yield f"default-{name}", json.dumps({"default": rule, "waiting_gradients": 8}).encode()
    for level in ("off", "lossless", "safe", "balanced", "max"):
        yield level, json.dumps({"level": level, "min_bytes": 100, "exact_2d_bytes": 0}).encode()
    measured = {"zeros": 0.5, "dct_energy": 0.6, "scores": {"quantize 4 bits": 0.99}}
    yield "statistics", json.dumps({"activations": {"relu1": measured}}).encode()
    yield "nested", b'{"default": ' + b"[" * 70 + b"]" * 70 + b"}"


def graph_json():
    """What tensorpress.torch.write_graph writes, in small."""

    def tensor(name, shape, role, dtype="float32"):
        return {"name": name, "shape": shape, "type": dtype, "role": role}

    for name, weights in (("matmul", [8, 4]), ("conv2d", [4, 3, 2, 2]), ("sparse_mm", [9])):
        tensors = [
            tensor("x", [2, None, 8], "input"),
            tensor("w", weights, "constant", "float16"),
            tensor("y", [2, 3, 4], "output"),
        ]
        program = {
            "format": "tensorpress-graph",
            "version": 1,
            "name": name,
            "tensors": tensors,
            "operators": [{"name": name, "inputs": [0, 1], "outputs": [2]}],
        }
        yield name, json.dumps(program).encode()


def wafer_layout():
    """Choices of wafer_layout.cc, at random: most mean something."""
    generator = random.Random(11)
    for i in range(24):
        yield f"random-{i:02}", generator.randbytes(100 + 30 * i)


SEEDS = {
    "decode_any": decode_any,
    "decode_chunk": decode_chunk,
    "roundtrip": tensors,
    "isa_threads_diff": tensors,
    "npy": npy,
    "codebook_json": codebook_json,
    "hdf5_cd_values": hdf5_cd_values,
    "netcdf_notes": netcdf_notes,
    "model_text": model_text,
    "device_toml": device_toml,
    "plan_json": plan_json,
    "graph_json": graph_json,
    "wafer_layout": wafer_layout,
}

if __name__ == "__main__":
    for target, make in SEEDS.items():
        folder = HERE / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in make():
            (folder / f"seed-{name}").write_bytes(data)
