"""DCT+Chop as ONNX models, for any runtime: MatMul, and for the triangle Gather, Pad and Reshape.

The same numbers as tensorpress.torch and the codec dct-chop, to float rounding, in the same order.

>>> import os, tempfile, tensorpress.onnx
>>> path = os.path.join(tempfile.mkdtemp(), "chop.onnx")
>>> tensorpress.onnx.write_compressor(path, ("batch", 3, 32, 32), cf=4)
('batch', 3, 16, 16)

Inside this package `import onnx` is the onnx package; importing tensorpress does not import it.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from ._chop import Chop

TYPES = {
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "float16": TensorProto.FLOAT16,
}
# Pad with axes came with 18; IR 8 is the oldest that has it, so old runtimes read it too.
OPSET, IR_VERSION = 18, 8

Extent = int | str


def write_compressor(
    path: str | os.PathLike[str],
    shape: Sequence[Extent],
    *,
    cf: int = 4,
    layout: str = "square",
    transform: str = "dct",
    dtype: str = "float32",
) -> tuple[Extent, ...]:
    """Writes a model that turns `x` into `coefficients`, and returns the shape of these.

    shape is that of x, (..., height, width); any of the leading axes may be a name, such as
    "batch", and is then of any length. The other arguments are those of ChopCompressor.
    """
    chop = Chop(shape, cf, layout, transform)
    model = _Model(shape, dtype)
    rows, columns = chop.rows, chop.columns
    model.constant("left", rows.forward(transform, rows.extent))
    model.constant("right", columns.forward(transform, columns.extent).T)
    model.node("MatMul", ["x", "right"], "inner")
    if layout == "square":
        model.node("MatMul", ["left", "inner"], "coefficients")
    else:
        model.node("MatMul", ["left", "inner"], "square")
        model.reshape("square", (math.prod(chop.square),), "values")
        model.constant("places", chop.triangle_places())
        model.node("Gather", ["values", "places"], "kept", axis=model.leading)
        model.reshape("kept", chop.compressed_plane, "coefficients")
    return model.write(path, "x", chop.plane, "coefficients", chop.compressed_plane)


def write_decompressor(
    path: str | os.PathLike[str],
    shape: Sequence[Extent],
    *,
    cf: int = 4,
    layout: str = "square",
    transform: str = "dct",
    dtype: str = "float32",
) -> tuple[Extent, ...]:
    """Writes the model of the way back, `coefficients` to `x`; shape is that of x, as it returns.

    >>> write_decompressor(path, ("batch", 3, 32, 32), cf=4)
    ('batch', 3, 32, 32)
    """
    chop = Chop(shape, cf, layout, transform)
    model = _Model(shape, dtype)
    rows, columns = chop.rows, chop.columns
    model.constant("left", rows.inverse(transform, rows.extent))
    model.constant("right", columns.inverse(transform, columns.extent).T)
    square = "coefficients"
    if layout == "triangle":
        # A scatter along the last axis, written as a gather: dropped places point to a zero that
        # is put behind the values.
        places = chop.triangle_places()
        sources = np.full(math.prod(chop.square), len(places), np.int64)
        sources[places] = np.arange(len(places))
        model.reshape("coefficients", (len(places),), "kept")
        model.constant("one_behind", np.array([0, 1], np.int64))
        model.constant("last_axis", np.array([model.leading], np.int64))
        model.node("Pad", ["kept", "one_behind", "", "last_axis"], "kept_and_zero")
        model.constant("sources", sources)
        model.node("Gather", ["kept_and_zero", "sources"], "values", axis=model.leading)
        model.reshape("values", chop.square, "square")
        square = "square"
    model.node("MatMul", [square, "right"], "inner")
    model.node("MatMul", ["left", "inner"], "x")
    return model.write(path, "coefficients", chop.compressed_plane, "x", chop.plane)


class _Model:
    """Collects the nodes and constants of a graph on (..., rows, columns)."""

    def __init__(self, shape: Sequence[Extent], dtype: str) -> None:
        if dtype not in TYPES:
            raise TypeError(f"dtype is {dtype!r}; it is one of {', '.join(TYPES)}")
        self.dtype = dtype
        self.batch = tuple(_extent(each) for each in shape[:-2])
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    @property
    def leading(self) -> int:
        """How many axes come before the plane."""
        return len(self.batch)

    def constant(self, name: str, values: np.ndarray) -> None:
        if values.dtype.kind == "f":
            values = values.astype(self.dtype)
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))

    def node(self, operator: str, inputs: list[str], output: str, **attributes: int) -> None:
        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, **attributes))

    def reshape(self, source: str, plane: tuple[int, ...], output: str) -> None:
        """The leading axes stay as they are: 0 stands for that."""
        self.constant(f"{output}_shape", np.array((0,) * self.leading + plane, np.int64))
        self.node("Reshape", [source, f"{output}_shape"], output)

    def write(
        self,
        path: str | os.PathLike[str],
        source: str,
        source_plane: tuple[int, int],
        result: str,
        result_plane: tuple[int, int],
    ) -> tuple[Extent, ...]:
        element = TYPES[self.dtype]
        shape = self.batch + result_plane
        graph = helper.make_graph(
            self.nodes,
            "dct-chop",
            [helper.make_tensor_value_info(source, element, self.batch + source_plane)],
            [helper.make_tensor_value_info(result, element, shape)],
            self.constants,
        )
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(
            graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="tensorpress"
        )
        onnx.checker.check_model(model, full_check=True)
        onnx.save_model(model, os.fspath(path))
        return shape


def _extent(given: Extent) -> Extent:
    """A length, also one of NumPy's, or a name."""
    if isinstance(given, str) and given:
        return given
    if hasattr(given, "__index__") and not isinstance(given, bool) and given >= 0:
        return operator.index(given)
    raise ValueError(f"{given!r} in shape is neither a length nor the name of an axis")
