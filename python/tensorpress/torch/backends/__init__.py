"""The operators that store values in fewer bytes, by backend, and the one list that chooses.

`registry` has the list. `default/` is PyTorch's own operations, for any device and torch.compile;
`cpu` calls the library; `triton/` has kernels for CUDA, ROCm and XPU; `meta` knows sizes alone.
They write the same bytes, those of docs/format.md, so that any of them reads what another wrote.
What the CPU refuses to pack (NaN, infinities) is kept on devices without asking the host: `spare`.
"""
