"""slstr_cloud_highres: slstr_cloud at 9 x 512 x 512 with partial serialization s = 2, the fifth
benchmark of the paper's repository: four parts of 256 x 256, each two products."""

from __future__ import annotations

from dataclasses import replace

from .slstr_cloud import SLSTR_CLOUD, scales

SLSTR_CLOUD_HIGHRES = replace(
    SLSTR_CLOUD,
    name="slstr_cloud_highres",
    summary="slstr_cloud at 9 x 512 x 512, the compressor in 2 x 2 parts (s = 2)",
    scales=scales(512),
    serialize=2,
)
