"""The test kit for machines with a GPU: are the bytes those of the CPU, does nothing wait, how fast
is it?

    python -m tensorpress.device_check [--json result.json]

Two minutes. Without a GPU it runs the kernels for GPUs in Triton's interpreter, if Triton is
installed, and PyTorch's own operations on the CPU, and says so.
"""
