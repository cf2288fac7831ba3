"""The Lorenzo predictor of dense: classes of blocks, differences, sums over rows."""

import functools
import math
import re

import numpy as np

from .fields import CODECS, Fields
from .rans import LANES, Decoder, Table, always_zero

TABLES = CODECS / "dense" / "lorenzo" / "tables.cc"
CONTEXTS, CLASSES, NO_CONTEXT = 42, 101, 41


def literal(name: str) -> np.ndarray:
    """An array of the file, which is written as runs {count, number}."""
    body = re.search(rf"Run {name}\[\] = \{{(.*?)\n\}};", TABLES.read_text(), re.DOTALL).group(1)
    runs = np.array(re.findall(r"\{(\d+), (\d+)\}", body), int)
    return np.repeat(runs[:, 1], runs[:, 0])


@functools.cache
def class_tables() -> list[Table]:
    """One for each context: four escapes and the integers 0 to 100."""
    tables = []
    for row in literal("kBelow").reshape(CONTEXTS, 4 + CLASSES):
        frequencies = np.zeros(256, int)
        frequencies[:4], frequencies[128 : 128 + CLASSES] = row[:4], row[4:]
        tables.append(Table(frequencies))
    return tables


@functools.cache
def value_tables() -> list[Table]:
    """One for each class."""
    shapes = literal("kValues").reshape(24, 256)
    tables = [always_zero()] + [Table(shapes[number]) for number in range(20)]
    tables += [Table(shapes[20 + j], k) for k in range(1, 21) for j in range(4)]
    return tables


def planes_rows_columns(shape) -> tuple[int, int, int]:
    extents = [1, 1] + [extent for extent in shape if extent != 1]
    if len(extents) == 2:
        extents.append(1)
    return math.prod(extents[:-2]), extents[-2], extents[-1]


def context_of(known: int) -> int:
    return known if known <= 20 else 21 + (known - 21) // 4


def read_classes(coder: Decoder, blocks: int, size: int, shape3) -> list[int]:
    nz, ny, nx = shape3
    groups = -(-blocks // LANES)
    above = (nx + size // 2) // size
    if nz * ny == 1 or above == 0:
        above = 1
    classes = [0] * blocks
    for g in range(groups):
        lanes, tables = [], []
        for lane in range(LANES):
            if above >= LANES:
                i = LANES * g + lane
                before = i - above if i >= above else None
            else:
                i = lane * groups + g
                before = i - above if g >= above else i - 1 if g > 0 else None
            lanes.append(i)
            if i >= blocks:
                tables.append(always_zero())
            else:
                tables.append(
                    class_tables()[NO_CONTEXT if before is None else context_of(classes[before])]
                )
        for i, value in zip(lanes, coder.group(tables), strict=True):
            if i < blocks:
                assert 0 <= value < CLASSES
                classes[i] = value
    return classes


def read_differences(data: bytes, ways: int, count: int, size: int, shape3) -> np.ndarray:
    blocks = -(-count // size)
    coder = Decoder(data, ways)
    differences = []
    for known in read_classes(coder, blocks, size, shape3):
        table = value_tables()[known]
        for _ in range(size // LANES):
            differences += coder.group([table] * LANES)
    coder.end()
    return np.array(differences[:count], "i8")


def low_bits_of(data: bytes, count: int, bits: int) -> np.ndarray:
    all_bits = np.unpackbits(np.frombuffer(data, "u1"), bitorder="little")[: count * bits].reshape(
        count, bits
    )
    return (all_bits.astype("u8") << np.arange(bits, dtype="u8")).sum(axis=1, dtype="u8").view("i8")


def sum_row(differences: np.ndarray, order: int, first: int, integer: type) -> np.ndarray:
    """e[i], whose predecessor of the first is `first`."""
    if order == 0:
        return differences
    row = differences.copy()
    row[0] += integer(first)
    if order == 1:
        return np.cumsum(row, dtype=integer)
    # e[i] - e[i-1] = d[i] + (e[i-1] - e[i-2]) from i = 2 on, and d[1] at i = 1.
    slopes = row.copy()
    slopes[1:] = np.cumsum(row[1:], dtype=integer)
    return np.cumsum(slopes, dtype=integer)


def sum_rows(
    differences: np.ndarray, order: int, use_y: bool, use_z: bool, integer: type
) -> np.ndarray:
    nz, ny, _ = differences.shape
    quanta = np.empty_like(differences)
    first_before = 0
    for z in range(nz):
        for y in range(ny):
            behind = quanta[z - 1, y] if use_z and z > 0 else None
            above = corner = None
            if y > 0 and (use_y or (use_z and z == 0)):
                above = quanta[z, y - 1]
            if y == 0 and z > 0 and use_y and not use_z:
                above = quanta[z - 1, 0]
            if above is not None and behind is not None:
                corner = quanta[z - 1, y - 1]
            if above is None and behind is None:
                row = sum_row(differences[z, y], max(order, 1), first_before, integer)
            else:
                row = sum_row(differences[z, y], order, 0, integer)
            for other, sign in ((above, 1), (behind, 1), (corner, -1)):
                if other is not None:
                    row = row + other if sign > 0 else row - other
            quanta[z, y] = row
            first_before = int(row[0])
    return quanta


def decode(payload: bytes, chunk, shape, value_type: type, bound: float) -> np.ndarray:
    fields = Fields(payload)
    mode, shrink = fields.take("BB")
    order, use_y, use_z = mode & 3, bool(mode & 4), bool(mode & 8)
    size, ways, wide = 32 if mode & 16 else 16, (0, 1, 2, 4)[mode >> 5 & 3], bool(mode & 128)
    assert order <= 2
    first_quantum = fields.signed_varint()
    positions, at = [], 0
    for _ in range(fields.varint()):
        at += fields.varint()
        positions.append(at)
    element = np.dtype(value_type).newbyteorder("<")
    outliers = fields.array(element, len(positions))

    count, shape3 = math.prod(shape), planes_rows_columns(shape)
    shift, low = 0, 0
    if wide:
        shift = fields.one("B")
        assert shift <= 63
        low = low_bits_of(fields.array("u1", -(-count * shift // 8)).tobytes(), count, shift)
    differences = np.zeros(count, "i8")
    if ways:
        differences = read_differences(fields.rest(), ways, count, size, shape3)
    fields.end()
    integer = np.int64 if wide else np.int32
    differences = ((differences << np.int64(shift)) + low).astype(integer)
    differences[0] = np.array(first_quantum, "i8").astype(integer)
    quanta = sum_rows(differences.reshape(shape3), order, use_y, use_z, integer).reshape(-1)

    c = shrink / 4096 if shrink < 128 else (shrink - 112) / 512
    step = (2 * bound) * (1 - c)
    if wide:
        magic = np.float64(1.5 * 2.0**52)
        values = (((magic.view("i8") + quanta).view("f8") - magic) * step).astype(element)
    else:
        values = quanta.astype(element) * value_type(step)
    values[positions] = outliers
    return values
