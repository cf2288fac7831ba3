"""Gradients that travel compressed between the processes of DistributedDataParallel.

    state = tensorpress.torch.GradientCompression("quantize", bits=4)
    model.register_comm_hook(state, tensorpress.torch.compress_gradients)

Compressed numbers cannot be added up on their way, so every rank gathers what the others have
compressed, decompresses it and takes the mean in the order of the ranks: all end with the same
bits. With n ranks each receives n - 1 compressed gradients, where a plain all-reduce moves about
twice the gradient whatever n is: this pays while the codec's ratio is well above n / 2.

Error feedback (Seide et al. 2014; Karimireddy et al. 2019): what compression took away is kept and
added to the next gradient, so that nothing is lost, only late. It is kept by parameter, because DDP
puts parameters into other buckets after the first step.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import torch
import torch.distributed as dist

from ..._codec import Codec
from ..._compression import compress, decompress
from ..._reader import checked_threads
from .messages import Message, all_reduce, as_matrix, exact, finite, read, sum_type
from .report import GradientReport

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


# DDP compares annotations with types, and here they would be texts; so this one has none.
def compress_gradients(state, bucket):
    """The communication hook: model.register_comm_hook(state, compress_gradients)."""
    return state.exchange(bucket)


@dataclass
class _Slot:
    """A parameter's place in the state."""

    name: str
    number: int
    shape: tuple[int, ...]
    parameter: torch.Tensor
    residual: torch.Tensor | None = None


class GradientCompression:
    """How gradients are compressed, and what waits for the next step.

    `codec` is any codec's name with its bound and parameters as keywords, a `Codec`, or "keep",
    which sends gradients as they are. Error-bounded codecs need a bound: relative=0.01 is one of
    the range of each parameter's gradient.

      error_feedback    add what compression took away to the next gradient
      warmup_steps      so many steps with a plain all-reduce first
      min_elements      smaller parameters (biases, norms) travel as they are
      named_parameters  model.named_parameters(): names for state_dict(); without them the order in
                        which DDP showed the parameters, which is the same in every run of a model
      scaler            a torch.amp.GradScaler whose scale the residual follows
      process_group     as the model's; the default group if not given

    Rounding at random (rounding="stochastic") differs by rank, step and parameter and depends on
    nothing else but seed=. NaN and infinities travel as they are, so that a GradScaler sees them.

    state_dict() and load_state_dict() continue a run; every rank has its own.

    >>> state = tensorpress.torch.GradientCompression("quantize", bits=4, warmup_steps=2)
    >>> state.codec
    Codec('quantize', bits=4)
    """

    def __init__(
        self,
        codec: str | Codec = "quantize",
        *,
        error_feedback: bool = True,
        warmup_steps: int = 0,
        min_elements: int = 1024,
        named_parameters: Iterable[tuple[str, torch.Tensor]] | None = None,
        scaler: Any = None,
        process_group: Any = None,
        threads: int = 1,
        **settings: Any,
    ) -> None:
        self.codec = _codec(codec, settings)
        self.error_feedback = error_feedback and self.codec is not None
        if self.error_feedback:
            _check_feedback(self.codec)
        if warmup_steps < 0 or min_elements < 0:
            raise ValueError(f"{warmup_steps=} and {min_elements=} must not be negative")
        self.warmup_steps = warmup_steps
        self.min_elements = min_elements
        self.threads = checked_threads(threads)
        self.scaler = scaler
        self.process_group = process_group
        self.steps = 0
        self._names = {
            id(parameter): name.removeprefix("module.")
            for name, parameter in named_parameters or ()
        }
        self._slots: dict[int, _Slot] = {}
        self._loaded: dict[str, torch.Tensor] = {}
        self._scale: float | None = None
        self._report = GradientReport()
        self._lock = threading.Lock()  # decompression counts in the engine's thread

    def report(self) -> GradientReport:
        """Bytes, seconds and what waits for the next step."""
        residuals = [slot.residual for slot in self._slots.values() if slot.residual is not None]
        norms = [float(residual.double().square().sum()) for residual in residuals]
        with self._lock:
            fields = asdict(self._report)
        fields.update(
            steps=self.steps,
            residual_norm=math.sqrt(math.fsum(norms)),
            residual_bytes=sum(residual.nbytes for residual in residuals),
        )
        return GradientReport(**fields)

    # ---- Keeping it ----

    def state_dict(self) -> dict[str, Any]:
        """What this rank needs to go on: ready for torch.save or tensorpress.torch.save."""
        residuals = {
            slot.name: slot.residual.clone()
            for slot in self._slots.values()
            if slot.residual is not None
        }
        return {
            "steps": self.steps,
            "scale": self._scale,
            "residuals": {**self._loaded, **residuals},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Residuals find their parameters at the next step; another shape is an error then."""
        self.steps = int(state["steps"])
        self._scale = state["scale"]
        self._loaded = {name: tensor.clone() for name, tensor in state["residuals"].items()}
        for slot in self._slots.values():
            slot.residual = self._take_loaded(slot.name, slot.shape)

    def __getstate__(self) -> dict[str, Any]:
        left_out = {"_lock", "_slots", "_names", "_loaded", "scaler", "process_group"}
        kept = {key: value for key, value in self.__dict__.items() if key not in left_out}
        return {**kept, "_loaded": self.state_dict()["residuals"]}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self.scaler = self.process_group = None
        self._names, self._slots = {}, {}
        self._lock = threading.Lock()

    # ---- One bucket ----

    def exchange(self, bucket: Any) -> torch.futures.Future[torch.Tensor]:
        """The mean of the bucket over all ranks, when it is there."""
        buffer = bucket.buffer()
        _check(buffer)
        group = self._group()
        plain = self.steps < self.warmup_steps
        with self._lock:
            self._report.buckets += 1
            self._report.bytes_plain += buffer.nbytes
            self._report.bytes_sent += buffer.nbytes if plain else 0
        try:
            if plain:
                return all_reduce(buffer, group)
            return self._gather(buffer, [self._slot(each) for each in bucket.parameters()], group)
        finally:
            # Every rank calls this for the same buckets in the same order.
            if bucket.is_last():
                self.steps += 1

    def _gather(
        self, buffer: torch.Tensor, slots: list[_Slot], group: Any
    ) -> torch.futures.Future[torch.Tensor]:
        started = time.perf_counter()
        sizes = [math.prod(slot.shape) for slot in slots]
        if sum(sizes) != buffer.numel():
            raise RuntimeError(
                f"the bucket has {buffer.numel()} elements and its parameters {sum(sizes)}"
            )
        segments = buffer.split(sizes)
        if self.error_feedback:
            self._follow_scale()
        messages = [self._encode(*each, group.rank()) for each in zip(slots, segments, strict=True)]
        payload = b"".join(message.data for message in messages)
        encoded = time.perf_counter()

        # Sizes first, waiting for them: so the order of collectives is that of the buckets on every
        # rank. The payload may take its time.
        table = torch.tensor([message.entry for message in messages], dtype=torch.int64)
        tables = [torch.empty_like(table) for _ in range(group.size())]
        dist.all_gather(tables, table, group=group)
        longest = max(int(each.abs().sum()) for each in tables)
        known = time.perf_counter()
        with self._lock:
            self._report.bytes_sent += table.nbytes + longest
            self._report.compress_seconds += encoded - started
            self._report.wait_seconds += known - encoded

        own = [message.values for message in messages]
        if longest == 0:
            done: torch.futures.Future[torch.Tensor] = torch.futures.Future()
            done.set_result(buffer.zero_())
            return done
        padded = torch.frombuffer(bytearray(payload.ljust(longest, b"\0")), dtype=torch.uint8)
        gathered = [torch.empty_like(padded) for _ in range(group.size())]
        work = dist.all_gather(gathered, padded, group=group, async_op=True)

        def mean(future: torch.futures.Future[Any]) -> torch.Tensor:
            future.value()  # raises what the exchange raised
            begun = time.perf_counter()
            self._decode(segments, slots, tables, gathered, own, group.rank())
            with self._lock:
                self._report.decompress_seconds += time.perf_counter() - begun
            return buffer

        return work.get_future().then(mean)

    def _encode(self, slot: _Slot, gradient: torch.Tensor, rank: int) -> Message:
        if self.codec is None or gradient.numel() < max(1, self.min_elements):
            return exact(gradient)
        if not gradient.any():
            # Nothing to send. The residual waits too: if no rank used the parameter, DDP will not
            # look at what arrives for it.
            return Message(0, b"", None)
        wanted = gradient.to(self._working_type(gradient), copy=self.error_feedback)
        if slot.residual is not None:
            wanted += slot.residual.to(wanted.dtype)
        if not finite(wanted):
            return self._as_it_is(gradient)
        matrix = as_matrix(wanted, slot.shape)
        # Gradients have no fill values: an extreme that many share was clipped.
        codec = self._seeded(slot, rank)
        stream = compress(matrix, codec, whole_range=True, threads=self.threads)
        if len(stream) >= gradient.nbytes:
            message = exact(wanted.to(gradient.dtype))
            arrived = torch.frombuffer(bytearray(message.data), dtype=gradient.dtype)
        else:
            arrived = torch.empty_like(wanted)
            decompress(stream, as_matrix(arrived, slot.shape), threads=self.threads)
            message = Message(len(stream), stream, arrived)
        if self.error_feedback:
            left = wanted.sub_(arrived.to(wanted.dtype))
            if not finite(left):
                return self._as_it_is(gradient)
            slot.residual = left
        return message

    def _as_it_is(self, gradient: torch.Tensor) -> Message:
        with self._lock:
            self._report.nonfinite += 1
        return exact(gradient)

    def _decode(
        self,
        segments: tuple[torch.Tensor, ...],
        slots: list[_Slot],
        tables: list[torch.Tensor],
        gathered: list[torch.Tensor],
        own: list[torch.Tensor | None],
        rank: int,
    ) -> None:
        """Writes the mean over the ranks, added up in their order, into the segments."""
        entries = [table.tolist() for table in tables]
        offsets = [0] * len(tables)
        for at, (segment, slot) in enumerate(zip(segments, slots, strict=True)):
            total: torch.Tensor | None = None
            for source, part in enumerate(gathered):
                entry = entries[source][at]
                piece = part[offsets[source] : offsets[source] + abs(entry)]
                offsets[source] += abs(entry)
                if entry == 0:
                    continue
                values = own[at] if source == rank else None
                if values is None:
                    kinds = segment.dtype, self._working_type(segment)
                    values = read(piece, entry, *kinds, slot.shape, self.threads)
                wider = values.to(sum_type(segment.dtype), copy=total is None)
                total = wider if total is None else total.add_(wider)
            if total is None:
                segment.zero_()
            else:
                segment.copy_(total.div_(len(tables)))

    # ---- Parameters ----

    def _slot(self, parameter: torch.Tensor) -> _Slot:
        slot = self._slots.get(id(parameter))
        if slot is None:
            number = len(self._slots)
            name = self._names.get(id(parameter), f"parameter {number}")
            shape = tuple(parameter.shape)
            slot = _Slot(name, number, shape, parameter, self._take_loaded(name, shape))
            self._slots[id(parameter)] = slot
        return slot

    def _take_loaded(self, name: str, shape: tuple[int, ...]) -> torch.Tensor | None:
        found = self._loaded.pop(name, None)
        if found is not None and found.numel() != math.prod(shape):
            raise ValueError(
                f"the loaded residual of {name!r} has {found.numel()} elements and the parameter "
                f"the shape {shape}: it belongs to another model; start without load_state_dict"
            )
        return found

    def _seeded(self, slot: _Slot, rank: int) -> Codec:
        """The codec, with its own random numbers for this rank, step and parameter."""
        assert self.codec is not None
        if self.codec.parameters.get("rounding") != "stochastic":
            return self.codec
        fields = self.codec.to_dict()
        mixed = int(fields.get("seed", 0))
        for number in (rank, self.steps, slot.number):
            mixed = (mixed + number + 1) * 0x9E3779B97F4A7C15 % (1 << 64)
            mixed ^= mixed >> 29
        return Codec.from_dict({**fields, "seed": mixed})

    def _working_type(self, gradient: torch.Tensor) -> torch.dtype:
        """Streams hold float32, or float64 if that is what gradients are and the codec takes it."""
        only_f32 = self.codec is not None and self.codec.name == "cast"
        return sum_type(gradient.dtype) if not only_f32 else torch.float32

    def _follow_scale(self) -> None:
        """Residuals are gradients of the scaled loss; when the scale changes, so do they."""
        if self.scaler is None:
            return
        scale = float(self.scaler.get_scale())
        if self._scale not in (None, scale, 0.0):
            for slot in self._slots.values():
                if slot.residual is not None:
                    slot.residual *= scale / self._scale
            self._loaded = {key: each * (scale / self._scale) for key, each in self._loaded.items()}
        self._scale = scale

    def _group(self) -> Any:
        if self.process_group is not None:
            return self.process_group
        if not dist.is_initialized():
            raise RuntimeError("call torch.distributed.init_process_group first")
        return dist.group.WORLD


def _codec(codec: str | Codec, settings: dict[str, Any]) -> Codec | None:
    if isinstance(codec, Codec):
        if settings:
            raise ValueError(
                f"{codec!r} already says how; give {', '.join(settings)} to it instead"
            )
        return codec
    if codec == "keep":
        if settings:
            raise ValueError(
                f'"keep" sends gradients as they are and takes no {", ".join(settings)}'
            )
        return None
    return Codec(codec, **settings)


def _check_feedback(codec: Codec | None) -> None:
    """Error feedback needs a codec that sends some of everything it is given again and again."""
    assert codec is not None
    if codec.name == "dct-chop":
        raise ValueError(
            "dct-chop drops the same frequencies in every step, so what error feedback keeps would "
            "only grow; pass error_feedback=False or take another codec"
        )
    if codec.parameters.get("rounding") == "stochastic" and codec.parameters["bits"] == "1":
        raise ValueError(
            "1 bit rounded at random errs by more than the gradient itself, so what error feedback "
            'keeps would grow; pass error_feedback=False, rounding="nearest" or bits=2'
        )


def _check(buffer: torch.Tensor) -> None:
    if buffer.device.type != "cpu":
        raise TypeError(
            f"gradients on {buffer.device} cannot be compressed; this hook takes those of a model "
            "on the CPU (gloo). PyTorch's own powerSGD_hook runs on accelerators"
        )
    if buffer.dtype not in FLOATS:
        raise TypeError(f"gradients of {buffer.dtype} cannot be compressed; use floating point")
