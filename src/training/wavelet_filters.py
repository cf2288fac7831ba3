"""Derives the filter pairs of src/kernels/wavelet/filters.h and prints their halves.

A symmetric biorthogonal pair with Kl and Kh zeros at the highest frequency is a factorization of

    cos(w/2)^(Kl + Kh) Q(sin(w/2)^2),   p = (Kl + Kh) / 2
    Q(y) = sum over k < p of binomial(p - 1 + k, k) y^k

(Cohen, Daubechies and Feauveau 1992): the zeros of Q go to one filter or the other, complex ones in
pairs. Of all factorizations this takes the one whose two filters differ least, because then the
transform is nearly orthogonal. Needs mpmath.

    python src/training/wavelet_filters.py
"""

from math import comb

import mpmath as mp

# Zeros of the two low-pass filters; the longer one analyzes.
PAIRS = {"9/7": (4, 4), "13/11": (6, 6), "17/11": (8, 6), "25/19": (12, 10)}


def product(a, b):
    result = [mp.mpc(0)] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            result[i + j] += x * y
    return result


def roots_in_pairs(p):
    """The zeros of Q, each real one alone and each complex one with its conjugate."""
    found = mp.polyroots([mp.mpf(comb(p - 1 + k, k)) for k in range(p)][::-1], 500, extraprec=400)
    groups = [[mp.mpc(mp.re(a))] for a in found if abs(mp.im(a)) < mp.mpf(10) ** -30]
    return groups + [[a, mp.conj(a)] for a in found if mp.im(a) > mp.mpf(10) ** -30]


def low_pass(zeros, roots):
    taps = [mp.mpc(mp.sqrt(2))]
    for _ in range(zeros // 2):
        taps = product(taps, [mp.mpf(1) / 4, mp.mpf(1) / 2, mp.mpf(1) / 4])
    for a in roots:
        taps = product(taps, [1 / (4 * a), 1 - 1 / (2 * a), 1 / (4 * a)])
    return [mp.re(tap) for tap in taps]


def difference(a, b):
    longest = max(len(a), len(b))

    def padded(taps):
        margin = [mp.mpf(0)] * ((longest - len(taps)) // 2)
        return margin + taps + margin

    return sum((x - y) ** 2 for x, y in zip(padded(a), padded(b), strict=True))


def pair(first_zeros, second_zeros):
    groups = roots_in_pairs((first_zeros + second_zeros) // 2)
    candidates = []
    for choice in range(2 ** len(groups)):
        first = [a for i, group in enumerate(groups) if choice >> i & 1 for a in group]
        second = [a for i, group in enumerate(groups) if not choice >> i & 1 for a in group]
        candidates.append((low_pass(first_zeros, first), low_pass(second_zeros, second)))
    return min(candidates, key=lambda both: difference(*both))


def halves(name):
    """Low and high half filters of a pair by its name, the middle tap first."""
    filters = sorted(pair(*PAIRS[name]), key=len, reverse=True)
    return [taps[len(taps) // 2 :] for taps in filters]


if __name__ == "__main__":
    mp.mp.dps = 60
    for name in PAIRS:
        for kind, taps in zip(("low ", "high"), halves(name), strict=True):
            print(name, kind, ", ".join(mp.nstr(tap, 20) for tap in taps))
