"""The operators of every backend write the bytes of the library, and none waits for a device."""

import itertools
import json
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode

from tensorpress.device_check.checks import default_checks
from tensorpress.torch import compress_activations
from tensorpress.torch.backends import cpu, default
from tensorpress.torch.backends.registry import BACKENDS, Backend, Kernels, kernels_for
from tensorpress.torch.backends.rounding import ONE_KEY, key, pieces
from tensorpress.torch.backends.spare import groups_kept_raw, spare_of


class NoWaiting(TorchDispatchMode):
    """Refuses what makes the host wait for a device."""

    WAITS = ("_local_scalar_dense", "nonzero", "is_nonzero", "equal", "unique", "masked_select")

    def __init__(self):
        super().__init__()
        self.calls = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls += 1
        name = func.overloadpacket.__name__
        waits = any(name.startswith(each) for each in self.WAITS)
        device = (kwargs or {}).get("device")
        copies = name == "_to_copy" and device is not None
        # A place given by a mask is a nonzero too.
        masked = name in ("index", "index_put", "index_put_") and any(
            each is not None and each.dtype in (torch.bool, torch.uint8) for each in args[1]
        )
        if waits or copies or masked:
            raise AssertionError(f"{func} makes the host wait")
        return func(*args, **(kwargs or {}))


def test_pytorchs_own_operations_write_and_read_the_librarys_bytes():
    outcomes = list(default_checks(small=True))
    assert len(outcomes) > 400
    assert [outcome for outcome in outcomes if not outcome.same] == []


def test_triton_kernels_write_and_read_the_librarys_bytes_in_the_interpreter(tmp_path):
    pytest.importorskip("triton")
    path = tmp_path / "result.json"
    command = [sys.executable, "-m", "tensorpress.device_check", "--in-the-interpreter", "--small"]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [*command, "--json", path], env=environment, capture_output=True, text=True
    )
    assert path.exists(), done.stderr
    (part,) = json.loads(path.read_text())["parts"]
    assert part["failures"] == [] and part["checks"] > 400
    assert done.returncode == 0


# ---- Nothing waits ---------------------------------------------------------------------------


def test_the_mode_of_these_tests_notices_what_waits():
    values = torch.ones(3)
    for wait in (
        lambda: values.sum().item(),
        lambda: bool((values > 0).all()),
        lambda: values[values > 0],
        lambda: values.nonzero(),
        lambda: values.to("meta"),
    ):
        with pytest.raises(AssertionError, match="wait"), NoWaiting():
            wait()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_no_operator_of_a_device_waits(dtype):
    values = torch.randn(3, 40, 24).to(dtype)
    values[0, 0, 0] = torch.nan
    shape = values.shape
    with NoWaiting() as mode:
        for bits in (1, 2, 3, 4, 5, 6, 8):
            for rounding in ("nearest", "stochastic"):
                packed = default.quantize_pack(values, bits, 256, rounding, 7)
                default.quantize_unpack(packed, shape, dtype, bits, 256)
        signs = default.sign_pack(values)
        default.quantize_unpack(packed, shape, dtype, 8, 256, signs)
        default.restore_signs(default.sign_unpack(signs, shape, dtype), signs)
        for to in ("e4m3", "e5m2"):
            default.cast_unpack(default.cast_pack(values, to), shape, dtype, to)
            default.fp8_unpack(default.fp8_pack(values, to, 128), shape, dtype, to, 128)
        default.mask_unpack(default.mask_pack(values > 0), shape, torch.bool)
        default.mask_pack_flagged(values)
        kept = default.chop_pack(values, 4, "triangle", "dct")
        default.chop_unpack(kept, shape, dtype, 4, "triangle", "dct")
        room, _ = default.ceresz_pack(values, 1e-3)
        default.ceresz_unpack(room, shape, dtype, 1e-3)
    assert mode.calls > 500


def small_network():
    torch.manual_seed(2)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, padding=1),
        torch.nn.BatchNorm2d(16),
        torch.nn.ReLU(),
        torch.nn.Conv2d(16, 16, 3, padding=1),
        torch.nn.GELU(),
        torch.nn.Flatten(),
        torch.nn.Linear(16 * 256, 32),
        torch.nn.Tanh(),
        torch.nn.Linear(32, 4),
    )


@pytest.mark.parametrize("level", ["safe", "balanced", "max"])
def test_no_packed_activation_waits_after_the_first_step(level):
    """As on a device: PyTorch's own operations. The first step measures errors for the report."""
    model, inputs = small_network(), torch.randn(16, 3, 16, 16)
    with compress_activations(model, level, portable=True) as run:
        model(inputs).square().mean().backward()
        with NoWaiting() as mode:
            model(inputs).square().mean().backward()
        assert mode.calls > 200
    assert run.report().ratio > 1.3


# ---- What cannot be coded --------------------------------------------------------------------


@pytest.mark.parametrize("bits", [1, 3, 4, 8])
def test_groups_with_nan_come_back_exactly_and_others_as_ever(bits):
    values = torch.randn(1000)
    values[5], values[600], values[601] = torch.nan, torch.inf, 3e38
    values[602] = -3e38
    before = groups_kept_raw("cpu")
    packed = default.quantize_pack(values, bits, 256, "nearest", 0)
    assert groups_kept_raw("cpu") == before + 2
    back = default.quantize_unpack(packed, values.shape, values.dtype, bits, 256)
    assert torch.equal(back[:256].view(torch.int32), values[:256].view(torch.int32))
    assert torch.equal(back[512:768].view(torch.int32), values[512:768].view(torch.int32))
    clean = torch.cat([values[256:512], values[768:]])
    packed = cpu.quantize_pack(clean, bits, 256, "nearest", 0)
    want = cpu.quantize_unpack(packed, clean.shape, clean.dtype, bits, 256)
    assert torch.equal(torch.cat([back[256:512], back[768:]]), want)


def test_of_too_many_groups_the_first_come_back_as_nan():
    group = 65536
    slots = spare_of(torch.device("cpu"), group).slots - 1
    values = torch.full(((slots + 2) * group,), torch.inf)
    packed = default.quantize_pack(values, 4, group, "nearest", 0)
    back = default.quantize_unpack(packed, values.shape, values.dtype, 4, group)
    assert back[: 2 * group].isnan().all()
    assert torch.equal(back[2 * group :], values[2 * group :])


def test_records_that_name_groups_which_never_were_give_nan():
    packed = default.quantize_pack(torch.full((256,), torch.nan), 4, 256, "nearest", 0)
    for number in (-1, 2**62, -(2**63)):
        words = packed.view(torch.int32)
        words[1:3] = torch.tensor([number], dtype=torch.int64).view(torch.int32)
        assert default.quantize_unpack(packed, (256,), torch.float32, 4, 256).isnan().all()


def test_hostile_widths_of_ceresz_do_no_harm():
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        packed = torch.randint(0, 256, (400,), dtype=torch.uint8, generator=generator)
        for count in (1, 33, 2000):
            assert default.ceresz_unpack(packed, (count,), torch.float32, 1e-3).shape == (count,)
    with pytest.raises(ValueError, match="too few for 100 blocks"):
        default.ceresz_unpack(packed[:50], (3200,), torch.float32, 1e-3)
    with pytest.raises(ValueError, match="the bound 0.0 is not between"):
        default.ceresz_pack(torch.ones(3), 0.0)


# ---- The registry ----------------------------------------------------------------------------


def test_the_first_backend_of_a_device_that_has_an_operator_runs_it():
    assert kernels_for("cpu").quantize_pack is cpu.quantize_pack
    assert kernels_for("cpu").fp8_pack is default.fp8_pack
    assert kernels_for("mps").quantize_pack is default.quantize_pack
    missing = Backend(".triton", ("cuda",), needs="no_such_package")
    assert Kernels("cuda", [missing, BACKENDS[-1]]).quantize_pack is default.quantize_pack
    with pytest.raises(AttributeError, match="no backend has the operator fly for cpu"):
        kernels_for("cpu").fly  # noqa: B018


def test_cuda_and_xpu_have_the_triton_kernels():
    triton = pytest.importorskip("tensorpress.torch.backends.triton")
    for device in ("cuda", "xpu"):
        for name in triton.__all__:
            assert getattr(kernels_for(device), name) is getattr(triton, name)
        assert kernels_for(device).backend_of("quantize_pack") == "triton"


# ---- Random numbers of long tensors -----------------------------------------------------------


def test_long_tensors_are_packed_in_pieces_of_one_key():
    group = 768  # which does not divide 2^33
    count = 3 * ONE_KEY + 5
    cut = list(pieces(count, group, 9, stochastic=True))
    assert cut[0].begin == 0 and cut[-1].end == -(-count // group)
    for one, other in itertools.pairwise(cut):
        assert one.end == other.begin
    for number, piece in enumerate(cut):
        assert piece.begin * group // ONE_KEY == number
        assert (piece.end - 1) * group // ONE_KEY == number
        assert (piece.first, piece.second) == key(9, number)
    assert len(list(pieces(count, group, 9, stochastic=False))) == 1
