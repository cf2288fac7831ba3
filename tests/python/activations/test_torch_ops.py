"""Packing as operators of PyTorch: registered properly, and no obstacle to compilation."""

import pytest

torch = pytest.importorskip("torch")

from tensorpress import _core
from tensorpress.torch import ops
from tensorpress.torch.backends import cpu as native_packing
from tensorpress.torch.backends import default as portable_packing

torch.manual_seed(1)
X = torch.randn(3, 5, 7)
SIGNS = native_packing.sign_pack(X)
MASK = (X > 0).float()
CALLS = {
    "quantize_pack": (X, 4, 256, "nearest", 0),
    "quantize_unpack": (
        native_packing.quantize_pack(X, 4, 256, "nearest", 0),
        X.shape,
        X.dtype,
        4,
        256,
    ),
    "cast_pack": (X, "e4m3"),
    "cast_unpack": (native_packing.cast_pack(X, "f16"), X.shape, X.dtype, "f16"),
    "sign_pack": (X,),
    "sign_unpack": (SIGNS, X.shape, torch.bfloat16),
    "restore_signs": (-X, SIGNS),
    "mask_pack": (MASK,),
    "mask_unpack": (native_packing.mask_pack(MASK), X.shape, torch.float32),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_operator_passes_pytorchs_own_checks(name):
    arguments = CALLS[name]
    torch.library.opcheck(getattr(torch.ops.tensorpress, name).default, arguments)


def test_a_compiled_function_that_packs_is_one_graph():
    def there_and_back(x):
        packed = torch.ops.tensorpress.quantize_pack(x.relu(), 8, 256, "nearest", 0)
        signs = torch.ops.tensorpress.sign_pack(x)
        back = torch.ops.tensorpress.quantize_unpack(packed, x.shape, x.dtype, 8, 256)
        return torch.ops.tensorpress.restore_signs(back, signs) * 2

    compiled = torch.compile(there_and_back, backend="aot_eager", fullgraph=True, dynamic=True)
    for size in (10, 11):
        x = torch.randn(size, 300)
        assert torch.equal(compiled(x), there_and_back(x))


@pytest.mark.parametrize(
    "bits, group",
    [(1, 256), (2, 128), (3, 256), (3, 768), (4, 64), (5, 512), (6, 128), (8, 32), (4, 1024)],
)
def test_sizes_are_known_without_packing(bits, group):
    for count in (0, 1, 31, 32, 33, 255, 256, 257, 1000, 4096):
        assert ops.quantized_size(count, bits, group) == _core.quantize_size(count, bits, group)


def test_values_that_cannot_be_packed_are_an_error():
    with pytest.raises(ValueError, match="keep them"):
        torch.ops.tensorpress.quantize_pack(torch.tensor([1.0, float("nan")]), 4, 256, "nearest", 0)
    with pytest.raises(ValueError, match="0 and one other"):
        torch.ops.tensorpress.mask_pack(torch.tensor([1.0, 2.0]))
    with pytest.raises(ValueError, match="rounding 'up'"):
        torch.ops.tensorpress.quantize_pack(X, 4, 256, "up", 0)
    with pytest.raises(ValueError, match="use f16, bf16, e4m3 or e5m2"):
        _core.cast_pack(X.view(-1), torch.empty(105, dtype=torch.uint8), "f8", 1)


# ---- The portable packing and the library's --------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("count", [1, 77, 1000, 1280])
def test_portable_and_native_packing_write_and_read_the_same_bytes(dtype, count):
    kinds = {
        "relu": torch.randn(count).relu(),
        "shifted": torch.randn(count) + 3,
        "small": 1e-3 * torch.randn(count),
    }
    for values in kinds.values():
        values = values.to(dtype)
        signs = native_packing.sign_pack(values)
        assert torch.equal(signs, portable_packing.sign_pack(values))
        for bits in (2, 3, 4, 5, 6, 8):
            one, other = (
                packing.quantize_pack(values, bits, 256, "nearest", 0)
                for packing in (native_packing, portable_packing)
            )
            assert torch.equal(one, other)
            for beside in (None, signs):
                unpacked = [
                    packing.quantize_unpack(one, values.shape, dtype, bits, 256, beside)
                    for packing in (native_packing, portable_packing)
                ]
                assert torch.equal(*unpacked)
        for to in ("e4m3", "e5m2"):
            one = native_packing.cast_pack(values, to)
            assert torch.equal(one, portable_packing.cast_pack(values, to))
            unpacked = portable_packing.cast_unpack(one, values.shape, dtype, to)
            assert torch.equal(native_packing.cast_unpack(one, values.shape, dtype, to), unpacked)
        mask = torch.where(values > 0, 1.25, 0.0).to(dtype)
        one = native_packing.mask_pack(mask)
        assert torch.equal(one, portable_packing.mask_pack(mask))
        assert torch.equal(portable_packing.mask_unpack(one, mask.shape, dtype), mask)


def test_portable_stochastic_rounding_is_unbiased():
    values = torch.linspace(0, 1, 256).repeat(400)
    packed = portable_packing.quantize_pack(values, 2, 256, "stochastic", 7)
    back = portable_packing.quantize_unpack(packed, values.shape, values.dtype, 2, 256)
    error = (back - values).view(400, 256).mean(0)
    # A mean of 400 values that are up to a step of 1/3 off, uniform or less: five deviations.
    assert error.abs().max() < 5 * (1 / 3) / 2 / 400**0.5
    other = portable_packing.quantize_pack(values, 2, 256, "stochastic", 8)
    assert not torch.equal(packed, other)


def test_what_cannot_be_represented_is_refused_on_the_cpu():
    bad = torch.randn(300)
    bad[7] = float("inf")
    wide = torch.tensor([-3e38, 3e38])
    for values in (bad, wide):
        assert native_packing.quantize_pack(values, 4, 256, "nearest", 0) is None
    assert native_packing.cast_pack(torch.tensor([1e5]), "f16") is None
    for packing in (native_packing, portable_packing):
        assert packing.mask_pack(torch.tensor([1.0, 0.0, 2.0])) is None
        assert packing.mask_pack(torch.tensor([1.0, -0.0])) is None


def test_elsewhere_what_is_too_large_for_a_type_becomes_its_largest():
    values = torch.tensor([1e5, -1e9, torch.inf, -torch.inf, 3.0])
    packed = portable_packing.cast_pack(values, "f16")
    back = portable_packing.cast_unpack(packed, values.shape, values.dtype, "f16")
    assert back.tolist() == [65504.0, -65504.0, torch.inf, -torch.inf, 3.0]
    packed = portable_packing.cast_pack(values, "e4m3")
    back = portable_packing.cast_unpack(packed, values.shape, values.dtype, "e4m3")
    assert back[[0, 1, 4]].tolist() == [448.0, -448.0, 3.0] and back[2:4].isnan().all()


def test_scaled_fp8_keeps_three_bits_at_any_size():
    values = torch.randn(1000) * 10.0 ** torch.linspace(-30, 30, 1000)
    packed = ops.fp8_pack(values, "e4m3", 1)
    assert packed.numel() == 2000
    back = ops.fp8_unpack(packed, values.shape, values.dtype, "e4m3", 1)
    assert ((back - values).abs() <= values.abs() / 16).all()
    with pytest.raises(ValueError, match="use e4m3 or e5m2"):
        ops.fp8_pack(values, "f16", 32)
    with pytest.raises(ValueError, match="1 to 65536"):
        ops.fp8_pack(values, "e4m3", 0)


# ---- Memory that does not fit is an error ----------------------------------------------------


def test_wrong_sizes_types_and_strides_are_errors():
    values, packed = torch.randn(256), torch.empty(132, dtype=torch.uint8)
    with pytest.raises(ValueError, match="256 values take 132"):
        _core.quantize_pack(values, packed[:100], 4, 256, "nearest", 0, 1)
    with pytest.raises(TypeError, match="uint8"):
        _core.quantize_pack(values, torch.empty(33), 4, 256, "nearest", 0, 1)
    with pytest.raises(ValueError, match="contiguous"):
        _core.quantize_pack(torch.randn(256, 2)[:, 0], packed, 4, 256, "nearest", 0, 1)
    with pytest.raises(ValueError):
        _core.quantize_size(10, 7, 256)
    with pytest.raises(ValueError):
        _core.quantize_pack(torch.randn(256).double(), packed, 4, 256, "nearest", 0, 1)
    with pytest.raises(ValueError, match="share memory"):
        room = torch.zeros(1024, dtype=torch.uint8)
        _core.quantize_pack(room.view(torch.float32), room[:132], 4, 256, "nearest", 0, 1)


def test_indices_outside_their_windows_are_refused():
    indices = torch.tensor([[[0, 2], [8, 10]]])
    packed = torch.empty(1, dtype=torch.uint8)
    windows = ((4, 4), (2, 2), (2, 2), (0, 0), (1, 1))
    assert _core.window_pack(indices, packed, *windows)
    back = torch.empty_like(indices)
    assert _core.window_unpack(packed, back, *windows) and torch.equal(back, indices)
    assert not _core.window_pack(indices + 16, packed, *windows)
    assert not _core.window_pack(indices.flip(-1), packed, *windows)
    # Bytes that would point outside the plane never become indices.
    padded = ((4, 4), (2, 2), (2, 2), (1, 1), (1, 1))
    assert not _core.window_unpack(torch.zeros(1, dtype=torch.uint8), back, *padded)
    with pytest.raises(ValueError, match="more than 256 places"):
        _core.window_size(4, (17, 17))


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_do_not_change_the_bytes(threads):
    values = torch.randn(3_000_003)
    size = _core.quantize_size(values.numel(), 2, 256)
    results = []
    for count in (1, threads):
        packed = torch.empty(size, dtype=torch.uint8)
        _core.quantize_pack(values, packed, 2, 256, "stochastic", 9, count)
        signs = torch.empty(_core.sign_size(values.numel()), dtype=torch.uint8)
        _core.sign_pack(values, signs, count)
        back = torch.empty_like(values)
        _core.quantize_unpack(packed, back, 2, 256, signs, count)
        results.append((packed, signs, back))
    assert all(torch.equal(one, other) for one, other in zip(*results, strict=True))
    assert torch.equal(results[0][2] > 0, values > 0)


def test_the_library_packs_what_pytorch_has_yet_to_negate_as_it_reads():
    negated = torch._neg_view(torch.randn(1000))  # as the imaginary part of a conjugate is
    plain = negated.resolve_neg()
    assert negated.is_neg() and negated.is_contiguous()
    for pack in (
        lambda x: native_packing.quantize_pack(x, 8, 256, "nearest", 0),
        lambda x: native_packing.cast_pack(x, "bf16"),
        native_packing.sign_pack,
    ):
        assert torch.equal(pack(negated), pack(plain))


def test_any_seed_of_pytorch_is_one():
    packed = [
        ops.quantize_pack(X, 4, 256, "stochastic", seed) for seed in (-1, 2**63 - 1, -(2**63))
    ]
    assert len({bytes(each.numpy()) for each in packed}) == 3
