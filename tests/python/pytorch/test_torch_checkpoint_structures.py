"""What a compressed checkpoint may hold comes back as it was; the rest is refused by name."""

import collections
import math
import random

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from test_torch_checkpoint import bits
from torch import nn

from tensorpress.torch import load, save


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.tpck"


def test_structures_come_back_as_they_were(path):
    before = {
        "numbers": [1, -(2**70), 0.1, 1e308, 5e-324, -0.0, True, False, None, 3 + 4j],
        "texts": ["", "grüße", "\ud800", "$tensor", b"\x00\xff"],
        "nested": ({"a": (1, [2, (3,)])}, [], {}, (), set(), {1, 2}, frozenset({"x"})),
        "keys": {0: "int", (1, "a"): "tuple", None: "none", 2.5: "float", True: "bool"},
        "$tensor": {"$dict": 0},
        "ordered": collections.OrderedDict([("z", 1), ("a", 2)]),
        "counter": collections.Counter({30: 2, 60: 1}),
        "torch": [torch.Size([2, 3]), torch.float8_e4m3fn, torch.device("cuda", 1)],
        "random": random.Random(3).getstate(),
    }
    save(before, path, "exact")
    after = load(path)
    assert after == before
    assert math.copysign(1, after["numbers"][5]) == -1
    assert [type(each) for each in after["nested"]] == [type(each) for each in before["nested"]]
    assert type(after["ordered"]) is collections.OrderedDict
    assert type(after["counter"]) is collections.Counter
    save([math.nan, math.inf, -math.inf], path, "exact")
    nan, *infinities = load(path)
    assert math.isnan(nan) and infinities == [math.inf, -math.inf]


def test_tensors_of_every_type_and_of_no_size_come_back(path):
    kinds = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]
    kinds += [torch.complex64, torch.float8_e4m3fn, torch.float8_e5m2, torch.uint16, torch.float16]
    before = {str(kind): (torch.arange(3000) % 2).to(kind) for kind in kinds}
    before["scalar"] = torch.tensor(2.5)
    before["scalar int"] = torch.tensor(7)
    before["empty"] = torch.empty(0, 5)
    before["empty int"] = torch.empty(3, 0, dtype=torch.int32)
    before["conjugate"] = torch.randn(2000, dtype=torch.complex64).conj()
    save(before, path, relative=1e-3)
    after = load(path)
    for name, tensor in before.items():
        assert after[name].dtype == tensor.dtype and after[name].shape == tensor.shape, name
        assert bits(after[name]) == bits(tensor.resolve_conj()), name


def test_parameters_and_gradients_wanted_come_back(path):
    before = {
        "parameter": nn.Parameter(torch.randn(40, 40)),
        "frozen": nn.Parameter(torch.randn(40, 40), requires_grad=False),
        "leaf": torch.randn(40, 40, requires_grad=True),
        "plain": torch.randn(40, 40),
    }
    save(before, path, relative=1e-3)
    for name, tensor in load(path).items():
        assert type(tensor) is type(before[name]), name
        assert tensor.requires_grad == before[name].requires_grad, name
        assert tensor.is_leaf


def test_numpy_arrays_and_scalars_come_back(path):
    before = {"best": np.float64(0.93), "count": np.int32(5), "curve": np.linspace(0, 1, 50)}
    save(before, path, "exact")
    after = load(path)
    assert type(after["best"]) is np.float64 and type(after["count"]) is np.int32
    assert after["best"] == 0.93 and (after["curve"] == before["curve"]).all()


class Odd:
    pass


@pytest.mark.parametrize(
    "value, message",
    [
        (lambda: {"a": [Odd()]}, r"a\.0 is a .*Odd, and a checkpoint holds data only"),
        (lambda: nn.Linear(2, 2), r"pass its state_dict\(\) instead"),
        (lambda: {"f": len}, "f is a builtin_function_or_method"),
        (lambda: {"s": torch.eye(3).to_sparse()}, r"s is a tensor of layout .*to_dense"),
        (lambda: {"m": torch.empty(3, device="meta")}, "m is on the device meta"),
        (lambda: {"d": collections.defaultdict(list)}, "d is a collections.defaultdict"),
        (lambda: {"o": np.array([object()])}, "o is a NumPy array of object"),
        (lambda: {"b": np.zeros(3, ">f4")}, "b is a NumPy array of >f4"),
        (lambda: {"h": np.ma.masked_array([1.0], [True])}, "h is a masked array"),
    ],
)
def test_what_is_no_data_is_refused_by_its_name(path, value, message):
    with pytest.raises(TypeError, match=message):
        save(value(), path, "exact")


def test_an_object_that_contains_itself_is_refused(path):
    loop = {"a": []}
    loop["a"].append(loop)
    with pytest.raises(ValueError, match="contains itself"):
        save(loop, path, "exact")
    deep = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply"):
        save(deep, path, "exact")
