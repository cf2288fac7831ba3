"""The benchmarks of the DCT+Chop paper's Table 3, its repository's fifth, and ours: text from the
beginning and by adapters, and a trained network that goes on.

One file each; this list is all there is to add to.
"""

from ..benchmark import Benchmark
from .classify import CLASSIFY
from .classify_tune import CLASSIFY_TUNE
from .em_denoise import EM_DENOISE
from .language_lora import LANGUAGE_LORA
from .language_model import LANGUAGE_MODEL
from .optical_damage import OPTICAL_DAMAGE
from .slstr_cloud import SLSTR_CLOUD
from .slstr_cloud_highres import SLSTR_CLOUD_HIGHRES

BENCHMARKS: dict[str, Benchmark] = {
    benchmark.name: benchmark
    for benchmark in (
        CLASSIFY,
        EM_DENOISE,
        OPTICAL_DAMAGE,
        SLSTR_CLOUD,
        SLSTR_CLOUD_HIGHRES,
        LANGUAGE_MODEL,
        LANGUAGE_LORA,
        CLASSIFY_TUNE,
    )
}

__all__ = ["BENCHMARKS"]
