"""dense: a byte that names the predictor, then its own layout."""

from . import interpolation, lorenzo, recurring, wavelet


def decode(payload: bytes, chunk, shape, value_type: type, bound: float):
    decoders = {
        0: lorenzo.decode,
        1: interpolation.decode,
        2: wavelet.decode,
        3: recurring.decode,
        4: wavelet.decode_lanes,
    }
    return decoders[payload[0]](payload[1:], chunk, shape, value_type, bound)
