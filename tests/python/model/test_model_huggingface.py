"""Models of transformers and diffusers as they come: to_text takes them, the emitted step has
autograd's loss and gradients bit by bit, and all verbs work on the text. Weights are random."""

import contextlib
import io
import json
import subprocess

import pytest
import torch
import torch.nn.functional as F
from conftest import PROGRAM
from emitted import assert_same, step_of

from tensorpress.torch import to_text

pytestmark = pytest.mark.usefixtures("one_thread")
WORDS = 96


def words(length=16):
    """Tokens, and the labels with some that do not count."""
    ids, labels = (torch.randint(1, WORDS, (3, length)) for _ in range(2))
    labels[1, -3:] = -100
    return {"input_ids": ids, "labels": labels}


def gpt2(**options):
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=WORDS, n_positions=32, n_embd=32, n_layer=2, n_head=2, **options)
    return GPT2LMHeadModel(config), words()


def llama(**options):
    """Two heads of q share one of k and v."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=WORDS, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64, **options,
    )  # fmt: skip
    return LlamaForCausalLM(config), words()


def bert(**options):
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        vocab_size=WORDS, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, max_position_embeddings=64, **options,
    )  # fmt: skip
    return BertForMaskedLM(config), words()


def vit(**options):
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        image_size=32, patch_size=8, num_labels=10, **options,
    )  # fmt: skip
    images = {"pixel_values": torch.randn(3, 3, 32, 32), "labels": torch.randint(10, (3,))}
    return ViTForImageClassification(config), images


def t5(**options):
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=WORDS, d_model=32, d_ff=64, d_kv=8, num_layers=2, num_heads=4,
        decoder_start_token_id=0, pad_token_id=0, **options,
    )  # fmt: skip
    labels = words(12)["labels"]
    return T5ForConditionalGeneration(config), words() | {"labels": labels}


def unet(**options):
    from diffusers import UNet2DModel

    model = UNet2DModel(
        sample_size=16, in_channels=3, out_channels=3, layers_per_block=1,
        block_out_channels=(16, 32), down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"), norm_num_groups=8, **options,
    )  # fmt: skip
    return model, {"sample": torch.randn(3, 3, 16, 16), "timestep": torch.randint(1000, (3,))}


def unet_with_condition(**options):
    from diffusers import UNet2DConditionModel

    model = UNet2DConditionModel(
        sample_size=16, in_channels=4, out_channels=4, layers_per_block=1,
        block_out_channels=(16, 32), down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), norm_num_groups=8,
        cross_attention_dim=24, **options,
    )  # fmt: skip
    sample, states = torch.randn(3, 4, 16, 16), torch.randn(3, 7, 24)
    time = torch.randint(1000, (3,))
    return model, {"sample": sample, "timestep": time, "encoder_hidden_states": states}


MODELS = {
    "transformers": (gpt2, llama, bert, vit, t5),
    "diffusers": (unet, unet_with_condition),
}
CASES = [make for makes in MODELS.values() for make in makes]


def made(make, **options):
    """The model and a batch; skips where the library is not installed."""
    library = next(name for name, makes in MODELS.items() if make in makes)
    pytest.importorskip(library, reason=f"{library} is not installed")
    torch.manual_seed(4)
    with contextlib.redirect_stderr(io.StringIO()):
        model, batch = make(**options)
    return model.train(), batch


def text_of(model, batch, **options):
    return to_text(model, batch, loss=None if "labels" in batch else "mse_loss", **options)


def beside(model, step, batch):
    """Both losses, after both backward passes."""
    torch.manual_seed(6)  # the same dropout
    result = model(**batch)
    wanted = () if "labels" in batch else (torch.randn(batch["sample"].shape),)
    loss = result.loss if "labels" in batch else F.mse_loss(result.sample, *wanted)
    loss.backward()
    torch.manual_seed(6)
    model(**batch)  # draws as often
    torch.manual_seed(6)
    mine = step(*batch.values(), *wanted)
    step.backward()
    return mine.detach(), loss.detach()


def compared(tmp_path, model, batch, **options):
    text = text_of(model, batch, **options)
    step = step_of(tmp_path, text, model)
    mine, theirs = beside(model, step, batch)
    assert_same(step, mine, model, theirs)
    return text


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_the_step_has_the_bits_of_autograd(tmp_path, make):
    model, batch = made(make)
    text = compared(tmp_path, model, batch)
    assert "[N, " in text  # another batch size than the example's:
    step = step_of(tmp_path, text, model)
    model.zero_grad()
    fewer = {name: each[:2] for name, each in batch.items()}
    mine, theirs = beside(model, step, fewer)
    assert_same(step, mine, model, theirs)


@pytest.mark.parametrize("make", [gpt2, llama, bert, t5])
def test_masks_of_padding_are_inputs(tmp_path, make):
    model, batch = made(make)
    mask = torch.ones_like(batch["input_ids"])
    mask[0, -4:] = 0
    compared(tmp_path, model, batch | {"attention_mask": mask})


@pytest.mark.parametrize("make", [gpt2, llama])
def test_attention_by_products_is_taken_too(tmp_path, make):
    model, batch = made(make, attn_implementation="eager")
    assert "softmax(" in compared(tmp_path, model, batch)


def test_causal_attention_needs_no_mask():
    text = text_of(*made(gpt2))
    assert text.count("causal=true") == 2 and "arange(16)" in text
    assert "le(" not in text and "where(" not in text and "full(" not in text


def test_tables_of_frequencies_are_written_as_what_makes_them():
    text = text_of(*made(llama))
    assert "cos(" in text and "arange(16" in text
    assert max(map(len, text.splitlines())) < 400


def test_caches_are_left_out_and_other_outputs_are_named():
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=WORDS, hidden_size=32, num_attention_heads=4, num_hidden_layers=1
    )
    model, ids = BertModel(config), {"input_ids": torch.randint(WORDS, (3, 16))}
    with pytest.raises(ValueError, match="'last_hidden_state', 'pooler_output'"):
        to_text(model, ids, loss="mse_loss")
    text = to_text(model, ids, loss="mse_loss", output="last_hidden_state")
    assert "target wanted: f32[N, 16, 32]" in text
    with pytest.raises(ValueError, match="no tensor 'logits'"):
        to_text(model, ids, loss="mse_loss", output="logits")


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_every_verb_works_on_the_text(tmp_path, make):
    model, batch = made(make)
    path = tmp_path / "model.tpm"
    path.write_text(text_of(model, batch))

    def run(verb, *options):
        command = [PROGRAM, "model", verb, path, *options]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, (verb, done.stderr)
        return done.stdout

    run("check")
    saved = json.loads(run("profile", "--batch", "64", "--plan", "balanced", "--json"))
    assert saved["saved_bytes"] < saved["plain_saved_bytes"] / 2
    run("plan", "--batch", "64", "--ratio", "3", "-o", tmp_path / "plan.json")
    run("emit", "--plan", tmp_path / "plan.json", "-o", tmp_path / "planned.py")
    run("emit", "--plan", "max", "--portable", "-o", tmp_path / "portable.py")
    run("cost", "--batch", "64")
