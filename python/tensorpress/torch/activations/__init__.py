"""Training with compressed activations: `run` is what users see, `hooks` what autograd calls.

    with tensorpress.torch.compress_activations(model, "balanced") as run:
        for images, labels in loader:
            loss = criterion(model(images), labels)
            loss.backward()
            ...
    print(run.report())

What autograd saves is stored as its backward needs it (policy/saved_by.py, requirements.py), once
for each value (stored_value.py), with the codec that the policy says (policy/policy.py).
docs/guide/activations.md tells users what to expect.
"""

from .adaptive import Adaptive, AdaptiveStep
from .compared_gradients import ComparedGradients, compare_gradients
from .report import ActivationReport
from .run import CompressedActivations, compress_activations

__all__ = [
    "ActivationReport",
    "Adaptive",
    "AdaptiveStep",
    "ComparedGradients",
    "CompressedActivations",
    "compare_gradients",
    "compress_activations",
]
