"""Emitted steps of transformers and diffusers models: saved bytes, predicted and measured, and how
near the gradients are to exact ones.

    ./dev build && .venv/bin/pip install -r requirements/python-test.txt
    .venv/bin/python bench/huggingface_steps.py [--batch 8] [--models gpt2 llama ...]

Models have four layers of 128 features (UNets: 32 and 64 channels on images of 32 x 32), random
weights and the dropout of their libraries; `to_text` takes them as they come. Saved bytes are what
a step keeps between its passes besides its inputs: predicted by `tensorpress model profile`, and
measured as the storages in `step.saved`. The cosine is that of the gradients of all parameters as
one vector, with those of `lossless`, which is exact and draws the same dropout; `lowest` is the
lowest of one parameter. Peaks are of PyTorch's profiler, besides weights.
Writes bench/results/huggingface_steps.{json,md}.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import torch
from paired_runs import machine

from tensorpress.torch import to_text
from tensorpress.torch.peak_memory import measured_peak

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
PROGRAM = os.environ.get("TENSORPRESS", str(ROOT / "build" / "bin" / "tensorpress"))
PLANS = ("off", "lossless", "balanced", "max")
WORDS, LENGTH = 512, 64


def words(batch: int) -> dict[str, torch.Tensor]:
    return {name: torch.randint(1, WORDS, (batch, LENGTH)) for name in ("input_ids", "labels")}


def gpt2(batch: int) -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=WORDS, n_positions=LENGTH, n_embd=128, n_layer=4, n_head=4)
    return GPT2LMHeadModel(config), words(batch)


def llama(batch: int) -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=WORDS, hidden_size=128, intermediate_size=344, num_hidden_layers=4,
        num_attention_heads=4, num_key_value_heads=2,
    )  # fmt: skip
    return LlamaForCausalLM(config), words(batch)


def bert(batch: int) -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        vocab_size=WORDS, hidden_size=128, intermediate_size=512, num_hidden_layers=4,
        num_attention_heads=4,
    )  # fmt: skip
    return BertForMaskedLM(config), words(batch)


def vit(batch: int) -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        hidden_size=128, intermediate_size=512, num_hidden_layers=4, num_attention_heads=4,
        image_size=32, patch_size=4, num_labels=10,
    )  # fmt: skip
    images = {"pixel_values": torch.randn(batch, 3, 32, 32), "labels": torch.randint(10, (batch,))}
    return ViTForImageClassification(config), images


def t5(batch: int) -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=WORDS, d_model=128, d_ff=512, d_kv=32, num_layers=4, num_heads=4,
        decoder_start_token_id=0, pad_token_id=0,
    )  # fmt: skip
    return T5ForConditionalGeneration(config), words(batch)


def unet(batch: int) -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    from diffusers import UNet2DModel

    model = UNet2DModel(
        sample_size=32, in_channels=3, out_channels=3, layers_per_block=1,
        block_out_channels=(32, 64), down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"), norm_num_groups=8,
    )  # fmt: skip
    time = torch.randint(1000, (batch,))
    return model, {"sample": torch.randn(batch, 3, 32, 32), "timestep": time}


def unet_with_condition(batch: int) -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    from diffusers import UNet2DConditionModel

    model = UNet2DConditionModel(
        sample_size=32, in_channels=4, out_channels=4, layers_per_block=1,
        block_out_channels=(32, 64), down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), norm_num_groups=8,
        cross_attention_dim=64,
    )  # fmt: skip
    sample, states = torch.randn(batch, 4, 32, 32), torch.randn(batch, 16, 64)
    time = torch.randint(1000, (batch,))
    return model, {"sample": sample, "timestep": time, "encoder_hidden_states": states}


MODELS: dict[str, Callable[[int], tuple[torch.nn.Module, dict[str, torch.Tensor]]]] = {
    make.__name__: make for make in (gpt2, llama, bert, vit, t5, unet, unet_with_condition)
}


def run(*arguments: Any) -> str:
    command = [PROGRAM, "model", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def step_of(path: pathlib.Path, plan: str, batch: int, model: torch.nn.Module) -> Any:
    output = path.with_name(f"{path.stem}_{plan}.py")
    run("emit", path, "--plan", plan, "--batch", batch, "-o", output)
    spec = importlib.util.spec_from_file_location(output.stem, output)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    step = module.Step()
    step.load_state_dict(model.state_dict())
    return step


def saved_bytes(saved: dict[str, Any], inputs: list[torch.Tensor]) -> int:
    theirs = {each.untyped_storage().data_ptr() for each in inputs}
    storages = {
        each.untyped_storage().data_ptr(): each.untyped_storage().nbytes()
        for each in saved.values()
        if isinstance(each, torch.Tensor)
    }
    return sum(size for place, size in storages.items() if place not in theirs)


def cosine(a: torch.Tensor, b: torch.Tensor) -> float:
    a, b = a.double().flatten(), b.double().flatten()
    norm = a.norm() * b.norm()
    return float(a @ b / norm) if norm > 0 else 1.0


def measured(path: pathlib.Path, plan: str, batch: int, model: Any, inputs: list[Any]) -> Any:
    profile = json.loads(run("profile", path, "--plan", plan, "--batch", batch, "--json"))
    step = step_of(path, plan, batch, model)
    torch.manual_seed(1)
    step(*inputs)  # what PyTorch allocates once
    step.backward()
    step.zero_grad()
    torch.manual_seed(1)
    with measured_peak(step) as peak:
        step(*inputs)
        saved = saved_bytes(step.saved, inputs)
        step.backward()
    gradients = {name: each.grad for name, each in step.named_parameters()}
    row = {
        "predicted_saved_bytes": profile["saved_bytes"],
        "measured_saved_bytes": saved,
        "measured_peak_bytes": peak[0].activations_and_gradients,
    }
    return row, gradients


def rows_of(name: str, batch: int, folder: pathlib.Path) -> dict[str, Any]:
    torch.manual_seed(0)
    model, example = MODELS[name](batch)
    model.train()
    own_loss = "labels" in example
    path = folder / f"{name}.tpm"
    path.write_text(to_text(model, example, loss=None if own_loss else "mse_loss"))
    inputs = [*example.values()] + ([] if own_loss else [torch.randn(example["sample"].shape)])
    rows, exact = {}, {}
    for plan in PLANS:
        rows[plan], gradients = measured(path, plan, batch, model, inputs)
        if plan == "lossless":
            exact = gradients
        if plan in ("balanced", "max"):
            all_of = [torch.cat([g[n].flatten() for n in exact]) for g in (gradients, exact)]
            rows[plan]["cosine"] = cosine(*all_of)
            rows[plan]["lowest"] = min(cosine(gradients[n], exact[n]) for n in exact)
    return rows


def table(results: dict[str, Any]) -> str:
    lines = [
        "| model | off: saved MB | plan | predicted / off | measured / off | measured / predicted "
        "| peak / off | cosine | lowest |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, rows in results.items():
        plain = rows["off"]
        for plan in PLANS[1:]:
            row = rows[plan]
            shares = [
                row["predicted_saved_bytes"] / plain["predicted_saved_bytes"],
                row["measured_saved_bytes"] / plain["measured_saved_bytes"],
                row["measured_saved_bytes"] / row["predicted_saved_bytes"],
                row["measured_peak_bytes"] / plain["measured_peak_bytes"],
            ]
            first = (
                f"{name} | {plain['measured_saved_bytes'] / 1e6:.1f}" if plan == PLANS[1] else " | "
            )
            near = [f"{row[key]:.4f}" if key in row else "" for key in ("cosine", "lowest")]
            lines.append(
                f"| {first} | {plan} | " + " | ".join([f"{e:.3f}" for e in shares] + near) + " |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in given.models:
            results[name] = rows_of(name, given.batch, pathlib.Path(folder))
            print(
                name, {plan: row.get("cosine") for plan, row in results[name].items()}, flush=True
            )
    what = f"`bench/huggingface_steps.py --batch {given.batch}`"
    text = f"# Emitted steps of transformers and diffusers models\n\n{what}\n\n{table(results)}\n"
    (RESULTS / "huggingface_steps.md").write_text(text)
    content = {"machine": machine(), "batch": given.batch, "models": results}
    (RESULTS / "huggingface_steps.json").write_text(json.dumps(content, indent=1) + "\n")
    print(table(results))


if __name__ == "__main__":
    main()
