"""Tensors in fewer bytes and back: quantized, cast, as masks, signs and pooling indices.

`codecs` has one class for each way to store an activation. `native` packs on the CPU with the
library, `portable` on any device with PyTorch's own operations; both write the same bytes, and
`backend` chooses between them. Files that `tensorpress model emit --native` writes use `native`,
`codecs`, `pool_indices` and `seeded_dropout`.
"""
