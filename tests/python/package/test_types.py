"""What type checkers and editors are told is what there is."""

import ast
import inspect
import pathlib

import tensorpress
from tensorpress import _core

PACKAGE = pathlib.Path(tensorpress.__file__).parent


def arguments(function):
    return [argument.arg for argument in function.args.args if argument.arg != "self"]


def test_the_stub_of_the_module_names_what_it_has():
    tree = ast.parse((PACKAGE / "_core.pyi").read_text())
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    public = {name for name in dir(_core) if not name.startswith("_")}
    assert public == functions.keys() | classes.keys()
    for name, node in functions.items():
        signature = getattr(_core, name).__doc__.splitlines()[0]
        assert [part.split(":")[0].strip() for part in signature_parts(signature)] == arguments(
            node
        ), name
    methods = {node.name: node for node in classes["Reader"].body}
    assert {name for name in dir(_core.Reader) if not name.startswith("_")} == methods.keys()


def signature_parts(signature):
    """The parameters in `name(a: int, b: tuple[int, str]) -> None`."""
    inside = signature[signature.index("(") + 1 : signature.rindex(") ->")]
    parts, depth = [""], 0
    for letter in inside:
        depth += letter in "[("
        depth -= letter in "])"
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part.strip()]


def test_every_public_function_is_annotated_and_the_package_says_so():
    assert (PACKAGE / "py.typed").is_file()
    names = [name for name in tensorpress.__all__ if inspect.isfunction(getattr(tensorpress, name))]
    assert {"compress", "load", "save", "verify"} <= set(names)
    for name in names:
        signature = inspect.signature(getattr(tensorpress, name))
        assert signature.return_annotation is not inspect.Signature.empty, name
        for parameter in signature.parameters.values():
            assert parameter.annotation is not inspect.Parameter.empty, (name, parameter)


def test_the_version_is_that_of_the_header():
    from conftest import ROOT

    header = (ROOT / "include" / "tensorpress" / "version.h").read_text()
    assert f'"{tensorpress.__version__}"' in header
    assert tensorpress.show_config()["version"] == tensorpress.__version__
