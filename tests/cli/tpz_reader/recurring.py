"""dense, predictor 3: a palette and the numbers of its entries, or planes that are copied."""

import math

import numpy as np

from . import dense, rans
from .fields import Fields, unzigzag

CONTEXTS = 625


class Bits:
    def __init__(self, fields: Fields):
        self.fields, self.byte, self.used = fields, 0, 0

    def get(self, count: int) -> int:
        value = 0
        for i in range(count):
            if self.used % 8 == 0:
                self.byte = self.fields.one("B")
            value |= (self.byte >> self.used % 8 & 1) << i
            self.used += 1
        return value

    def gamma(self) -> int:
        below = 0
        while self.get(1) == 0:
            below += 1
        return (1 << below) + self.get(below)


def read_palette(fields: Fields, count: int, value_type: type) -> np.ndarray:
    divisor = fields.varint()
    if divisor == 0:
        return fields.array(np.dtype(value_type).newbyteorder("<").str, count)
    first, step, last = fields.signed_varint(), fields.varint(), fields.varint()
    bits = fields.array("u1", max(0, (last - 1 + 7) // 8))
    places = [
        place
        for place in range(last + 1)
        if place in (0, last) or bits[(place - 1) // 8] >> (place - 1) % 8 & 1
    ]
    assert len(places) == count
    wholes = np.array([first + place * step for place in places], "f8")
    return (wholes / np.float64(divisor)).astype(value_type)


def number_of_code(code: int) -> int:
    return 2 if code == 255 else 128 + unzigzag(code)


def read_table(bits: Bits) -> rans.Table:
    frequencies = [0] * 256
    symbols, rest = bits.gamma(), bits.gamma() - 1
    code = -1
    for _ in range(symbols - 1):
        code += bits.gamma()
        below = bits.get(4)
        kept = min(below, 3)
        frequencies[number_of_code(code)] = ((1 << kept) + bits.get(kept)) << (below - kept)
    assert frequencies[number_of_code(rest)] == 0
    frequencies[number_of_code(rest)] = 4096 - sum(frequencies)
    return rans.Table(frequencies)


def read_tables(fields: Fields) -> list[rans.Table]:
    """The table of each context."""
    bits = Bits(fields)
    tables = [read_table(bits) for _ in range(bits.gamma() - 1)]
    of_context = [rans.always_zero()] * CONTEXTS
    context = -1
    for _ in range(bits.gamma() - 1):
        context += bits.gamma()
        of_context[context] = tables[bits.get((len(tables) - 1).bit_length())]
    return of_context


class Coder:
    """rANS with a single state."""

    def __init__(self, data: bytes):
        self.state = int.from_bytes(data[:4], "little")
        self.words = np.frombuffer(data, "<u2", offset=4).tolist()
        self.next_word = 0

    def refill(self):
        if self.state < 2**16:
            self.state = self.state << 16 | self.words[self.next_word]
            self.next_word += 1

    def get(self, table: rans.Table) -> int:
        slot = self.state % 4096
        number = table.number_of_slot[slot]
        self.state = (self.state >> 12) * table.frequencies[number] + slot - table.starts[number]
        self.refill()
        if number >= 4:
            return number - 128
        raw, self.state = self.state % 2**13, self.state >> 13
        self.refill()
        return unzigzag(raw)

    def end(self):
        assert self.state == 2**16 and self.next_word == len(self.words)


class Model:
    def __init__(self, fields: Fields, entries: int):
        kinds = fields.one("B")
        self.predictor, self.part, self.entries = kinds & 7, kinds >> 3, entries
        self.row, self.far = fields.varint(), fields.varint()
        self.small, self.large = fields.varint(), fields.varint()
        self.levels = [fields.varint() for _ in range(4)] if self.part == 1 else []

    def ring(self, difference: int) -> int:
        if difference > (self.entries - 1) // 2:
            return difference - self.entries
        return difference + self.entries if difference < -(self.entries // 2) else difference

    def step(self, difference: int) -> int:
        difference = self.ring(difference)
        size = abs(difference)
        steps = 0 if size < self.small else 1 if size < self.large else 2
        return 2 - steps if difference < 0 else 2 + steps

    def context(self, at) -> int:
        w, ww, n, nw, ne, b, _ = at
        if self.predictor == 6:
            pairs = ((w, n), (w, nw), (n, nw), (n, ne), (w, ne), (w, ww), (b, w), (b, n), (b, ne))
            return sum((one == other) << bit for bit, (one, other) in enumerate(pairs))
        if self.part == 0:
            fourth = self.step(w - ww)
        elif self.part == 1:
            fourth = sum(n >= level for level in self.levels)
        else:
            fourth = self.step(b - n)
        return 125 * self.step(ne - n) + 25 * self.step(n - nw) + 5 * self.step(w - nw) + fourth

    def number(self, at, symbol: int) -> int:
        w, ww, n, nw, ne, b, bw = at
        if self.predictor == 6:
            listed = list(dict.fromkeys((w, n, b, ne, nw)))
            return (listed + [x for x in range(self.entries) if x not in listed])[symbol]
        prediction = (
            w,
            w + n - nw,
            (2 * w + 2 * n + nw + ne + 3) // 6,
            2 * w - ww,
            b,
            w + b - bw,
        )[self.predictor]
        return (prediction + symbol) % self.entries


def decode_numbers(model: Model, tables, coder: Coder, count: int) -> np.ndarray:
    lead = max(model.row, model.far)
    numbers = [0] * (lead + count)
    for i in range(count):
        here, column = lead + i, i % model.row
        n, b = numbers[here - model.row], numbers[here - model.far]
        w = numbers[here - 1] if column > 0 else n
        ww = numbers[here - 2] if column > 1 else numbers[here - model.row - column]
        nw = numbers[here - model.row - 1] if column > 0 else n
        ne = numbers[here - model.row + 1] if column < model.row - 1 else n
        bw = numbers[here - model.far - 1] if column > 0 else b
        if model.far == 0:
            b = bw = w
        at = (w, ww, n, nw, ne, b, bw)
        numbers[here] = model.number(at, coder.get(tables[model.context(at)]))
    return np.array(numbers[lead:])


def decode_copies(fields: Fields, chunk, shape, value_type: type, bound: float) -> np.ndarray:
    axis = next((axis for axis, extent in enumerate(shape) if extent != 1), len(shape) - 1)
    runs = [tuple(fields.varint() for _ in range(3)) for _ in range(fields.varint())]
    coded_shape = list(shape)
    coded_shape[axis] -= sum(length for _, length, _ in runs)
    payload = fields.rest()
    assert payload[0] != 3 or payload[1] != 0
    coded = dense.decode(payload, chunk, tuple(coded_shape), value_type, bound)
    coded = coded.reshape(coded_shape[axis], -1)
    planes, used = [], 0
    for before, length, distance in runs:
        planes.extend(coded[used : used + before])
        used += before
        for _ in range(length):
            planes.append(planes[-distance])
    planes.extend(coded[used:])
    assert len(planes) == shape[axis]
    return np.concatenate(planes)


def decode(payload: bytes, chunk, shape, value_type: type, bound: float) -> np.ndarray:
    fields = Fields(payload)
    entries = fields.varint()
    if entries == 0:
        return decode_copies(fields, chunk, shape, value_type, bound)
    count = math.prod(shape)
    palette = read_palette(fields, entries, value_type)
    if entries == 1:
        fields.end()
        return np.full(count, palette[0])
    model = Model(fields, entries)
    tables = read_tables(fields)
    coder = Coder(fields.rest())
    numbers = decode_numbers(model, tables, coder, count)
    coder.end()
    return palette[numbers]
