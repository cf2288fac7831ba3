"""The Trainer of transformers with its callback."""

import gc

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from tiny_training import Trained, check_levels, sentences, tiny_llama, weights_of
from transformers import Trainer, TrainerCallback, TrainingArguments

import tensorpress.torch
from tensorpress.torch.clients.huggingface import CompressActivations

pytestmark = pytest.mark.usefixtures("one_thread")


class Examples(torch.utils.data.Dataset):
    def __init__(self, count):
        self.words = sentences(count)

    def __len__(self):
        return len(self.words)

    def __getitem__(self, place):
        return {"input_ids": self.words[place], "labels": self.words[place]}


def trainer_of(folder, callbacks=(), model=None, trainer=Trainer, others=None, **arguments):
    settings = {
        "output_dir": str(folder),
        "use_cpu": True,
        "report_to": "none",
        "disable_tqdm": True,
        "save_strategy": "no",
        "max_steps": 8,
        "logging_steps": 1,
        "learning_rate": 3e-3,
        "per_device_train_batch_size": 8,
        **arguments,
    }
    return trainer(
        model=model or tiny_llama(),
        args=TrainingArguments(**settings),
        train_dataset=Examples(64),
        eval_dataset=Examples(8),
        callbacks=list(callbacks),
        **(others or {}),
    )


def train(folder, level, **arguments):
    callbacks = [] if level is None else [CompressActivations(level)]
    trainer = trainer_of(folder, callbacks, **arguments)
    trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    report = callbacks[0].report() if callbacks else None
    return Trained(losses, weights_of(trainer.model), report)


CASES = {
    "plain": {},
    "evaluation": {"eval_strategy": "steps", "eval_steps": 3},
    "accumulation": {"gradient_accumulation_steps": 2, "max_steps": 4},
    "tokens counted": {"include_num_input_tokens_seen": "all"},
    "autocast to bfloat16": {"bf16": True},
    "label smoothing": {"label_smoothing_factor": 0.1},
}


@pytest.mark.parametrize("case", CASES)
def test_a_trainer_trains_as_without_the_callback(tmp_path, case):
    arguments = CASES[case]
    ratio = 1.8 if "bf16" in arguments else 3
    report = check_levels(lambda level: train(tmp_path, level, **arguments), ratio).report
    # Steps of the optimizer, times passes that each adds up.
    assert report.steps == 8
    assert report.policy == "balanced"
    assert any(each.name.startswith("model.layers.0.mlp") for each in report.activations)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointed_layers_save_their_inputs_in_8_bits(tmp_path, reentrant):
    arguments = {
        "gradient_checkpointing": True,
        "gradient_checkpointing_kwargs": {"use_reentrant": reentrant},
    }
    report = check_levels(lambda level: train(tmp_path, level, **arguments), 1.5).report
    inputs = [each for each in report.activations if "checkpoint" in each.name]
    assert "quantize bits=8" in {each.codec for each in inputs}


def test_a_compiled_model_is_compressed_in_its_graphs(tmp_path):
    torch._dynamo.reset()

    def compiled(level):
        torch._dynamo.reset()
        model = tiny_llama(layers=1)
        return train(tmp_path, level, model=model, torch_compile=True, max_steps=4)

    plain, off, balanced = compiled(None), compiled("off"), compiled("balanced")
    assert off.is_exactly(plain)
    assert off.report.ratio == 1
    assert balanced.falls
    assert balanced.report.ratio > 3.5
    assert balanced.report.steps == 4


def test_a_callback_that_comes_after_compilation_was_configured_is_refused(tmp_path):
    trainer = trainer_of(tmp_path, torch_compile=True)
    trainer.add_callback(CompressActivations("balanced"))
    with pytest.raises(ValueError, match=r"added after the Trainer .* Trainer\(callbacks"):
        trainer.train()


def test_options_for_one_compiled_trainer_do_not_reach_the_next(tmp_path):
    """Accelerate shares its settings between all trainers of a process."""
    trainer_of(tmp_path, [CompressActivations("balanced")], torch_compile=True)
    other = trainer_of(tmp_path, torch_compile=True)
    assert not other.accelerator.state.dynamo_plugin.options


def test_a_budget_for_compiled_graphs_is_refused(tmp_path):
    callback = CompressActivations(None, budget="1MiB")
    with pytest.raises(ValueError, match=r"budget='1MiB' needs a model that is not compiled"):
        trainer_of(tmp_path, [callback], torch_compile=True)


# ---- When training ends in other ways ---------------------------------------------------------


class Failing(TrainerCallback):
    def __init__(self, error):
        self.error = error

    def on_step_begin(self, args, state, control, model=None, **others):
        if state.global_step == 2:
            hook = model.model.layers[1].register_forward_hook(self.fail)
            self.remove = hook.remove

    def fail(self, *_):
        raise self.error


@pytest.mark.parametrize("error", [RuntimeError("the disk is full"), KeyboardInterrupt()])
def test_after_an_exception_nothing_is_compressed_outside_and_training_can_go_on(tmp_path, error):
    """Trainer tells no callback that training is over."""
    callback, failing = CompressActivations("max"), Failing(error)
    trainer = trainer_of(tmp_path, [callback, failing])
    with pytest.raises(type(error)):
        trainer.train()
    other, x = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU()), torch.randn(64, 64)
    other(x).sum().backward()
    found = other[0].weight.grad.clone()
    other.zero_grad()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):  # certainly exact
        other(x).sum().backward()
    assert torch.equal(found, other[0].weight.grad)
    failing.remove()
    trainer.remove_callback(failing)
    trainer.train()
    assert trainer.state.global_step == 8
    assert callback.report().ratio > 4


def test_a_smaller_batch_is_found_when_memory_runs_out(tmp_path):
    """auto_find_batch_size begins training again in the same call."""

    class Small(Trainer):
        def compute_loss(self, model, inputs, **others):
            if len(inputs["input_ids"]) > 4:
                raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried …")
            return super().compute_loss(model, inputs, **others)

    callback = CompressActivations("balanced")
    trainer = trainer_of(tmp_path, [callback], trainer=Small, auto_find_batch_size=True)
    trainer.train()
    assert trainer.state.global_step == 8
    assert callback.report().ratio > 3


def test_a_trainer_is_as_it_was_after_training(tmp_path):
    trainer = trainer_of(tmp_path, [CompressActivations("balanced")], max_steps=1)
    trainer.train()
    assert "compute_loss" not in vars(trainer)
    trainer.train()
    callback = trainer.pop_callback(CompressActivations)
    del trainer
    gc.collect()
    assert callback.report().steps == 2  # of the same model


def test_a_callback_that_no_trainer_calls_says_where_to_go():
    arguments = TrainingArguments(output_dir="unused", use_cpu=True, report_to="none")
    with pytest.raises(RuntimeError, match="use tensorpress.torch.compress_activations"):
        CompressActivations().on_train_begin(arguments, None, None)


def test_a_bad_policy_is_refused_when_the_callback_is_made():
    with pytest.raises(ValueError, match="balnced"):
        CompressActivations("balnced")


def test_no_report_before_training():
    with pytest.raises(RuntimeError, match="no training has begun"):
        CompressActivations().report()


def test_the_callback_is_found_without_an_import_of_its_own():
    assert tensorpress.torch.clients.huggingface.CompressActivations is CompressActivations
