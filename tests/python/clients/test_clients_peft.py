"""Adapters of PEFT: most weights have no gradient, and what layers save is no less."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("peft")
pytest.importorskip("transformers")

from peft import LoraConfig, get_peft_model
from test_clients_huggingface import trainer_of
from tiny_training import (
    Trained,
    check_levels,
    language_batches,
    language_loss,
    tiny_llama,
    trained,
    weights_of,
)

from tensorpress.torch.clients.huggingface import CompressActivations

pytestmark = pytest.mark.usefixtures("one_thread")


def adapted(dropout=0.0):
    model = tiny_llama()
    torch.manual_seed(2)
    config = LoraConfig(
        r=8, lora_alpha=16, lora_dropout=dropout, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    return get_peft_model(model, config)


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_adapters_train_in_a_plain_loop(dropout):
    def train(level):
        model = adapted(dropout)
        torch.manual_seed(5)  # of the dropout
        return trained(model, language_batches(), language_loss, level, rate=1e-2)

    balanced = check_levels(train, 2.5)
    frozen = adapted(dropout).base_model.model.model.layers[0].mlp.up_proj.base_layer.weight
    name = "base_model.model.model.layers.0.mlp.up_proj.base_layer.weight"
    assert torch.equal(balanced.weights[name], frozen)


def test_adapters_train_in_a_trainer(tmp_path):
    def train(level):
        callbacks = [] if level is None else [CompressActivations(level)]
        trainer = trainer_of(tmp_path, callbacks, model=adapted(), learning_rate=3e-2)
        trainer.train()
        losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        return Trained(losses, weights_of(trainer.model), callbacks and callbacks[0].report())

    check_levels(train, 2.5)
