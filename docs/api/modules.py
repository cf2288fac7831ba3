"""Public names of a Python module with their signatures and docstrings, as Markdown. The source is
parsed, not imported."""

from __future__ import annotations

import ast
import inspect
import pathlib


def reference(package: pathlib.Path, name: str) -> str:
    """Of tensorpress (name "") or tensorpress.NAME."""
    path = _file(package / name if name else package)
    module = ast.parse(path.read_text(encoding="utf-8"))
    full = f"tensorpress.{name}" if name else "tensorpress"
    out = f"\n## {full}\n\n{_docstring(module)}\n"
    for public in _public_names(module):
        node, owner = _find(package, path, public)
        if node is not None:
            out += _shown(node, public, owner)
    return out


def _file(path: pathlib.Path) -> pathlib.Path:
    for candidate in (path.with_suffix(".py"), path / "__init__.py", path.with_suffix(".pyi")):
        if candidate.exists():
            return candidate
    raise FileNotFoundError(path)


def _public_names(module: ast.Module) -> list[str]:
    """What __all__ says, or else every class and function that has no underscore before it."""
    for node in module.body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == "__all__"
        ):
            return [name for name in ast.literal_eval(node.value) if not name.startswith("__")]
    kinds = (ast.ClassDef, ast.FunctionDef)
    return [
        node.name
        for node in module.body
        if isinstance(node, kinds) and not node.name.startswith("_")
    ]


def _find(
    package: pathlib.Path, path: pathlib.Path, name: str
) -> tuple[ast.AST | None, pathlib.Path]:
    """The definition behind a name, through imports from the package's own modules."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    for node in module.body:
        if (
            isinstance(node, (ast.ClassDef, ast.FunctionDef))
            and node.name == name
            and not _is_overload(node)
        ):
            return node, path
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and _target(node) == name:
            return node, path
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            for alias in node.names:
                if (alias.asname or alias.name) != name:
                    continue
                if node.module is None:  # a module of the package itself
                    found = _file(path.parent / alias.name)
                    return ast.parse(found.read_text(encoding="utf-8")), found
                return _find(
                    package, _file(path.parent.joinpath(*node.module.split("."))), alias.name
                )
    return None, path


def _target(node: ast.Assign | ast.AnnAssign) -> str:
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    return target.id if isinstance(target, ast.Name) else ""


def _is_overload(node: ast.ClassDef | ast.FunctionDef) -> bool:
    return any(ast.unparse(each).endswith("overload") for each in node.decorator_list)


def _shown(node: ast.AST, name: str, owner: pathlib.Path) -> str:
    out = f"\n### {name}\n"
    if isinstance(node, ast.ClassDef):
        bases = f"({', '.join(map(ast.unparse, node.bases))})" if node.bases else ""
        lines = [f"class {name}{bases}:"]
        members = [each for each in node.body if isinstance(each, ast.FunctionDef)]
        first = next((each for each in members if each.name == "__init__"), None)
        if first is not None:
            lines.append("    " + _signature(first, name))
        out += _code(lines) + _told(_docstring(node))
        for member in members:
            if not member.name.startswith("_"):
                out += _member(member, name)
    elif isinstance(node, ast.FunctionDef):
        out += _code([_signature(node, name)]) + _told(_docstring(node))
    elif isinstance(node, ast.Module):
        out += _told(_docstring(node))
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        out += _code([ast.unparse(node)]) + _told(_comment_above(node, owner))
    return out


def _member(node: ast.FunctionDef, owner: str) -> str:
    decorators = {ast.unparse(each) for each in node.decorator_list}
    told = _docstring(node)
    if any("setter" in each for each in decorators):
        return ""
    if "property" in decorators:
        returns = f": {ast.unparse(node.returns)}" if node.returns else ""
        return f"\n**{owner}.{node.name}**{returns}\n" + _told(told)
    return f"\n**{owner}.{node.name}**\n" + _code([_signature(node, node.name)]) + _told(told)


def _signature(node: ast.FunctionDef, name: str) -> str:
    arguments = ast.unparse(node.args)
    for own in ("self", "cls"):
        if arguments == own or arguments.startswith(f"{own}, "):
            arguments = arguments[len(own) :].removeprefix(", ")
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    return f"{name}({arguments}){returns}"


def _code(lines: list[str]) -> str:
    return "\n```python\n" + "\n".join(lines) + "\n```\n"


def _docstring(node: ast.AST) -> str:
    found = (
        ast.get_docstring(node)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        else None
    )
    return inspect.cleandoc(found) if found else ""


def _comment_above(node: ast.stmt, owner: pathlib.Path) -> str:
    """Of a constant: the lines before it that begin with #, or what stands behind it."""
    lines = owner.read_text(encoding="utf-8").splitlines()
    behind = lines[node.end_lineno - 1].partition("  # ")[2]
    above = []
    for line in reversed(lines[: node.lineno - 1]):
        if not line.startswith("# "):
            break
        above.insert(0, line[2:])
    return "\n".join(above) or behind


def _told(docstring: str) -> str:
    """Paragraphs as they are; what is indented or an example of the prompt is set as code."""
    if not docstring:
        return ""
    out = []
    for part in docstring.split("\n\n"):
        lines = part.split("\n")
        aligned = any(line.startswith("  ") for line in lines) or any(
            "   " in line for line in lines
        )
        if part.startswith(">>> "):
            out.append("```pycon\n" + part + "\n```")
        elif aligned and not part.lstrip().startswith(("-", "*")):
            out.append("```text\n" + part.rstrip() + "\n```")
        else:
            out.append(part)
    return "\n" + "\n\n".join(out) + "\n"
