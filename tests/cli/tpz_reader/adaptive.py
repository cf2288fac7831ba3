"""Bits with contexts that learn, for chunks of dense that are nearly empty."""

import itertools
import math

import numpy as np

GROUPS, CLASSES, PIECE, UNARY = 6, 32, 16, 14


def logarithm(number: int) -> int:
    """256 log2 of a number of at most 17 bits, rounded down."""
    whole = number.bit_length() - 1
    return 256 * whole + math.floor(256 * math.log2(1 + ((number << 17 - whole) >> 9 & 255) / 256))


def log_odds(probability: int) -> int:
    return logarithm(probability) - logarithm(65536 - probability)


def probability_of(odds: int) -> int:
    power = math.floor(65536 * 2 ** (abs(odds) % 256 / 256)) << abs(odds) // 256
    rare = max(2**32 // (65536 + power), 16)
    return rare if odds < 0 else 65536 - rare


def towards_zero(a: int, b: int) -> int:
    return a // b if a >= 0 else -(-a // b)


class Seen:
    """How likely a 1 is in a context."""

    def __init__(self, probability: int = 32768):
        self.probability, self.seen = probability, 0

    def learn(self, bit: int):
        missing = (65536 - 32 if bit else 32) - self.probability
        self.probability += towards_zero(2 * missing, 2 * self.seen + 3)
        self.seen = min(self.seen + 1, 100)


class Contexts(dict):
    """Contexts by name; one that is new has the probability that `start` gives it."""

    def __init__(self, start=lambda *_: 32768):
        self.start = start

    def __missing__(self, name):
        self[name] = Seen(self.start(*name))
        return self[name]


class Decoder:
    def __init__(self, data: bytes):
        self.data, self.at = data, 0
        self.low, self.high, self.window = 0, 2**32 - 1, 0
        for _ in range(4):
            self.window = self.window << 8 | self.next()

    def next(self) -> int:
        self.at += 1
        return self.data[self.at - 1] if self.at <= len(self.data) else 0

    def bit(self, probability: int) -> int:
        at = self.low + ((self.high - self.low) * probability >> 16)
        bit = int(self.window <= at)
        if bit:
            self.high = at
        else:
            self.low = at + 1
        while self.low >> 24 == self.high >> 24:
            self.low = self.low << 8 & 0xFFFFFFFF
            self.high = self.high << 8 & 0xFFFFFFFF | 255
            self.window = self.window << 8 & 0xFFFFFFFF | self.next()
        return bit

    def seen(self, context: Seen) -> int:
        bit = self.bit(context.probability)
        context.learn(bit)
        return bit

    def mixed(self, weights: list[int], *contexts: Seen) -> int:
        for before, context in itertools.pairwise(contexts):
            if context.seen == 0:
                context.probability = before.probability
        odds = [log_odds(context.probability) for context in contexts]
        total = sum(w * x for w, x in zip(weights, odds, strict=False)) >> 16
        probability = probability_of(max(-4095, min(4095, total)))
        bit = self.bit(probability)
        error = (65536 if bit else 0) - probability
        for i, context in enumerate(contexts):
            moved = weights[i] + towards_zero(odds[i] * (error >> 4), 1024)
            weights[i] = max(-(2**20), min(2**20, moved))
            context.learn(bit)
        return bit

    def end(self):
        """The shortest bytes that lie in the interval are the last ones."""
        for count in range(5):
            unit = 1 << 32 - 8 * count
            last = -(-self.low // unit) * unit
            if last <= self.high:
                break
        assert self.window == last and self.at - 4 + count == len(self.data)


def rises(middle: int):
    """Half at a class, and half the odds for each class below."""
    return lambda _, of_class, more=0: probability_of(128 * (of_class - middle - more))


def weights() -> list[list[int]]:
    return [[18000] * 4 for _ in range(GROUPS)]


class Rows:
    """Values of rows, and numbers beside them."""

    def __init__(self, data: bytes):
        self.coder = Decoder(data)
        self.row_top, self.piece_top, self.zero_class = map(
            Contexts, (rises(6), rises(9), rises(16))
        )
        self.size_class = Contexts(rises(16))
        self.others = Contexts()
        self.mix_row, self.mix_piece, self.mix_zero, self.mix_size = (weights() for _ in range(4))
        self.recent = [0] * GROUPS
        self.shape, self.above = None, []

    def number(self) -> int:
        value = shift = 0
        while True:
            more = self.coder.seen(self.others["more", min(shift // 7, 1)])
            node = 1
            for _ in range(7):
                node = node << 1 | self.coder.seen(self.others["digit", node])
            value |= (node & 127) << shift
            shift += 7
            if not more or shift >= 70:
                return value & 2**64 - 1

    def row(self, group: int, classes) -> np.ndarray:
        classes = [int(c) for c in classes]
        if self.shape != (group, len(classes)):
            self.shape, self.above = (group, len(classes)), [0] * (len(classes) + 2)
        top, recent = max(classes), self.recent[group]
        some = self.coder.mixed(
            self.mix_row[group],
            self.row_top[group, top],
            self.others["recent", group, recent],
            self.others["both", recent & 3, top // 2],
        )
        self.recent[group] = (recent << 1 | some) & 7
        self.values = [0] * len(classes)
        if some:
            left = met = False
            for at in range(0, len(classes), PIECE):
                left = self.piece(group, classes, at, left, met)
                met = met or left
        self.above = [min(abs(value), 255) for value in self.values] + [0, 0]
        return np.array([(value + 2**31) % 2**32 - 2**31 for value in self.values], "i8")

    def piece(self, group, classes, at, left, met) -> bool:
        end, count = min(at + PIECE, len(classes)), len(classes)
        near = left + 2 * any(self.above[at:end])
        near += 4 * any(self.above[end : min(end + PIECE, count)])
        top = max(classes[at:end])
        if (met or end < count) and not self.coder.mixed(
            self.mix_piece[group],
            self.piece_top[group, top],
            self.others["near", near, top // 4],
            self.others["piece", group, near],
        ):
            return False
        for x in range(at, end):
            must = x + 1 == end and not any(self.values[at:x])
            self.values[x] = self.value(group, classes[x], x, must)
        return True

    def value(self, group, of_class, x, must) -> int:
        def size(values, at):
            return min(abs(values[at]), 255) if at >= 0 else 0

        coder, others = self.coder, self.others
        w, ww = size(self.values, x - 1), size(self.values, x - 2)
        n, nw, ne = self.above[x], size(self.above, x - 1), self.above[x + 1]
        total = 2 * (w + n) + ww + nw + ne
        if not must:
            w2, n2, ww2, nw2, ne2 = (min(each, 2) for each in (w, n, ww, nw, ne))
            if not coder.mixed(
                self.mix_zero[group],
                self.zero_class[group, of_class],
                others["sides", of_class // 2, w2, n2],
                others["five", w2, n2, ww2, nw2, ne2],
                others["sum", group, min(total, 15)],
            ):
                return 0
        sign = 0 if w == 0 else 1 if self.values[x - 1] < 0 else 2
        negative = coder.seen(others["sign", group, sign])
        around, more = min(total.bit_length(), 7), 0
        while more < UNARY and coder.mixed(
            self.mix_size[group],
            self.size_class[0, of_class, more],
            others["size", group, of_class, more],
            others["around", around, more],
        ):
            more += 1
        if more == UNARY:
            more += self.large()
        value = (more + 1) % 2**32
        return -value if negative else value

    def large(self) -> int:
        bits, number = 0, 1
        while bits < 32 and self.coder.seen(self.others["bits", bits]):
            bits += 1
        for _ in range(bits):
            number = number << 1 | self.coder.bit(32768)
        return number - 1

    def end(self):
        self.coder.end()


def set_zeros(data: bytes, values: np.ndarray, bound: float):
    """Sets those of the values (z y x) to zero that the flags name."""
    T = values.dtype.type
    limit = T(bound)
    if float(limit) > bound:
        limit = np.nextafter(limit, T(0))
    coder, others = Decoder(data), Contexts()
    mix_all, mix_zero = [18000] * 4, [18000] * 4

    def share(size):
        edge = limit
        for i in range(5):
            edge = T(edge * T(0.125))
            if size > edge:
                return i
        return 5

    states = {}
    for z, y in np.ndindex(values.shape[:2]):
        left = 0
        for at in range(0, values.shape[2], PIECE):
            piece = values[z, y, at : at + PIECE]
            sizes = np.abs(piece)
            asked = (sizes > 0) & (sizes <= limit)
            above = states.get((y - 1, at), 0) if y else 0
            near = 16 * left + 4 * above + states.get((y, at), 0)
            before, left = left, 0
            if asked.any():
                size = share(sizes[asked].max())
                if coder.mixed(
                    mix_all,
                    others["left", before, size],
                    others["near", near],
                    others["all", near, size],
                ):
                    piece[asked], left = 0, 1
                elif coder.seen(others["none", near]):
                    left = 2
                else:
                    left, last = 3, 0
                    for i, candidate in enumerate(asked):
                        if not candidate:
                            last = 0
                            continue
                        size = share(sizes[i])
                        zero = coder.mixed(
                            mix_zero, others["last", last, size], others["zero", last, near, size]
                        )
                        if zero:
                            piece[i] = 0
                        last = 1 if zero else 2
            states[y, at] = left
    coder.end()
