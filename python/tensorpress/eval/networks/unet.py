"""The UNet of slstr_cloud (SciML-Bench; Ronneberger et al. 2015): nine channels in, one logit a
pixel out, no normalization. A sigmoid of the logits is the probability of cloud."""

from __future__ import annotations

from collections.abc import Sequence

from .encoder_decoder import EncoderDecoder


class UNet(EncoderDecoder):
    """widths: channels from the top level to the bottom; published (32, 64, 128, 256)."""

    def __init__(
        self,
        channels: int = 9,
        outputs: int = 1,
        widths: Sequence[int] = (32, 64, 128, 256),
    ) -> None:
        super().__init__(channels, outputs, widths, normalize=False, last_kernel=1)
