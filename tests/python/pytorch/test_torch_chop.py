"""DCT+Chop in PyTorch gives what the codec gives, with gradients, however PyTorch runs it."""

import copy
import warnings

import numpy as np
import pytest
from conftest import waves

import tensorpress

torch = pytest.importorskip("torch")

from tensorpress.torch import ChopCompressor, ChopDecompressor, compressed_shape

# Sides that are whole blocks, that need padding, that are smaller than a block.
PLANES = [(32, 48), (30, 41), (3, 5), (1, 1), (9, 64)]
KINDS = [
    (transform, layout, cf)
    for transform, most in (("dct", 8), ("zfp", 4))
    for layout in ("square", "triangle")
    for cf in range(1, most + 1)
]


pytestmark = pytest.mark.usefixtures("one_thread")


def pair(shape, *arguments, **keywords):
    compressor = ChopCompressor(shape, *arguments, **keywords)
    return compressor, compressor.decompressor()


def of_codec(field, **parameters):
    packed = tensorpress.compress(field, codec="dct-chop", **parameters)
    return tensorpress.decompress(packed)


@pytest.mark.parametrize("transform, layout, cf", KINDS)
def test_what_comes_back_is_what_the_codec_brings_back(transform, layout, cf):
    for plane in PLANES:
        field = waves((2, 3, *plane))
        compressor, decompressor = pair(plane, cf, layout, transform)
        if compressor.ratio < 1:  # then the codec stores the field as it is
            continue
        wanted = of_codec(field, cf=cf, layout=layout, transform=transform)
        found = decompressor(compressor(torch.from_numpy(field))).numpy()
        np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-6)


@pytest.mark.parametrize("layout", ["square", "triangle"])
@pytest.mark.parametrize("plane", [(16, 24), (18, 22)])
def test_the_compressed_tensor_is_the_payload_of_the_stream(layout, plane):
    """Whole numbers and ZFP's transform are exact in float32, so the bytes are the same."""
    field = np.random.default_rng(1).integers(-99, 99, (3, *plane)).astype("float32")
    packed = tensorpress.compress(field, codec="dct-chop", cf=3, layout=layout, transform="zfp")
    coefficients = ChopCompressor(plane, 3, layout, "zfp")(torch.from_numpy(field))
    assert coefficients.numpy().tobytes() in bytes(packed)


@pytest.mark.parametrize("layout", ["square", "triangle"])
@pytest.mark.parametrize("serialize", [2, 3, 64])
def test_serialized_parts_give_the_same_with_smaller_matrices(layout, serialize):
    field = torch.from_numpy(waves((2, 60, 44), "float64"))
    whole, back = pair((60, 44), 5, layout, dtype=torch.float64)
    parts, back_from_parts = pair((60, 44), 5, layout, serialize=serialize, dtype=torch.float64)
    coefficients = whole(field)
    torch.testing.assert_close(parts(field), coefficients, rtol=0, atol=1e-13)
    torch.testing.assert_close(
        back_from_parts(coefficients), back(coefficients), rtol=0, atol=1e-13
    )
    blocks = -(-8 // serialize)
    assert parts.left.shape == (blocks * 5, blocks * 8)


def test_serialized_parts_give_what_the_matmul_form_of_the_codec_gives():
    field = waves((60, 44))
    wanted = of_codec(field, cf=5, form="matmul", serialize=3)
    compressor, decompressor = pair(field.shape, 5, serialize=3)
    found = decompressor(compressor(torch.from_numpy(field)))
    np.testing.assert_allclose(found.numpy(), wanted, rtol=0, atol=2e-6)


@pytest.mark.parametrize("shape", [(16, 24), (0, 16, 24), (5, 16, 24), (2, 1, 2, 16, 24)])
@pytest.mark.parametrize("layout", ["square", "triangle"])
def test_any_number_of_leading_axes_has_the_stated_shape_and_ratio(shape, layout):
    compressor, decompressor = pair(shape, 3, layout)
    coefficients = compressor(torch.ones(shape))
    assert tuple(coefficients.shape) == compressor.compressed_shape(shape)
    assert tuple(coefficients.shape) == compressed_shape(shape, 3, layout)
    assert decompressor(coefficients).shape == shape
    assert compressor.ratio == decompressor.ratio == 64 / (9 if layout == "square" else 6)


@pytest.mark.parametrize("transform", ["dct", "zfp"])
@pytest.mark.parametrize("layout", ["square", "triangle"])
@pytest.mark.parametrize("serialize", [1, 2])
def test_gradients_are_those_of_finite_differences(transform, layout, serialize):
    compressor, decompressor = pair((11, 9), 3, layout, transform, serialize, dtype=torch.float64)
    x = torch.randn(2, 11, 9, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(compressor, x)
    coefficients = compressor(x).detach().requires_grad_()
    assert torch.autograd.gradcheck(decompressor, coefficients)


class RoundTrip(torch.nn.Module):
    def __init__(self, layout, serialize):
        super().__init__()
        self.compressor, self.decompressor = pair((30, 32), 4, layout, serialize=serialize)

    def forward(self, x):
        return self.decompressor(self.compressor(x))


@pytest.mark.parametrize("layout, serialize", [("square", 1), ("triangle", 2)])
@pytest.mark.parametrize("way", ["compile", "compile with gradients", "export", "trace"])
def test_captured_graphs_give_the_same_bits_for_any_batch(way, layout, serialize):
    module = RoundTrip(layout, serialize)
    first, other = torch.randn(4, 3, 30, 32), torch.randn(7, 3, 30, 32)
    torch._dynamo.reset()
    if way == "compile":
        captured = torch.compile(module, backend="eager", fullgraph=True)
    elif way == "compile with gradients":
        captured = torch.compile(module, backend="aot_eager", fullgraph=True)
        first.requires_grad_()
    elif way == "export":
        batch = torch.export.Dim("batch")
        captured = torch.export.export(module, (first,), dynamic_shapes=({0: batch},)).module()
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("error", torch.jit.TracerWarning)
            captured = torch.jit.trace(module, first)
    for x in (first, other):
        torch.testing.assert_close(captured(x), module(x), rtol=0, atol=0)
    if first.requires_grad:
        (found,) = torch.autograd.grad(captured(first).square().sum(), first)
        (wanted,) = torch.autograd.grad(module(first).square().sum(), first)
        torch.testing.assert_close(found, wanted)


def test_the_matrices_follow_the_module_and_are_rounded_once():
    moved = ChopCompressor((30, 32), 4, "triangle").to(torch.bfloat16).to(torch.float64)
    made = ChopCompressor((30, 32), 4, "triangle", dtype=torch.float64)
    assert torch.equal(moved.left, made.left) and torch.equal(moved.right, made.right)
    assert moved.places.dtype == torch.int64
    emptied = ChopCompressor((30, 32), 4, "triangle", device="meta").to_empty(device="cpu").double()
    assert torch.equal(emptied.left, made.left) and torch.equal(emptied.places, made.places)
    assert made.decompressor().dtype == torch.float64
    assert torch.equal(copy.deepcopy(moved).left, made.left)
    assert not made.state_dict() and not list(made.parameters())


@pytest.mark.parametrize("dtype, close", [(torch.float16, 4e-3), (torch.bfloat16, 3e-2)])
def test_half_precision_comes_near_single(dtype, close):
    field = torch.from_numpy(waves((2, 32, 32)))
    compressor, decompressor = pair((32, 32), 4)
    wanted = decompressor(compressor(field))
    found = decompressor.to(dtype)(compressor.to(dtype)(field.to(dtype)))
    assert found.dtype == dtype
    torch.testing.assert_close(found.float(), wanted, rtol=0, atol=close)


def test_autocast_may_hand_over_another_type_than_that_of_the_matrices():
    compressor, decompressor = pair((32, 32), 4)
    with torch.autocast("cpu", torch.bfloat16):
        found = decompressor(compressor(torch.ones(2, 32, 32)))
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.float(), torch.ones(2, 32, 32), rtol=0, atol=2e-2)


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: ChopCompressor((8, 8), 0), ValueError, "cf, the chop factor, is 0.* 1 to 8"),
        (lambda: ChopCompressor((8, 8), 9), ValueError, "1 to 8"),
        (lambda: ChopCompressor((8, 8), 5, transform="zfp"), ValueError, "4 x 4 blocks"),
        (lambda: ChopCompressor((8, 8), 2.5), TypeError, "whole number"),
        (lambda: ChopCompressor((8, 8), 4, "circle"), ValueError, "square, triangle"),
        (lambda: ChopCompressor((8, 8), 4, transform="fft"), ValueError, "dct, zfp"),
        (lambda: ChopCompressor((8, 8), 4, serialize=0), ValueError, "serialize is 0"),
        (lambda: ChopCompressor((8,), 4), ValueError, "height, width"),
        (lambda: ChopDecompressor((0, 8), 4), ValueError, "height is 0"),
        (lambda: compressed_shape((8,)), ValueError, "height, width"),
        (lambda: ChopCompressor((8, 8), dtype=torch.int32), TypeError, "int32"),
    ],
)
def test_bad_parameters_are_named_with_the_way_out(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    "x, error, message",
    [
        (torch.ones(3, 8, 8, dtype=torch.uint8), TypeError, r"uint8.*\.float\(\)"),
        (torch.ones(8, 8, dtype=torch.complex64), TypeError, "complex64"),
        (torch.ones(8, 8, dtype=torch.float64), TypeError, r"float64.*float32.*\.to\("),
        (torch.ones(8), ValueError, "1 axes"),
        (torch.ones(2, 8, 16), ValueError, r"planes of 8 x 8.*\(2, 8, 16\)"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(x, error, message):
    with pytest.raises(error, match=message):
        ChopCompressor((8, 8), 4)(x)
