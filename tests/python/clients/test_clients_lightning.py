"""The Trainer of Lightning with its callback."""

import warnings

import pytest

torch = pytest.importorskip("torch")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("lightning")
    import lightning.pytorch as lightning

import torch.nn.functional as F
from tiny_training import Trained, check_levels, weights_of
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import tensorpress.torch
from tensorpress.torch.clients.lightning import CompressActivations

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore"),  # about few workers, and the like
]


class Classifier(lightning.LightningModule):
    """The loss is computed outside of every module's forward."""

    def __init__(self, by_hand=False):
        super().__init__()
        self.automatic_optimization = not by_hand
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)
        )
        self.head = nn.Sequential(
            nn.Conv2d(16, 16, 3), nn.GELU(), nn.Flatten(), nn.Linear(16 * 36, 4)
        )
        self.losses = []

    def training_step(self, batch, place):
        images, labels = batch
        loss = F.cross_entropy(self.head(self.features(images)), labels)
        self.losses.append(loss.item())
        if not self.automatic_optimization:
            optimizer = self.optimizers()
            optimizer.zero_grad()
            self.manual_backward(loss)
            optimizer.step()
        return loss

    def validation_step(self, batch, place):
        images, labels = batch
        self.log("validation", F.cross_entropy(self.head(self.features(images)), labels))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-3)


def pictures(count):
    generator = torch.Generator().manual_seed(4)
    labels = torch.arange(count) % 4
    images = torch.randn(count, 3, 16, 16, generator=generator)
    images[torch.arange(count), labels % 3] += 1.0 + labels.view(-1, 1, 1)
    return DataLoader(TensorDataset(images, labels), batch_size=16)


def trainer_of(folder, callbacks=(), **settings):
    return lightning.Trainer(
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
        callbacks=list(callbacks),
        **{"max_epochs": 1, **settings},
    )


def train(folder, level, by_hand=False, **settings):
    torch.manual_seed(1)
    module = Classifier(by_hand)
    callbacks = [] if level is None else [CompressActivations(level)]
    trainer_of(folder, callbacks, **settings).fit(module, pictures(128), pictures(16))
    return Trained(module.losses, weights_of(module), callbacks and callbacks[0].report())


@pytest.mark.parametrize(
    "settings, ratio",
    [
        ({}, 4),
        ({"accumulate_grad_batches": 2}, 4),
        ({"precision": "bf16-mixed"}, 2.5),
        ({"precision": "bf16-true"}, 2.5),
        ({"by_hand": True}, 4),
        ({"val_check_interval": 2, "gradient_clip_val": 1.0}, 4),
    ],
    ids=str,
)
def test_a_trainer_trains_as_without_the_callback(tmp_path, settings, ratio):
    report = check_levels(lambda level: train(tmp_path, level, **settings), ratio).report
    assert report.steps == 8


def test_a_compiled_module_is_compressed_in_its_graphs(tmp_path):
    def compiled(level):
        torch._dynamo.reset()
        torch.manual_seed(1)
        module = Part()
        wrapped = torch.compile(module)
        if level is not None:
            wrapped = tensorpress.torch.compile(module, level)
        trainer_of(tmp_path).fit(wrapped, pictures(64))
        return Trained([], weights_of(module), tensorpress.torch.compiled_report())

    class Part(Classifier):
        def training_step(self, batch, place):
            images, labels = batch
            return F.cross_entropy(self.head(self.features(images)), labels)

    plain, off, balanced = compiled(None), compiled("off"), compiled("balanced")
    assert off.is_exactly(plain)
    assert not balanced.is_exactly(plain)
    # The report lists the graphs of both levels.
    assert any("quantize" in each.codec for each in balanced.report.activations)


def test_the_callback_for_a_compiled_module_says_what_to_do(tmp_path):
    module = torch.compile(Classifier())
    trainer = trainer_of(tmp_path, [CompressActivations()])
    with pytest.raises(ValueError, match="tensorpress.torch.compile"):
        trainer.fit(module, pictures(16))


def test_after_an_exception_the_trainer_is_as_before(tmp_path):
    class Failing(Classifier):
        def training_step(self, batch, place):
            loss = super().training_step(batch, place)
            if place == 2:
                raise RuntimeError("the disk is full")
            return loss

    callback = CompressActivations("balanced")
    trainer = trainer_of(tmp_path, [callback])
    with pytest.raises(RuntimeError, match="the disk is full"):
        trainer.fit(Failing(), pictures(64))
    assert "training_step" not in vars(trainer.strategy)
    assert callback.report().steps == 3
    trainer_of(tmp_path, [callback]).fit(Classifier(), pictures(64))
    assert callback.report().steps == 4  # of the new module
