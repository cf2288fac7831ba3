"""The benchmarks of the DCT+Chop paper's Table 3, and its repository's fifth.

One file each; this list is all there is to add to.
"""

from ..benchmark import Benchmark
from .classify import CLASSIFY
from .em_denoise import EM_DENOISE
from .optical_damage import OPTICAL_DAMAGE
from .slstr_cloud import SLSTR_CLOUD
from .slstr_cloud_highres import SLSTR_CLOUD_HIGHRES

BENCHMARKS: dict[str, Benchmark] = {
    benchmark.name: benchmark
    for benchmark in (CLASSIFY, EM_DENOISE, OPTICAL_DAMAGE, SLSTR_CLOUD, SLSTR_CLOUD_HIGHRES)
}

__all__ = ["BENCHMARKS"]
