"""Where PyTorch lets us in: the partitioner that splits a training step into its two graphs."""

from __future__ import annotations

import hashlib
import json
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from ..module_names import without_wrapper
from ..packing.codecs import ErrorBounded, Mask, TensorCodec
from ..policy.policy import Policy
from .names import NodeNames
from .rewrite import CodeLayout, rewrite

try:
    import torch._functorch.config as functorch_config
    from torch._functorch.partitioners import min_cut_rematerialization_partition
    from torch._inductor import config as inductor_config
    from torch._inductor.custom_graph_pass import CustomPartitionerFn

    MISSING = (
        ""
        if hasattr(inductor_config, "custom_partitioner_fn")
        else "torch._inductor.config.custom_partitioner_fn"
    )
except ImportError as error:  # a version of PyTorch that we have not seen
    MISSING = str(error)
    CustomPartitionerFn = object  # type: ignore[assignment,misc]

EAGER = ("aot_eager", "aot_eager_decomp_partition")

# Cheap values are rebuilt in backward from packed ones: unpacking them would take longer. Views are
# not saved either, so that memory is packed once and in its own order.
REBUILDING = {"ban_recompute_materialized_backward": False, "recompute_views": True}


def check_pytorch() -> None:
    if MISSING:
        raise RuntimeError(
            f"torch {torch.__version__} has no {MISSING}, which tensorpress.torch.compile needs; "
            "use compress_activations or torch 2.9 to 2.13"
        )


class CompressingPartitioner(CustomPartitionerFn):
    """PyTorch's own choice of what to save, packed as a policy says."""

    def __init__(self, policy: Policy, model: torch.nn.Module | None = None) -> None:
        check_pytorch()
        _check_sizes(policy)
        self.policy = policy
        self._names = NodeNames(model)
        self._uuid = _hash_of(policy, model)

    def __call__(
        self, gm: fx.GraphModule, joint_inputs: Sequence[object], **options: Any
    ) -> tuple[fx.GraphModule, fx.GraphModule]:
        rebuilding = {
            name: value
            for name, value in REBUILDING.items()
            if hasattr(functorch_config, name) and self.policy.level.exact_forms
        }
        with functorch_config.patch(rebuilding):
            forward, backward = min_cut_rematerialization_partition(gm, joint_inputs, **options)
        static = set(options.get("static_lifetime_input_indices") or ())
        outputs = options["num_fwd_outputs"]
        inductor = options.get("compiler") == "inductor"
        layout = CodeLayout(inductor, inductor and _moves_channels(forward))
        rewrite(forward, backward, outputs, static, self.policy, self._names, layout)
        return forward, backward

    def uuid(self) -> str:
        """Part of the key of PyTorch's caches of compiled graphs."""
        return self._uuid

    # PyTorch makes keys of its caches from pickles of its configuration, which we are part of.

    def __getstate__(self) -> tuple[str, str]:
        return json.dumps(self.policy.as_dict(), sort_keys=True), self._uuid

    def __setstate__(self, state: tuple[str, str]) -> None:
        self.policy, self._uuid = Policy.read(state[0]), state[1]
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
        if isinstance(codec, ErrorBounded | Mask):
            raise ValueError(
                f"{name}: the size of codec {codec.name} depends on the values, and in a compiled "
                "graph it cannot; use quantize, cast, dct-chop or keep, or compress_activations"
            )


def _hash_of(policy: Policy, model: torch.nn.Module | None) -> str:
    """Of the policy, of our sources, and of the names that rules may mean."""
    digest = hashlib.sha256(json.dumps(policy.as_dict(), sort_keys=True).encode())
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

    decompositions = None
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
