"""Whether a copy keeps its bounds, by arithmetic in longdouble, and everything else bit for bit."""

import numpy as np


class Breach(AssertionError):
    """Something that must not be."""


def require(condition, *words):
    if not condition:
        raise Breach(" ".join(map(str, words)))


def same(a, b):
    """Equal bit for bit, whatever it is."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype == object:
        return all(
            same(x, y) if isinstance(x, np.ndarray) else x == y
            for x, y in zip(a.ravel(), b.ravel(), strict=True)
        )
    return a.tobytes() == b.tobytes()


def check_attributes(where, old, new):
    require(list(sorted(old)) == list(sorted(new)), where, "attributes", sorted(old), sorted(new))
    for name in old:
        require(same(old[name], new[name]), where, "attribute", name, old[name], new[name])


def counted(values, fills):
    """Where ordinary values are: finite and no fill value."""
    ordinary = np.isfinite(values)
    for fill in fills:
        ordinary &= values != fill
    return ordinary


def check_bound(path, old, new, bound, fills):
    """`bound` is a kind and a number; the arithmetic is longdouble's."""
    kind, limit = bound
    native = old.dtype.newbyteorder("=")
    old, new = old.astype(native), new.astype(native)
    ordinary = counted(old, fills)
    require(same(old[~ordinary], new[~ordinary]), path, "special or fill values changed")
    x, y = old[ordinary].astype(np.longdouble), new[ordinary].astype(np.longdouble)
    require(np.isfinite(y).all(), path, "a value became infinite or NaN")
    if x.size == 0:
        return
    error = np.abs(x - y)
    limit = np.longdouble(limit)
    if kind == "abs":
        allowed = np.broadcast_to(limit, error.shape)
    elif kind == "rel":
        allowed = np.broadcast_to(limit * (x.max() - x.min()), error.shape)
    elif kind == "pw-rel":
        allowed = limit * np.abs(x)
    else:  # decibels: 20 log10(range / rmse)
        rms = np.sqrt(np.mean(error**2))
        span = x.max() - x.min()
        require(
            rms == 0 or 20 * np.log10(span / rms) >= limit - np.longdouble(1e-9),
            path,
            "PSNR",
            float(20 * np.log10(span / rms)) if rms else "inf",
            "below",
            float(limit),
        )
        return
    worst = np.argmax(error - allowed)
    require(
        (error <= allowed).all(),
        path,
        kind,
        float(limit),
        "is exceeded:",
        repr(x[worst]),
        "came back as",
        repr(y[worst]),
        "with an error of",
        repr(error[worst]),
        "and not",
        repr(allowed[worst]),
    )


def check_files(read, original, copy, bounds, fills):
    old, new = read(original), read(copy)
    require(list(sorted(old)) == list(sorted(new)), "objects:", sorted(old), sorted(new))
    for path, thing in old.items():
        other = new[path]
        require(thing[0] == other[0], path, "is another kind of thing")
        if thing[0] == "group":
            check_attributes(path, thing[1], other[1])
        elif thing[0] == "dimension":
            require(thing[1] == other[1], path, thing[1], other[1])
        else:
            values, others = np.asarray(thing[1]), np.asarray(other[1])
            require(values.shape == others.shape and values.dtype == others.dtype, path, "type")
            require(thing[2] == other[2], path, "dimensions", thing[2], other[2])
            check_attributes(path, thing[3], other[3])
            if path in bounds:
                check_bound(path, values, others, bounds[path], fills.get(path, []))
            else:
                require(same(values, others), path, "has no bound and changed")
