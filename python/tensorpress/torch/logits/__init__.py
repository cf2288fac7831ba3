"""The loss of a language model without its logits: linear layer and cross entropy in slices.

`slices` is the arithmetic, `function` what autograd sees of it, `modules` puts it into models, with
`lazy` logits where a model computes its own loss. docs/guide/activations.md tells users how.
"""

from .function import linear_cross_entropy
from .lazy import LazyLogits
from .modules import FusedLogits, LinearCrossEntropy, fuse_logits

__all__ = [
    "FusedLogits",
    "LazyLogits",
    "LinearCrossEntropy",
    "fuse_logits",
    "linear_cross_entropy",
]
