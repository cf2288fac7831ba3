"""ceresz and ceresz2: blocks of 32 differences, as bit planes or as Huffman codes."""

import re

import numpy as np

from .fields import CODECS, Fields, wrap

BLOCK = 32
DEFAULT_CODEBOOK = CODECS / "ceresz2" / "default_codebook.cc"


def step_of(bound: float, slack: int, value_type: type):
    t = value_type(bound)
    if float(t) > bound:  # in f64: NumPy would round the bound to T first
        t = np.nextafter(t, value_type(0))
    t = np.nextafter(t, value_type(0))
    return (value_type(2) * t) * (value_type(1) - value_type(1) / value_type(2 ** (10 - slack)))


def values_of_quanta(quanta: np.ndarray, step, value_type: type) -> np.ndarray:
    """(T with the bits of M plus q) - M, times step. Quanta are unsigned and wrap."""
    magic = value_type(1.5 * 2.0 ** (23 if value_type is np.float32 else 52))
    bits = magic.view(quanta.dtype)
    return ((bits + quanta).view(value_type) - magic) * step


def from_zigzag(codes: np.ndarray) -> np.ndarray:
    one = codes.dtype.type(1)
    return codes >> one ^ (~(codes & one) + one)


def decode_ceresz(payload: bytes, chunk, shape, value_type: type, bound: float) -> np.ndarray:
    fields = Fields(payload)
    bits = 32 if value_type is np.float32 else 64
    word, element = np.dtype(f"<u{bits // 8}"), np.dtype(value_type).newbyteorder("<")
    slack = fields.one("B")
    assert slack <= 7
    blocks = -(-chunk.count // BLOCK)
    step = step_of(bound, slack, value_type)
    places = np.array(
        [8 * m + 4 * h + c for v in range(BLOCK) for c, m, h in [(v // 8, v % 8 // 2, v % 2)]], "u4"
    )
    values = np.empty((blocks, BLOCK), element)
    for number, width in enumerate(fields.array("u1", blocks)):
        if width == 255:
            values[number] = fields.array(element, BLOCK)
            continue
        assert width <= bits
        planes = fields.array("<u4", int(width))
        codes = np.zeros(BLOCK, word)
        for p, plane in enumerate(planes):
            codes |= (plane >> places & 1).astype(word) << word.type(p)
        values[number] = values_of_quanta(
            np.cumsum(from_zigzag(codes), dtype=word), step, value_type
        )
    fields.end()
    return values.reshape(-1)[: chunk.count]


def lengths_of(text: str) -> list[int]:
    lengths = []
    for letter, count in re.findall(r"([A-X])(\d*)", text):
        lengths += [ord(letter) - ord("A") + 1] * int(count or 1)
    assert 2 <= len(lengths) <= 16384 and sum(2.0**-length for length in lengths) == 1
    return lengths


def canonical_codes(lengths: list[int]) -> dict[tuple[int, int], int]:
    """(length, code) to symbol."""
    codes, code, last = {}, 0, 0
    for length, symbol in sorted((length, symbol) for symbol, length in enumerate(lengths)):
        code <<= length - last
        last = length
        codes[length, code] = symbol
        code += 1
    return codes


def codebook_of(text: str) -> dict[tuple[int, int], int]:
    if text == "default":
        source = re.sub(r"//.*", "", DEFAULT_CODEBOOK.read_text())
        text = "".join(re.findall(r'"([A-X0-9]+)"', source))
    return canonical_codes(lengths_of(text))


def decode_ceresz2(payload: bytes, chunk, shape, value_type: type, bound: float) -> np.ndarray:
    fields = Fields(payload)
    word_bits = 32 if value_type is np.float32 else 64
    word, element = np.dtype(f"<u{word_bits // 8}"), np.dtype(value_type).newbyteorder("<")
    head = fields.one("Q")
    slack, escape_bits, outliers = head & 255, head >> 8 & 255, head >> 16
    codes = codebook_of(chunk.parameters.get("codebook", "default"))
    middle = len(codes) // 2
    step = step_of(bound, slack, value_type)
    blocks = -(-chunk.count // BLOCK)
    values = np.empty((blocks, BLOCK), element)
    for number in range(blocks):
        count = fields.one("I")
        packed = int.from_bytes(fields.array("u1", -(-count // 32) * 4).tobytes(), "little")
        differences, at = [], 0
        for _ in range(BLOCK if count else 0):
            known, at = packed >> at & 1, at + 1
            if not known:
                differences.append(wrap(packed >> at, escape_bits))
                at += escape_bits
                continue
            code, length = 0, 0
            while (length, code) not in codes:
                code, length, at = code << 1 | packed >> at & 1, length + 1, at + 1
            differences.append(codes[length, code] - middle)
        assert at == count and packed >> count == 0
        differences = differences or [0] * BLOCK
        unsigned = np.array([value % 2**word_bits for value in differences], word)
        values[number] = values_of_quanta(np.cumsum(unsigned, dtype=word), step, value_type)
    flat = values.reshape(-1)[: chunk.count]
    positions = fields.array("<u4", outliers)
    assert np.all(np.diff(positions.astype("i8")) > 0)
    flat[positions] = fields.array(element, outliers)
    fields.end()
    return flat
