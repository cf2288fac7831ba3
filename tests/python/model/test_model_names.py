"""Names that people give to dimensions, inputs and activations and that Python or the emitted file
has another use for."""

import ast
import itertools
import shlex
import subprocess
import sys

import pytest
import torch
from emitted import PROGRAM, beside_autograd, emit
from torch.nn import functional as F

NETWORK = """
model names
input {inputs}: f32[{batch}, {channels}, 8, 8]
target {targets}: i64[{batch}]
{first} = conv1: conv2d({inputs}, 8, 3, padding = 1)
{second} = gelu(bn: batch_norm({first}))
{third} = mean({second}, [2, 3])
loss cross_entropy(fc: linear({third}, 4), {targets})
"""
WORDS = """B P S F N lambda self torch aten next iter dict params seed bits give gradient step
inputs Step EPSILON""".split()


def reference(P, x, y):
    h = F.conv2d(x, P["conv1.weight"], P["conv1.bias"], padding=1)
    h = F.gelu(F.batch_norm(h, None, None, P["bn.weight"], P["bn.bias"], training=True))
    return F.cross_entropy(F.linear(h.mean((2, 3)), P["fc.weight"], P["fc.bias"]), y)


def text_with(**names):
    plain = {"inputs": "x", "targets": "y", "batch": "M", "channels": "3"}
    plain |= {"first": "a", "second": "b", "third": "c"}
    return NETWORK.format(**(plain | names))


def assert_learns(tmp_path, text, *options):
    step = emit(tmp_path, text, "--plan", "lossless", *options).Step()
    inputs = torch.randn(3, 3, 8, 8), torch.tensor([0, 1, 3])
    for name, (mine, other) in beside_autograd(step, reference, inputs).items():
        torch.testing.assert_close(mine, other, msg=f"{name} with {options}")


@pytest.mark.parametrize("word", WORDS)
def test_a_batch_may_be_called_as_emitted_code_calls_something_else(tmp_path, word):
    assert_learns(tmp_path, text_with(batch=word))
    assert_learns(tmp_path, text_with(batch=word), "--portable")


@pytest.mark.parametrize("role", ["inputs", "targets", "first", "second", "third"])
def test_values_may_be_called_as_emitted_code_calls_something_else(tmp_path, role):
    for word, form in itertools.product(WORDS, ("--native", "--portable")):
        assert_learns(tmp_path, text_with(**{role: word}), form)


BETWEEN = """
model between
input x: f32[M, 3, 8, 8]
target y: i64[M]
h = bn: batch_norm(first: conv2d(x, 8, 3, padding = 1))
h = {module}: max_pool2d(gelu(r: relu(h)), 2)
h = mean(second: conv2d(h, 8, 3), [2, 3])
loss cross_entropy(last: linear(dropout(h), 4), y)
"""
KEPT_BESIDES = ["M", "bn.mean", "bn.rstd", "bn.normalized", "r.signs", "dropout.noise"]


def gradients_of(directory, module, *options):
    text = BETWEEN.format(module=module)
    torch.manual_seed(1)
    step = emit(directory, text, *options).Step()
    step(torch.randn(3, 3, 8, 8), torch.tensor([0, 1, 3]))
    step.backward()
    return {name: parameter.grad for name, parameter in step.named_parameters()}


@pytest.mark.parametrize(
    "options",
    [["off"], ["lossless"], ["lossless", "--portable"], ["balanced", "--adaptive"]],
    ids=" ".join,
)
def test_modules_may_be_called_like_what_the_step_keeps_besides_activations(tmp_path, options):
    expected = gradients_of(tmp_path, "smooth", "--plan", *options)
    for word in [*WORDS, *KEPT_BESIDES]:
        found = gradients_of(tmp_path, word, "--plan", *options)
        for name, gradient in expected.items():
            assert torch.equal(found[name], gradient), (word, name)


@pytest.mark.parametrize(
    "name", ['a"""b', "a\nraise SystemExit(1)#", "a\rraise SystemExit(1)#", "\\"]
)
def test_names_of_files_stay_in_strings_and_comments(tmp_path, name):
    model, plan = tmp_path / f"{name}.tpm", tmp_path / f"{name}.json"
    model.write_text(text_with())
    plan.write_text('{"level": "lossless"}')
    output = tmp_path / "step.py"
    command = [PROGRAM, "model", "emit", model, "--plan", plan, "-o", output]
    subprocess.run(command, check=True, capture_output=True)
    module = ast.parse(output.read_bytes())
    words = shlex.split(ast.get_docstring(module, clean=False).partition("Written by: ")[2])
    assert words[3:6] == [model.name, "--plan", plan.name]
    assert not any(isinstance(statement, ast.Raise) for statement in module.body)


def test_the_check_beside_a_step_runs_with_such_names(tmp_path):
    path = tmp_path / "model.tpm"
    path.write_text(text_with(batch="EPSILON", inputs="inputs", targets="step"))
    command = [PROGRAM, "model", "emit", path, "-o", tmp_path / "step.py", "--check"]
    subprocess.run(command, check=True, capture_output=True)
    subprocess.run([sys.executable, "step_check.py"], check=True, capture_output=True, cwd=tmp_path)


def test_a_size_is_given_by_the_name_in_the_text(tmp_path):
    module = emit(tmp_path, text_with(batch="B"), "--size", "B=7")
    assert "B_ = 7" in module.source
