"""Networks that people train, small and with random weights, for bench/architectures.py.

    NETWORKS["Llama"]() gives a Case: the module, and a function that computes a loss of one batch.

They come from transformers 5.22.2, timm 1.0.30, diffusers 0.42.1 and torch_geometric 2.8.1 (timm
brings a torchvision; import it after this file).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn

# timm imports torchvision, and so does transformers where it is there. The operators of its wheel
# are for another build of torch than the CPU's; it only asks that these are declared.
TORCHVISION = torch.library.Library("torchvision", "DEF")
TORCHVISION.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
TORCHVISION.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


class Case(NamedTuple):
    model: nn.Module
    loss: Callable[[], torch.Tensor]


def _tokens(vocabulary: int, batch: int = 4, length: int = 256) -> torch.Tensor:
    return torch.randint(0, vocabulary, (batch, length))


def _language_model(kind: str, config: str, batch: int = 4, **fields: Any) -> Case:
    import transformers

    made = getattr(transformers, config)(vocab_size=2000, **fields)
    model = getattr(transformers, kind)(made)
    tokens = _tokens(2000, batch)
    return Case(model, lambda: model(input_ids=tokens, labels=tokens).loss)


def gpt2() -> Case:
    return _language_model(
        "GPT2LMHeadModel", "GPT2Config", n_layer=4, n_head=8, n_embd=256, n_positions=256
    )


def llama(batch: int = 8, attention: str = "sdpa", vocabulary: int = 2000) -> Case:
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=256,
        intermediate_size=688,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=4,
        max_position_embeddings=256,
    )
    config._attn_implementation = attention
    model = transformers.LlamaForCausalLM(config)
    tokens = _tokens(vocabulary, batch)
    return Case(model, lambda: model(input_ids=tokens, labels=tokens, use_cache=False).loss)


def llama_eager() -> Case:
    return llama(attention="eager")


def mixtral() -> Case:
    return _language_model(
        "MixtralForCausalLM",
        "MixtralConfig",
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=2,
        num_attention_heads=8,
        num_key_value_heads=4,
        num_local_experts=4,
        num_experts_per_tok=2,
        max_position_embeddings=256,
        use_cache=False,
    )


def bert() -> Case:
    return _language_model(
        "BertForMaskedLM",
        "BertConfig",
        hidden_size=256,
        num_hidden_layers=4,
        num_attention_heads=8,
        intermediate_size=1024,
        max_position_embeddings=256,
    )


def t5() -> Case:
    import transformers

    config = transformers.T5Config(
        vocab_size=2000,
        d_model=256,
        d_kv=32,
        d_ff=1024,
        num_layers=2,
        num_heads=8,
        decoder_start_token_id=0,
    )
    model = transformers.T5ForConditionalGeneration(config)
    tokens, answers = _tokens(2000, 4, 256), _tokens(2000, 4, 128)
    return Case(model, lambda: model(input_ids=tokens, labels=answers, use_cache=False).loss)


def whisper() -> Case:
    import transformers

    config = transformers.WhisperConfig(
        vocab_size=2000,
        d_model=256,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=8,
        decoder_attention_heads=8,
        encoder_ffn_dim=1024,
        decoder_ffn_dim=1024,
        max_source_positions=256,
        max_target_positions=128,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    model = transformers.WhisperForConditionalGeneration(config)
    sound, answers = torch.randn(4, 80, 512), _tokens(2000, 4, 128)
    return Case(model, lambda: model(input_features=sound, labels=answers, use_cache=False).loss)


def vit() -> Case:
    import transformers

    config = transformers.ViTConfig(
        hidden_size=256,
        num_hidden_layers=4,
        num_attention_heads=8,
        intermediate_size=1024,
        image_size=64,
        patch_size=4,
    )
    model = transformers.ViTForImageClassification(config)
    images, labels = torch.randn(4, 3, 64, 64), torch.randint(0, 2, (4,))
    return Case(model, lambda: model(pixel_values=images, labels=labels).loss)


def _vision(name: str, batch: int, size: int) -> Case:
    import timm

    model = timm.create_model(name, num_classes=10)
    images, labels = torch.randn(batch, 3, size, size), torch.randint(0, 10, (batch,))
    return Case(model, lambda: nn.functional.cross_entropy(model(images), labels))


def resnet18() -> Case:
    return _vision("resnet18", 8, 128)


def resnet50() -> Case:
    return _vision("resnet50", 4, 128)


def mobilenet() -> Case:
    return _vision("mobilenetv3_large_100", 8, 128)


def efficientnet() -> Case:
    return _vision("efficientnet_b0", 4, 128)


def convnext() -> Case:
    return _vision("convnext_pico", 4, 128)


def swin() -> Case:
    return _vision("swin_tiny_patch4_window7_224", 2, 224)


def unet() -> Case:
    import diffusers

    model = diffusers.UNet2DModel(
        sample_size=32,
        block_out_channels=(64, 128),
        layers_per_block=1,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )
    noisy, noise = torch.randn(4, 3, 32, 32), torch.randn(4, 3, 32, 32)
    steps = torch.randint(0, 1000, (4,))
    return Case(model, lambda: nn.functional.mse_loss(model(noisy, steps).sample, noise))


class _OverGraphs(nn.Module):
    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        *first, last = self.layers
        for layer in first:
            x = nn.functional.elu(layer(x, edges))
        result: torch.Tensor = last(x, edges)
        return result


def _graph(kind: str, **fields: Any) -> Case:
    import torch_geometric.nn

    layer = getattr(torch_geometric.nn, kind)
    wide = 64 * fields.get("heads", 1)
    model = _OverGraphs(layer(128, 64, **fields), layer(wide, 64, **fields), layer(wide, 8))
    x, edges = torch.randn(4000, 128), torch.randint(0, 4000, (2, 20000))
    labels = torch.randint(0, 8, (4000,))
    return Case(model, lambda: nn.functional.cross_entropy(model(x, edges), labels))


def gcn() -> Case:
    return _graph("GCNConv")


def gat() -> Case:
    return _graph("GATConv", heads=4)


NETWORKS: dict[str, Callable[[], Case]] = {
    "GPT-2": gpt2,
    "Llama": llama,
    "Llama, eager attention": llama_eager,
    "Mixtral": mixtral,
    "BERT": bert,
    "T5": t5,
    "Whisper": whisper,
    "ViT": vit,
    "Swin": swin,
    "ConvNeXt": convnext,
    "ResNet-18": resnet18,
    "ResNet-50": resnet50,
    "MobileNetV3": mobilenet,
    "EfficientNet-B0": efficientnet,
    "UNet (diffusers)": unet,
    "GCN": gcn,
    "GAT": gat,
}
