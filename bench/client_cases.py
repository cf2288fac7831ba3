"""Models and trainers of other libraries at a small size, for same_bits.py; needs the packages of
requirements/clients.txt.

A model comes with its batch and its loss; a trainer is a function that trains in a form (EAGER or
COMPILED), with a level or without compression, and gives what it ends with.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import sys
import tempfile
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

import tensorpress.torch
from tensorpress.torch import clients

EAGER, COMPILED = "eager", "compiled"
STEPS = 3

Weights = dict[str, torch.Tensor]
Trainer = Callable[[str, str | None], Weights]


class Model(NamedTuple):
    make: Callable[[], torch.nn.Module]
    batch: Callable[[], Any]
    loss: Callable[[torch.nn.Module, Any], torch.Tensor]


# ---- Models -----------------------------------------------------------------------------------


def own_loss(model: torch.nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    found: torch.Tensor = model(**batch).loss
    return found


def words() -> dict[str, torch.Tensor]:
    tokens = torch.randint(3, 64, (4, 32))
    return {"input_ids": tokens, "labels": tokens}


def pictures() -> dict[str, torch.Tensor]:
    return {"pixel_values": torch.randn(4, 3, 32, 32), "labels": torch.randint(4, (4,))}


SIZES: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
LANGUAGE = {**SIZES, "vocab_size": 64, "pad_token_id": 0}


def of_transformers(kind: str, config: str, **settings: Any) -> Callable[[], torch.nn.Module]:
    def make() -> torch.nn.Module:
        import transformers

        found: torch.nn.Module = getattr(transformers, kind)(
            getattr(transformers, config)(**settings)
        )
        return found

    return make


def llama() -> torch.nn.Module:
    settings = {**LANGUAGE, "num_key_value_heads": 2, "max_position_embeddings": 64}
    return of_transformers("LlamaForCausalLM", "LlamaConfig", **settings)()


def of_timm(name: str) -> Callable[[], torch.nn.Module]:
    def make() -> torch.nn.Module:
        with WithoutTorchvision():
            import timm
        found: torch.nn.Module = timm.create_model(name, num_classes=4)
        return found

    return make


def diffusion_unet() -> torch.nn.Module:
    import diffusers

    found: torch.nn.Module = diffusers.UNet2DModel(
        sample_size=16,
        block_out_channels=(32, 64),
        layers_per_block=1,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        norm_num_groups=8,
    )
    return found


def of_geometric(kind: str) -> Callable[[], torch.nn.Module]:
    def make() -> torch.nn.Module:
        import torch_geometric.nn as geometric

        layer = getattr(geometric, kind)
        found: torch.nn.Module = geometric.Sequential(
            "x, edges",
            [
                (layer(64, 64), "x, edges -> x"),
                torch.nn.ReLU(),
                (layer(64, 64), "x, edges -> x"),
                torch.nn.ReLU(),
                (layer(64, 4), "x, edges -> x"),
            ],
        )
        return found

    return make


def classify(model: torch.nn.Module, batch: Any) -> torch.Tensor:
    *inputs, labels = batch
    return F.cross_entropy(model(*inputs), labels)


MODELS = {
    "transformers GPT-2": Model(
        of_transformers(
            "GPT2LMHeadModel", "GPT2Config", n_embd=64, n_layer=2, n_head=4, vocab_size=64
        ),
        words,
        own_loss,
    ),
    "transformers Llama": Model(llama, words, own_loss),
    "transformers Mixtral": Model(
        of_transformers(
            "MixtralForCausalLM",
            "MixtralConfig",
            num_key_value_heads=2,
            num_local_experts=4,
            **LANGUAGE,
        ),
        words,
        own_loss,
    ),
    "transformers BERT": Model(
        of_transformers("BertForMaskedLM", "BertConfig", **LANGUAGE), words, own_loss
    ),
    "transformers T5": Model(
        of_transformers(
            "T5ForConditionalGeneration",
            "T5Config",
            d_model=64,
            d_kv=16,
            d_ff=128,
            num_layers=2,
            num_heads=4,
            vocab_size=64,
            decoder_start_token_id=0,
        ),
        words,
        own_loss,
    ),
    "transformers ViT": Model(
        of_transformers(
            "ViTForImageClassification",
            "ViTConfig",
            image_size=32,
            patch_size=4,
            num_labels=4,
            **SIZES,
        ),
        pictures,
        own_loss,
    ),
    **{
        f"timm {name}": Model(
            of_timm(f"test_{name}"),
            lambda: (torch.randn(4, 3, 160, 160), torch.randint(4, (4,))),
            classify,
        )
        for name in ("resnet", "vit", "convnext", "efficientnet")
    },
    "diffusers UNet2DModel": Model(
        diffusion_unet,
        lambda: (torch.randn(2, 3, 16, 16), torch.randint(100, (2,)), torch.randn(2, 3, 16, 16)),
        lambda model, batch: F.mse_loss(model(*batch[:2]).sample, batch[2]),
    ),
    **{
        f"torch_geometric {kind}": Model(
            of_geometric(kind),
            lambda: (torch.randn(256, 64), torch.randint(256, (2, 2048)), torch.randint(4, (256,))),
            classify,
        )
        for kind in ("GCNConv", "GATConv", "SAGEConv")
    },
}


class WithoutTorchvision(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """timm imports torchvision, whose wheels are for GPUs and do not load beside PyTorch for CPUs.
    What timm's models need of it are names, which they compare types with."""

    def __enter__(self) -> None:
        sys.meta_path.insert(0, self)

    def __exit__(self, *error: Any) -> None:
        sys.meta_path.remove(self)
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name.partition(".")[0] == "torchvision":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> types.ModuleType:
        module = types.ModuleType(spec.name)
        module.__getattr__ = placeholder  # type: ignore[method-assign]
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def placeholder(name: str) -> type:
    if name.startswith("__") or name == "InterpolationMode":  # which timm does without
        raise AttributeError(name)
    return type(name, (), {})


# ---- Trainers ---------------------------------------------------------------------------------


def weights_of(model: torch.nn.Module) -> Weights:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def batches() -> list[dict[str, torch.Tensor]]:
    torch.manual_seed(2)
    return [words() for _ in range(STEPS)]


def examples() -> list[dict[str, torch.Tensor]]:
    return [
        {name: value[row] for name, value in batch.items()}
        for batch in batches()
        for row in range(4)
    ]


def with_transformers(form: str, level: str | None, adapters: bool = False) -> Weights:
    import transformers

    torch.manual_seed(1)
    model = llama()
    if adapters:
        model = with_adapters(model)
    callback = clients.huggingface.CompressActivations
    with tempfile.TemporaryDirectory() as folder:
        trainer = transformers.Trainer(
            model=model,
            args=transformers.TrainingArguments(**arguments(folder, form)),
            train_dataset=examples(),
            callbacks=[] if level is None else [callback(level)],
        )
        trainer.train()
    return weights_of(trainer.model)


def arguments(folder: str, form: str) -> dict[str, Any]:
    return {
        "output_dir": folder,
        "use_cpu": True,
        "report_to": "none",
        "disable_tqdm": True,
        "save_strategy": "no",
        "max_steps": STEPS,
        "per_device_train_batch_size": 4,
        "torch_compile": form == COMPILED,
    }


def with_adapters(model: torch.nn.Module) -> torch.nn.Module:
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM")
    found: torch.nn.Module = get_peft_model(model, config)
    return found


def with_peft(form: str, level: str | None) -> Weights:
    return with_transformers(form, level, adapters=True)


def with_trl(form: str, level: str | None) -> Weights:
    from datasets import Dataset
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast
    from trl import SFTConfig, SFTTrainer

    tokens = Tokenizer(models.WordLevel({f"w{n}": n for n in range(64)}, unk_token="w1"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokens, pad_token="w0", eos_token="w2")
    torch.manual_seed(1)
    callback = clients.trl.CompressActivations
    rows = [example["input_ids"].tolist() for example in examples()]
    with tempfile.TemporaryDirectory() as folder:
        trainer = SFTTrainer(
            model=llama(),
            args=SFTConfig(**arguments(folder, form), bf16=False, gradient_checkpointing=False),
            train_dataset=Dataset.from_dict({"input_ids": rows}),
            processing_class=tokenizer,
            callbacks=[] if level is None else [callback(level)],
        )
        trainer.train()
    return weights_of(trainer.model)


def with_accelerate(form: str, level: str | None) -> Weights:
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    AcceleratorState._reset_state(reset_partial_state=True)
    accelerator = Accelerator(cpu=True, dynamo_backend="inductor" if form == COMPILED else "no")
    torch.manual_seed(1)
    plain = llama()
    run: Any = contextlib.nullcontext()
    if level is not None:
        run = clients.accelerate.compress_activations(accelerator, plain, level)
    with run:
        model, optimizer = accelerator.prepare(plain, torch.optim.AdamW(plain.parameters()))
        for batch in batches():
            optimizer.zero_grad()
            accelerator.backward(model(**batch).loss)
            optimizer.step()
    return weights_of(plain)


def with_lightning(form: str, level: str | None) -> Weights:
    import lightning.pytorch as lightning

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = llama()

        def training_step(self, batch: Any, place: int) -> torch.Tensor:
            return own_loss(self.model, batch)

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.parameters())

    torch.manual_seed(1)
    module: Any = Module()
    callbacks: list[Any] = []
    fitted = module
    if form == COMPILED:
        fitted = (
            torch.compile(module) if level is None else tensorpress.torch.compile(module, level)
        )
    elif level is not None:
        callbacks = [clients.lightning.CompressActivations(level)]
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=1,
        max_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=callbacks,
    )
    trainer.fit(fitted, torch.utils.data.DataLoader(examples(), batch_size=4))
    return weights_of(module)


TRAINERS: dict[str, Trainer] = {
    "transformers Trainer": with_transformers,
    "transformers Trainer, PEFT": with_peft,
    "TRL SFTTrainer": with_trl,
    "accelerate loop": with_accelerate,
    "lightning Trainer": with_lightning,
}
