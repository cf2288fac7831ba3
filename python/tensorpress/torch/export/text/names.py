"""Names of a model's text: of what it computes, and of parameters, which are those of the module.

An operator makes the parameters of the module whose name it has: `fc: linear(x, 10)`. Others are
declared, those of the model by `param`, those of a module all at once in a block that has the
module's name, since a name stands for one instance.
"""

from __future__ import annotations

import re
from typing import Any

import torch

from .writing import Call, Unsupported

KEYWORDS = frozenset(
    "model input target param block repeat in if else end return loss output share true false "
    "none and or not csr infinity".split()
)
ELEMENTS = {
    torch.float32: "f32",
    torch.float64: "f64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.uint8: "u8",
    torch.bool: "bool",
}
Free = dict[str, dict[str, str]]  # types of parameters by path, by module


class Names:
    """`free` are parameters that a text before this one had to declare by themselves."""

    def __init__(self, module: torch.nn.Module, free: Free):
        self.module = module
        self.free = {owner: dict(types) for owner, types in free.items()}
        self.taken: set[str] = set(KEYWORDS)
        self.symbols: dict[str, str] = {}
        self.parameters: dict[str, str] = {}  # placeholder -> name in the state_dict
        self.same = _tied(module)
        self.known: set[str] = set()  # parameters that a line above has made
        self.declared: dict[str, str] = {}  # what one without an operator is called in the text
        self.instances: set[str] = set(free)
        self.blocks: list[str] = []
        self.lines: list[str] = []

    def type_of(self, value: torch.Tensor) -> str:
        dims = ", ".join(self.dim(each) for each in value.shape)
        return f"{ELEMENTS[value.dtype]}[{dims}]"

    def dim(self, extent: Any) -> str:
        symbol = str(extent)
        if symbol.isdigit():  # a number, or a symbol that the module allows one value only
            return symbol
        if symbol not in self.symbols:
            self.symbols[symbol] = "N" if not self.symbols else f"N{len(self.symbols)}"
            self.taken.add(self.symbols[symbol])
        return self.symbols[symbol]

    def fresh(self, wanted: str) -> str:
        first = name = word(wanted)
        number = 1
        while name in self.taken:
            name, number = f"{first}_{number}", number + 1
        self.taken.add(name)
        return name

    def parameter(self, node: torch.fx.Node) -> str:
        """A parameter that is no operator's own: declared where it is first used."""
        path = self._path(node)
        if path in self.declared:
            return self.declared[path]
        if path in self.known:
            return f"@{path}"
        owner, _, local = path.rpartition(".")
        if local != word(local) or local in KEYWORDS:
            raise Unsupported(f"a parameter called '{path}'")
        if owner:
            _written_path(owner)
        self.free.setdefault(owner, {})[path] = self.type_of(node.meta["val"])
        if owner or local in self.taken:
            self._declare_in_a_block(owner)
        else:
            self.taken.add(local)
            self.known.add(path)
            self.declared[path] = local
            self.lines.append(f"param {local}: {self.free[owner][path]}")
        return self.declared[path]

    def _declare_in_a_block(self, owner: str) -> None:
        """All parameters of a module that no operator makes: its name stands for one instance."""
        types = {path: each for path, each in self.free[owner].items() if path not in self.known}
        block = self.fresh("parameters_" + owner.replace(".", "_"))
        self.blocks.append(f"block {block}()")
        for path, each in types.items():
            self.blocks.append(f"  param {path.rpartition('.')[2]}: {each}")
            self.declared[path] = self.fresh(path.replace(".", "_"))
            self.known.add(path)
        inside = ", ".join(path.rpartition(".")[2] for path in types)
        self.blocks += [f"  return {inside}", "end"]
        self.instances.add(owner)
        made = ", ".join(self.declared[path] for path in types)
        self.lines.append(f"{made} = {owner + ': ' if owner else ''}{block}()")

    def declare_aliases(self) -> None:
        """Names that no operator gives to parameters which have several."""
        missing: dict[str, dict[str, str]] = {}
        for path, same in self.same.items():
            made = next((each for each in same if each in self.known), None)
            if path not in self.known and made is not None:
                owner, _, local = path.rpartition(".")
                missing.setdefault(owner, {})[local] = made
        kinds = dict(self.module.named_parameters(remove_duplicate=False))
        for owner, names in missing.items():
            if owner in self.instances or any(each != word(each) for each in names):
                path = f"{owner}.{next(iter(names))}"
                raise Unsupported(f"the second name '{path}' of a parameter")
            made = [self.fresh(f"{owner}_{each}".replace(".", "_")) for each in names]
            prefix = f"{owner}." if owner else ""
            lines = [
                f"param {local}: {self.type_of(kinds[prefix + local])} = @{path}"
                for local, path in names.items()
            ]
            self.known |= {prefix + local for local in names}
            if not owner:
                self.lines += lines
                continue
            self.instances.add(owner)
            block = self.fresh("names_" + owner.replace(".", "_"))
            inside = ", ".join(names)
            self.blocks += [f"block {block}()", *(f"  {each}" for each in lines)]
            self.blocks += [f"  return {inside}", "end"]
            self.lines.append(f"{', '.join(made)} = {_written_path(owner)}: {block}()")

    def _path(self, node: torch.fx.Node) -> str:
        """The name that a line above has made, or the one that torch.export gives."""
        path = self.parameters[node.name]
        return next((each for each in self._all_names(path) if each in self.known), path)

    def _all_names(self, path: str) -> list[str]:
        return self.same.get(path, [path])

    def call(self, call: Call, node: torch.fx.Node) -> str:
        arguments = [*call.tensors, *call.attributes]
        if not call.parameters:
            return f"{self._own_name(node)}{call.operator}({', '.join(arguments)})"
        for local, each in call.parameters.items():
            if each.name not in self.parameters:
                raise Unsupported(f"{call.operator} with a {local} that is not a parameter")
        paths = {local: self.parameters[each.name] for local, each in call.parameters.items()}
        instance = self._module_of(paths, node)
        if not instance:
            product = self._product_and_sum(call, node) if call.operator == "linear" else None
            if product is not None:
                return product
            instance = self._fresh_instance(running_module(node) or word(node.name))
        made = {local: f"{instance}.{local}" for local in paths}
        again = [local for local, path in made.items() if path in self.known]
        if len(again) == len(made) and instance in self.instances:
            return f"share {instance}: {call.operator}({', '.join(arguments)})"
        for local, parameter in call.parameters.items():
            path = self._path(parameter)
            if path not in self.known and made[local] in self._all_names(path):
                path = made[local]  # the operator makes it
            elif path not in self.known:
                self.parameter(parameter)
            if path != made[local]:
                arguments.append(f"{local}=@{path}")
            self.known.add(made[local])
        self.instances.add(instance)
        return f"{instance}: {call.operator}({', '.join(arguments)})"

    def _module_of(self, paths: dict[str, str], node: torch.fx.Node) -> str:
        """The module whose parameters these are, by what they are called there; empty if there is
        none, or if a block has taken its name."""
        running = running_module(node)
        for candidate in (running, *(path.rpartition(".")[0] for path in paths.values())):
            names = [f"{candidate}.{local}" for local in paths]
            same = zip(names, paths.values(), strict=True)
            mine = all(name in self._all_names(path) for name, path in same)
            if candidate and candidate not in self.free and mine:
                return _written_path(candidate)
        return ""

    def _fresh_instance(self, wanted: str) -> str:
        instance, number = _written_path(wanted), 1
        while instance in self.instances or not _is_plain(self.module, instance):
            instance, number = f"{wanted}_{number}", number + 1
        return instance

    def _product_and_sum(self, call: Call, node: torch.fx.Node) -> str | None:
        """F.linear with parameters of any name; None where it has several open extents."""
        back = [each if isinstance(each, int) else -1 for each in node.meta["val"].shape]
        if len(back) != 2 and back.count(-1) > 1:
            return None
        (tensor,), weight = call.tensors, self.parameter(call.parameters["weight"])
        if len(back) != 2:
            tensor = f"reshape({tensor}, [-1, {call.parameters['weight'].meta['val'].shape[1]}])"
        text = f"matmul({tensor}, {weight}, transposed=true)"
        text = text if len(back) == 2 else f"reshape({text}, [{', '.join(map(str, back))}])"
        bias = call.parameters.get("bias")
        return text if bias is None else f"{text} + {self.parameter(bias)}"

    def _own_name(self, node: torch.fx.Node) -> str:
        """'layer1.relu: ' for the first call of a module without modules and parameters."""
        running = running_module(node)
        if not running or running in self.instances or not _is_plain(self.module, running):
            return ""
        self.instances.add(running)
        return f"{_written_path(running)}: "


def word(name: str) -> str:
    """A name of the text: letters, digits and underscores, no digit first."""
    word = re.sub(r"\W", "_", name, flags=re.ASCII)
    return word if word and not word[0].isdigit() else f"_{word}"


def _tied(module: torch.nn.Module) -> dict[str, list[str]]:
    """All names of parameters that have more than one, by each of them."""
    names: dict[int, list[str]] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return {name: same for same in names.values() if len(same) > 1 for name in same}


def running_module(node: torch.fx.Node) -> str:
    """The path of the innermost module that ran the operator; empty for the model itself."""
    stack = node.meta.get("nn_module_stack") or {}
    path = list(stack.values())[-1][0] if stack else ""
    return re.sub(r"@\d+$", "", path)


def _is_plain(module: torch.nn.Module, path: str) -> bool:
    """Not the name of a module that has modules or parameters, which make names with it."""
    inner: Any = module
    for each in path.split("."):
        inner = getattr(inner, "_modules", {}).get(each)
    if inner is None:
        return True
    return not any(True for _ in (*inner.children(), *inner.parameters()))


def _written_path(path: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.]+", path):
        raise Unsupported(f"a module called '{path}'")
    return path
