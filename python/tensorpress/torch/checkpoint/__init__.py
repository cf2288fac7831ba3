"""Checkpoints whose tensors are compressed, each under its own bound.

    tensorpress.torch.save({"model": model.state_dict(), "epoch": 3}, "run.tpck", relative=1e-3)
    model.load_state_dict(tensorpress.torch.load("run.tpck")["model"])

The file is a ZIP archive of .tpz streams, of exact bytes and of one JSON text that says how they
make the object (docs/checkpoint.md). Loading runs nothing that a file says, unlike pickle. The file
appears under its name when it is complete and on the disk; until then the old one stays.

distributed.py writes such files for torch.distributed.checkpoint, a rank each; safetensors.py puts
the same streams into safetensors files.
"""

from .distributed import DistributedReader, DistributedWriter
from .loading import Checkpoint, load
from .report import CheckpointReport
from .safetensors import load_safetensors, save_safetensors
from .saving import save

__all__ = [
    "Checkpoint",
    "CheckpointReport",
    "DistributedReader",
    "DistributedWriter",
    "load",
    "load_safetensors",
    "save",
    "save_safetensors",
]
