"""Tensors in fewer bytes and back: quantized, cast, as masks, signs and pooling indices.

`codecs` has one class for each way to store an activation; ../backends/ has the operators, and
`backend` chooses them for a run. Files that `tensorpress model emit --native` writes use
`by_device`, `codecs`, `pool_indices` and `seeded_dropout`.
"""
