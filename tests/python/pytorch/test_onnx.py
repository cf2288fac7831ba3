"""The ONNX models of DCT+Chop, run by onnxruntime, give what the codec gives."""

import numpy as np
import pytest
from conftest import waves

import tensorpress

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from tensorpress.onnx import write_compressor, write_decompressor

OPERATORS = {"MatMul", "Gather", "Pad", "Reshape"}
SHAPE = (2, 3, 30, 44)


def run(path, values):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: values})[0]


def models(folder, shape, **parameters):
    paths = folder / "compressor.onnx", folder / "decompressor.onnx"
    stated = write_compressor(paths[0], shape, **parameters)
    assert write_decompressor(paths[1], shape, **parameters) == tuple(shape)
    return *paths, stated


@pytest.mark.parametrize("layout", ["square", "triangle"])
@pytest.mark.parametrize("transform, cf", [("dct", 1), ("dct", 4), ("dct", 7), ("zfp", 3)])
def test_what_comes_back_is_what_the_codec_brings_back(tmp_path, layout, transform, cf):
    parameters = {"cf": cf, "layout": layout, "transform": transform}
    field = waves(SHAPE)
    compressor, decompressor, stated = models(tmp_path, SHAPE, **parameters)
    coefficients = run(compressor, field)
    assert coefficients.shape == stated
    wanted = tensorpress.decompress(tensorpress.compress(field, codec="dct-chop", **parameters))
    np.testing.assert_allclose(run(decompressor, coefficients), wanted, rtol=0, atol=2e-6)


@pytest.mark.parametrize("layout", ["square", "triangle"])
def test_the_coefficients_are_those_of_the_pytorch_module(tmp_path, layout):
    torch = pytest.importorskip("torch")
    from tensorpress.torch import ChopCompressor

    field = waves(SHAPE, "float64")
    compressor, _, _ = models(tmp_path, SHAPE, cf=5, layout=layout, dtype="float64")
    module = ChopCompressor(SHAPE, 5, layout, dtype=torch.float64)
    wanted = module(torch.from_numpy(field)).numpy()
    np.testing.assert_allclose(run(compressor, field), wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("layout", ["square", "triangle"])
def test_a_named_axis_takes_any_length(tmp_path, layout):
    compressor, decompressor, _ = models(tmp_path, ("batch", 3, 16, 16), cf=8, layout=layout)
    for batch in (1, 5):
        field = np.full((batch, 3, 16, 16), 0.5, "float32")
        found = run(decompressor, run(compressor, field))
        np.testing.assert_allclose(found, field, rtol=0, atol=1e-6)


def test_a_shape_may_be_of_numpys_numbers(tmp_path):
    shape = write_compressor(tmp_path / "x.onnx", np.array([2, 3, 16, 16]), cf=4)
    assert shape == (2, 3, 8, 8) and {type(extent) for extent in shape} == {int}


def test_a_single_plane_is_enough(tmp_path):
    compressor, decompressor, stated = models(tmp_path, (7, 9), cf=2, layout="triangle")
    assert stated == (2, 3)
    ones = np.ones((7, 9), "float32")
    np.testing.assert_allclose(run(decompressor, run(compressor, ones)), ones, rtol=0, atol=1e-6)


def test_the_models_pass_the_checker_and_hold_few_kinds_of_operators(tmp_path):
    for path in models(tmp_path, ("batch", 30, 44), cf=4, layout="triangle")[:2]:
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)
        assert {node.op_type for node in model.graph.node} <= OPERATORS


@pytest.mark.parametrize(
    "shape, parameters, error, message",
    [
        ((8,), {}, ValueError, "height, width"),
        ((8, 8), {"cf": 9}, ValueError, "1 to 8"),
        (("batch", "height", 8), {}, TypeError, "the height is 'height'"),
        ((-1, 8, 8), {}, ValueError, "-1 in shape"),
        ((8, 8), {"dtype": "int8"}, TypeError, "float32, float64, float16"),
        ((8, 8), {"layout": "round"}, ValueError, "square, triangle"),
    ],
)
def test_bad_arguments_are_named_and_nothing_is_written(
    tmp_path, shape, parameters, error, message
):
    for write in (write_compressor, write_decompressor):
        with pytest.raises(error, match=message):
            write(tmp_path / "model.onnx", shape, **parameters)
    assert not list(tmp_path.iterdir())
