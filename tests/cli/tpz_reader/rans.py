"""The entropy coder of dense: sixteen lanes, static tables, escapes."""

import functools
import struct

import numpy as np

from .fields import unzigzag, wrap

LANES = 16
ESCAPE_BITS = (6, 9, 13, 16)


class Table:
    """Frequencies of the numbers 0 to 255, which add up to 4096, and how many low bits are raw."""

    def __init__(self, frequencies, low_bits: int = 0):
        assert len(frequencies) == 256 and sum(frequencies) == 4096
        self.frequencies = [int(frequency) for frequency in frequencies]
        self.starts = [0, *np.cumsum(self.frequencies).tolist()]
        self.number_of_slot = np.repeat(np.arange(256), self.frequencies).tolist()
        self.low_bits = low_bits


@functools.cache
def always_zero() -> Table:
    frequencies = [0] * 256
    frequencies[128] = 4096
    return Table(frequencies)


class Decoder:
    def __init__(self, data: bytes, ways: int):
        assert ways in (1, 2, 4)
        states = LANES * ways
        self.states = list(struct.unpack_from(f"<{states}I", data))
        assert all(state >= 2**16 for state in self.states)
        self.words = np.frombuffer(data, "<u2", offset=4 * states).tolist()
        self.next_word, self.groups, self.ways = 0, 0, ways

    def take(self, lane: int, bits: int) -> int:
        """The lowest bits of a state, which is then refilled."""
        state = self.states[lane]
        low, state = state & (1 << bits) - 1, state >> bits
        if state < 2**16:
            state = state << 16 | self.words[self.next_word]
            self.next_word += 1
        self.states[lane] = state
        return low

    def group(self, tables: list[Table]) -> list[int]:
        """The next sixteen integers, one of each table."""
        base = LANES * (self.groups % self.ways)
        self.groups += 1
        numbers, values, lows = [], [], []
        for lane, table in enumerate(tables):
            state = self.states[base + lane]
            slot = state % 4096
            number = table.number_of_slot[slot]
            self.states[base + lane] = (
                (state >> 12) * table.frequencies[number] + slot - table.starts[number]
            )
            lows.append(self.take(base + lane, min(table.low_bits, 4)))
            numbers.append(number)
            values.append(number - 128)
        raws = {}
        for lane, number in enumerate(numbers):
            if number < 4:
                raws[lane] = self.take(base + lane, ESCAPE_BITS[number])
        for lane, number in enumerate(numbers):
            if number == 3:
                raws[lane] += self.take(base + lane, 16) << 16
        for lane, raw in raws.items():
            values[lane] = unzigzag(raw)
        for lane, table in enumerate(tables):
            values[lane] = (values[lane] << min(table.low_bits, 4)) + lows[lane]
            if table.low_bits > 4:
                more = table.low_bits - 4
                values[lane] = (values[lane] << more) + self.take(base + lane, more)
        return [wrap(value, 32) for value in values]

    def end(self):
        assert self.next_word == len(self.words)
        assert all(state == 2**16 for state in self.states)
