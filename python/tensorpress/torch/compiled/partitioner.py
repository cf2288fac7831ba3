"""Where PyTorch lets us in: the partitioner that splits a training step into its two graphs."""

from __future__ import annotations

import hashlib
import json
import pathlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import fx

from ..module_names import without_wrapper
from ..packing.codecs import ErrorBounded, Mask, TensorCodec
from ..packing.rotated import Rotated
from ..policy.policy import Policy
from . import versions
from .budget import Budget
from .decide import Decision
from .names import NodeNames
from .planner import Division, copied, plan
from .rewrite import CodeLayout, Step, rewrite

aten = torch.ops.aten
EAGER = ("aot_eager", "aot_eager_decomp_partition")

# Cheap values are rebuilt in backward from packed ones: unpacking them would take longer. Views are
# not saved either, so that memory is packed once and in its own order.
REBUILDING = {"ban_recompute_materialized_backward": False, "recompute_views": True}

# What the planner tries, from PyTorch's own choice to computing nearly everything again.
AGGRESSIVE = {**REBUILDING, "aggressive_recomputation": True}
WAYS: dict[str, dict[str, Any]] = {
    "as plain torch.compile": {},
    "rebuilding": REBUILDING,
    "rebuilding much": AGGRESSIVE,
    **{
        f"memory budget {share}": {**AGGRESSIVE, "activation_memory_budget": share}
        for share in (0.6, 0.3, 0.1)
    },
}


class Joint(NamedTuple):
    """The graph of forward and backward together, as PyTorch calls a partitioner."""

    module: fx.GraphModule
    inputs: Sequence[object]
    options: dict[str, Any]

    def divided(self, name: str, settings: dict[str, Any]) -> Division:
        known = {
            key: value for key, value in settings.items() if hasattr(versions.functorch_config, key)
        }
        with versions.functorch_config.patch(known):
            forward, backward = versions.divide_step(self.module, self.inputs, **self.options)
        inductor = self.options.get("compiler") == "inductor"
        layout = CodeLayout(inductor, inductor and _moves_channels(forward))
        step = Step(self.options["num_fwd_outputs"], self.static(), layout)
        return Division(name, forward, backward, step)

    def static(self) -> set[int]:
        """Places of parameters and buffers. Older versions of PyTorch do not say; parameters are
        known by their type then."""
        given = self.options.get("static_lifetime_input_indices")
        if given is not None:
            return set(given)
        inputs: Any = self.inputs
        primals = inputs[0] if inputs and isinstance(inputs[0], (list, tuple)) else inputs
        return {
            place for place, value in enumerate(primals) if isinstance(value, torch.nn.Parameter)
        }

    def divisions(self) -> list[Division]:
        found: dict[tuple[str, ...], Division] = {}
        for name, settings in WAYS.items():
            one = self._replace(module=copied(self.module)).divided(name, settings)
            output = next(iter(one.forward.graph.find_nodes(op="output")))
            found.setdefault(tuple(node.name for node in output.all_input_nodes), one)
        return list(found.values())


class CompressingPartitioner(versions.Base):  # type: ignore[misc]
    """PyTorch's own choice of what to save, packed as a policy says."""

    def __init__(
        self, policy: Policy, model: torch.nn.Module | None = None, budget: Budget | None = None
    ) -> None:
        _check_sizes(policy)
        self.policy, self.budget = policy, budget
        self._names = NodeNames(model)
        self._uuid = _hash_of(policy, model, budget)

    def __call__(
        self, gm: fx.GraphModule, joint_inputs: Sequence[object], **options: Any
    ) -> tuple[fx.GraphModule, fx.GraphModule]:
        joint = Joint(gm, joint_inputs, options)
        if self.budget is not None:
            return self._planned(joint, self.budget)
        division = joint.divided("rebuilding", REBUILDING if self.policy.level.exact_forms else {})
        self._rewritten(division.forward, division.backward, division.step)
        return division.forward, division.backward

    def _rewritten(
        self,
        forward: fx.GraphModule,
        backward: fx.GraphModule,
        step: Step,
        choose: Callable[[list[Decision]], None] | None = None,
        told: dict[str, Any] | None = None,
    ) -> list[Decision]:
        return rewrite(forward, backward, step, self.policy, self._names, choose, told)

    def _planned(self, joint: Joint, budget: Budget) -> tuple[fx.GraphModule, fx.GraphModule]:
        planned = plan(joint.divisions(), self._rewritten, budget)
        division = planned.division
        self._rewritten(
            division.forward, division.backward, division.step, planned.choose, planned.told()
        )
        return division.forward, division.backward

    def uuid(self) -> str:
        """Part of the key of PyTorch's caches of compiled graphs."""
        return self._uuid

    # PyTorch makes keys of its caches from pickles of its configuration, which we are part of.

    def __getstate__(self) -> tuple[str, str, Budget | None]:
        return json.dumps(self.policy.as_dict(), sort_keys=True), self._uuid, self.budget

    def __setstate__(self, state: tuple[str, str, Budget | None]) -> None:
        self.policy, self._uuid, self.budget = Policy.read(state[0]), state[1], state[2]
        self._names = NodeNames()


def _moves_channels(forward: fx.GraphModule) -> bool:
    """Whether Inductor will make its convolutions channels_last. If we are wrong it copies once
    more."""
    try:
        from torch._inductor.graph import GraphLowering

        return bool(GraphLowering.decide_layout_opt(forward, is_inference=False))
    except (ImportError, AttributeError, TypeError):
        return False


def _check_sizes(policy: Policy) -> None:
    """Every codec of the policy has to have sizes that do not depend on values."""
    rules: list[tuple[str, TensorCodec | None]] = [("default", policy.default)]
    rules += [*policy.by_type.items(), *policy.by_name.items()]
    for name, codec in rules:
        if isinstance(codec, Rotated):
            raise ValueError(
                f"{name}: compiled graphs have no operator for codec {codec.name} yet; use "
                "quantize, or compress_activations"
            )
        if isinstance(codec, ErrorBounded | Mask):
            raise ValueError(
                f"{name}: the size of codec {codec.name} depends on the values, and in a compiled "
                "graph it cannot; use quantize, cast, dct-chop or keep, or compress_activations"
            )


def _hash_of(policy: Policy, model: torch.nn.Module | None, budget: Budget | None) -> str:
    """Of the policy, of our sources, and of the names that rules may mean."""
    digest = hashlib.sha256(json.dumps(policy.as_dict(), sort_keys=True).encode())
    digest.update(repr(budget).encode())
    package = pathlib.Path(__file__).resolve().parents[1]
    sources = [package / "ops.py", package / "chop.py", package / "module_names.py"]
    for folder in ("compiled", "packing", "policy"):
        sources += sorted(path for path in (package / folder).iterdir() if path.is_file())
    for source in sources:
        digest.update(source.name.encode() + source.read_bytes())
    if model is not None and (policy.by_name or policy.by_type):
        whole = without_wrapper(model)
        digest.update(type(whole).__qualname__.encode())
        for name, module in whole.named_modules():
            digest.update(f"{name} {type(module).__name__}\n".encode())
    return f"tensorpress {digest.hexdigest()}"


def eager_backend(name: str, partitioner: CompressingPartitioner) -> Callable[..., Any]:
    """The backends of PyTorch that run graphs as they are, with our partitioner: aot_eager, and
    aot_eager_decomp_partition, whose graphs are made of the same operators as Inductor's. They show
    what is ours and what is Inductor's."""
    from torch._dynamo.backends.common import aot_autograd
    from torch._dynamo.backends.debugging import boxed_nop

    decompositions: Any = None
    if partitioner.policy.level.rebuild and partitioner.budget is None:
        # As they are, the partitioner saves their results instead of having them run again.
        saved = (aten.native_layer_norm, aten.native_group_norm, aten.transpose)
        decompositions = torch._decomp.get_decompositions(saved)
    if name == "aot_eager_decomp_partition":
        from torch._inductor.decomposition import select_decomp_table

        decompositions = select_decomp_table
    backend: Callable[..., Any] = aot_autograd(
        fw_compiler=boxed_nop,
        bw_compiler=boxed_nop,
        decompositions=decompositions,
        partition_fn=partitioner,
        keep_inference_input_mutations=True,
    )
    return backend
