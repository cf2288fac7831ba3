"""One run: a benchmark, a series and a seed, epoch by epoch, so that it can be taken up again.

After every epoch the model, the optimizer, the state of the random numbers and the curve so far are
written, at once, beside the result; a run that was killed goes on from there and ends with the
same bits as one that was not. The order of an epoch depends on the seed and the epoch alone.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import pathlib
import time
from collections.abc import Callable
from typing import Any

import torch

from .benchmark import Benchmark, Data, Scale
from .series import Batches, Series
from .start import Start

Say = Callable[[str], None]


class Run:
    """config decides what is learned; two runs with the same one are the same run."""

    def __init__(
        self,
        benchmark: Benchmark,
        scale_name: str,
        scale: Scale,
        series: Series,
        seed: int,
        data: Data,
        folder: pathlib.Path,
        workers: int = 0,
        start: Start | None = None,
    ) -> None:
        self.benchmark, self.scale, self.series, self.seed = benchmark, scale, series, seed
        self.data, self.workers, self.start = data, workers, start
        self.name = f"{series.name}-seed{seed}"
        self.result_path = folder / f"{self.name}.json"
        self.checkpoint_path = folder / f"{self.name}.checkpoint"
        self.weights_path = folder / f"{self.name}.weights"
        self.config = {
            "benchmark": benchmark.name,
            "scale": scale_name,
            "series": series.name,
            "codec": None if series.codec is None else series.codec.to_dict(),
            "ratio": series.ratio,
            "seed": seed,
            "data": data.source,
            "train_samples": len(data.train_inputs),
            "test_samples": len(data.test_inputs),
            **scale.describe(),
        }
        if series.activations is not None:
            self.config["activations"] = series.activations
        if start is not None:
            self.config["start_sha256"] = start.digest

    def finished(self) -> dict[str, Any] | None:
        """The result, if this run is done already."""
        if not self.result_path.is_file():
            return None
        result = json.loads(self.result_path.read_text())
        if result["config"] != self.config:
            different = [k for k in self.config if result["config"].get(k) != self.config[k]]
            raise ValueError(
                f"{self.result_path} is the result of another configuration "
                f"({', '.join(different)} differ); choose another --out, or remove it"
            )
        return dict(result)

    def run(self, say: Say) -> dict[str, Any]:
        """Trains what is left to train and writes the result."""
        torch.manual_seed(self.seed)
        model = self._network()
        optimizer = self._optimizer(model)
        train = self._batches(self.data.train_inputs, self.data.train_targets)
        test = self._batches(self.data.test_inputs, self.data.test_targets)
        curve = self._resume(model, optimizer, say)
        steps = self._steps()
        for epoch in range(len(curve), self.scale.epochs):
            began = time.perf_counter()
            order = self._order(epoch)
            with self.series.training(model, self.seed * 100_003 + epoch) as saved:
                loss = self._train(model, optimizer, train, order, epoch * steps)
            trained = time.perf_counter()
            point = {"epoch": epoch + 1, "train_loss": loss, **self._test(model, test)}
            if saved:
                point["saved"] = saved
            point["train_seconds"] = trained - began
            point["test_seconds"] = time.perf_counter() - trained
            curve.append(point)
            _check(point, self.name)
            self._save(model, optimizer, curve)
            say(self._progress(point))
        result = {
            "config": self.config,
            "final": {k: v for k, v in curve[-1].items() if k.endswith(("loss", "accuracy"))},
            "curve": curve,
            "loader": train.report(),
            **({"saved": curve[-1]["saved"]} if "saved" in curve[-1] else {}),
            "weights_sha256": _digest(model),
            "environment": {"torch": torch.__version__, "threads": torch.get_num_threads()},
        }
        if self.benchmark.keeps_weights:
            torch.save(model.state_dict(), self.weights_path)
        write_atomically(self.result_path, json.dumps(result, indent=1).encode() + b"\n")
        self.checkpoint_path.unlink(missing_ok=True)
        return result

    def _network(self) -> torch.nn.Module:
        model = self.scale.make_network()
        if self.start is None:
            return model
        assert self.benchmark.begin is not None
        return self.benchmark.begin(model, self.start.weights)

    def _batches(self, inputs: torch.Tensor, targets: torch.Tensor) -> Batches:
        return self.series.batches(inputs, targets, self.scale.batch, self.workers)

    def _optimizer(self, model: torch.nn.Module) -> torch.optim.Optimizer:
        rate = self.scale.learning_rate
        if self.scale.adam:
            return torch.optim.Adam(model.parameters(), lr=rate)
        return torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9, weight_decay=1e-4)

    def _order(self, epoch: int) -> torch.Tensor:
        passes, part = divmod(epoch, self.scale.parts)
        generator = torch.Generator().manual_seed(self.seed * 100_003 + passes)
        order = torch.randperm(len(self.data.train_inputs), generator=generator)
        return order.tensor_split(self.scale.parts)[part]

    def _steps(self) -> int:
        """Of an epoch, of the longest one where parts are not equal."""
        samples = math.ceil(len(self.data.train_inputs) / self.scale.parts)
        return math.ceil(samples / self.scale.batch)

    def _rate(self, step: int) -> float:
        """Constant, or up over the first fifth of all steps and down to zero over the rest."""
        if not self.scale.one_cycle:
            return self.scale.learning_rate
        steps = self.scale.epochs * self._steps()
        at, top = (step + 0.5) / steps, 0.2
        return self.scale.learning_rate * (at / top if at < top else (1 - at) / (1 - top))

    def _train(
        self,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        batches: Batches,
        order: torch.Tensor,
        step: int,
    ) -> float:
        model.train()
        total, count = 0.0, 0
        for inputs, targets in batches.epoch(order):
            for group in optimizer.param_groups:
                group["lr"] = self._rate(step)
            loss = self.benchmark.loss(model(self._prepared(inputs)), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            total += float(loss.detach()) * len(targets)
            count += len(targets)
        return total / count

    @torch.no_grad()
    def _test(self, model: torch.nn.Module, batches: Batches) -> dict[str, float]:
        model.eval()
        total, correct, count = 0.0, 0, 0
        for inputs, targets in batches.epoch(torch.arange(len(self.data.test_inputs))):
            outputs = model(self._prepared(inputs))
            total += float(self.benchmark.loss(outputs, targets)) * len(targets)
            count += len(targets)
            if self.benchmark.accuracy:
                correct += int((outputs.argmax(1) == targets).sum())
        measured = {"test_loss": total / count}
        if self.benchmark.accuracy:
            measured["test_accuracy"] = 100 * correct / count
        return measured

    def _prepared(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.benchmark.prepare(inputs).contiguous(memory_format=self.scale.memory_format)

    def _progress(self, point: dict[str, Any]) -> str:
        measured = f"train loss {point['train_loss']:.4f}, test loss {point['test_loss']:.4f}"
        if "test_accuracy" in point:
            measured += f", test accuracy {point['test_accuracy']:.2f} %"
        return f"{self.name}: epoch {point['epoch']}/{self.scale.epochs}, {measured}"

    def _save(self, model: torch.nn.Module, optimizer: Any, curve: list[dict[str, Any]]) -> None:
        state = {
            "config": json.dumps(self.config, sort_keys=True),
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "random": torch.get_rng_state(),
            "curve": json.dumps(curve),
        }
        draft = self.checkpoint_path.with_suffix(".part")
        with draft.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.checkpoint_path)

    def _resume(self, model: torch.nn.Module, optimizer: Any, say: Say) -> list[dict[str, Any]]:
        if not self.checkpoint_path.is_file():
            return []
        state = torch.load(self.checkpoint_path, weights_only=True)
        if state["config"] != json.dumps(self.config, sort_keys=True):
            raise ValueError(
                f"{self.checkpoint_path} is of another configuration; choose another --out, or "
                "remove it to begin anew"
            )
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
        curve: list[dict[str, Any]] = json.loads(state["curve"])
        say(f"{self.name}: resumed after epoch {len(curve)}")
        return curve


def write_atomically(path: pathlib.Path, content: bytes) -> None:
    draft = path.with_suffix(path.suffix + ".part")
    draft.write_bytes(content)
    draft.replace(path)


def _digest(model: torch.nn.Module) -> str:
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()


def _check(point: dict[str, Any], name: str) -> None:
    if not math.isfinite(point["train_loss"]):
        raise ValueError(
            f"{name}: the training loss of epoch {point['epoch']} is {point['train_loss']}: the "
            "run has diverged, or its inputs are not finite"
        )
