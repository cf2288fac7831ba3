"""The training benchmarks of the DCT+Chop paper: `python -m tensorpress.eval --help`.

Networks are in tensorpress.eval.networks, one file each. Importing this package imports nothing.
"""
