"""Trainers of TRL."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from datasets import Dataset
from tiny_training import VOCABULARY, Trained, check_levels, sentences, tiny_llama, weights_of
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

from tensorpress.torch.clients.trl import CompressActivations

pytestmark = pytest.mark.usefixtures("one_thread")


def tokenizer():
    words = {f"w{number}": number for number in range(VOCABULARY)}
    made = Tokenizer(models.WordLevel(words, unk_token="w1"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="w0", eos_token="w2", unk_token="w1"
    )


def trainer_of(folder, callbacks=(), **settings):
    config = SFTConfig(
        output_dir=str(folder),
        **{
            "use_cpu": True,
            "bf16": False,
            "report_to": "none",
            "disable_tqdm": True,
            "save_strategy": "no",
            "max_steps": 8,
            "logging_steps": 1,
            "learning_rate": 3e-3,
            "per_device_train_batch_size": 8,
            **settings,
        },
    )
    return SFTTrainer(
        model=tiny_llama(),
        args=config,
        train_dataset=Dataset.from_dict({"input_ids": sentences(64).tolist()}),
        processing_class=tokenizer(),
        callbacks=list(callbacks),
    )


@pytest.mark.parametrize(
    "settings, ratio",
    [
        ({"gradient_checkpointing": False}, 3),
        ({}, 1.2),  # TRL checkpoints layers unless told otherwise
        ({"gradient_checkpointing": False, "bf16": True}, 2),
    ],
    ids=str,
)
def test_supervised_fine_tuning_trains_as_without_the_callback(tmp_path, settings, ratio):
    def train(level):
        callbacks = [] if level is None else [CompressActivations(level)]
        trainer = trainer_of(tmp_path, callbacks, **settings)
        trainer.train()
        losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        return Trained(losses, weights_of(trainer.model), callbacks and callbacks[0].report())

    check_levels(train, ratio)


def test_offloading_what_is_compressed_is_refused(tmp_path):
    """TRL itself needs an accelerator to offload from, so the setting comes after its own check."""
    trainer = trainer_of(tmp_path, [CompressActivations("balanced")])
    trainer.args.activation_offloading = True
    with pytest.raises(ValueError, match="activation_offloading=True .* use one"):
        trainer.train()
