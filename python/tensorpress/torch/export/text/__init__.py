"""Model text (docs/model-text.md) from a module: `model_text` writes it, `tracing` runs the module,
`operators`, `elementwise` and `shapes` have a function for each operator, `names` the names."""

from .model_text import to_text

__all__ = ["to_text"]
