"""`python -m tensorpress.eval BENCHMARK`: trains with and without compression and compares.

Exit status: 0 when everything ran, 2 for bad usage or input.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import pathlib
import sys
import time
from collections.abc import Sequence

EXAMPLE = """examples:
  python -m tensorpress.eval classify --scale smoke --cf 4
  python -m tensorpress.eval classify --scale quick --cf 2 4 6 --data DATA --out classify
  python -m tensorpress.eval em_denoise --codec dct-chop zfp --cf 4 --data DATA
  python -m tensorpress.eval classify --scale small --cf 5 6 7 --seeds 0 1 2 3 4 --data DATA
  python -m tensorpress.eval language_model --activations balanced max --seeds 0 1 2 --data DATA

An interrupted command goes on where it was when it is given again."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if importlib.util.find_spec("torch") is None:
        return _complain(
            "PyTorch is not installed: pip install '.[eval]' in a clone of tensorpress"
        )
    from .benchmark import DataError
    from .evaluation import evaluate

    began = time.monotonic()
    try:
        _check(options)
        evaluate(options, lambda text: print(text, flush=True))
    except (DataError, ValueError, TypeError, OSError) as error:
        return _complain(str(error))
    except KeyboardInterrupt:
        return _complain("interrupted; the same command goes on after the last finished epoch")
    print(f"done in {time.monotonic() - began:.0f} s")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tensorpress.eval",
        description="Training benchmarks: on decompressed data, as in the DCT+Chop paper, or with "
        "compressed activations.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("benchmark", metavar="BENCHMARK", help="such as classify; any other word lists them")
    add("--cf", type=int, nargs="+", default=[4], metavar="2..7", help="chop factors (default 4)")
    add("--layout", choices=("square", "triangle"), default="square")
    add(
        "--codec",
        nargs="+",
        help="of the data: dct-chop (default), zfp (through zfpy, at the ratio of each --cf, or "
        "zfp:ratio=4), or any of ours with its parameters, such as quantize:bits=4 or "
        "dense:relative=1e-2",
    )
    add(
        "--activations",
        nargs="+",
        default=[],
        metavar="LEVEL",
        help="of what autograd saves: off, lossless, safe, balanced, max, or a codec with its "
        "parameters, such as quantize:bits=4 or cast:to=e4m3",
    )
    add("--start", type=pathlib.Path, metavar="FILE", help="trained weights to go on with")
    add("--scale", default="quick", help="full, quick (default), small or smoke")
    add("--data", type=pathlib.Path, metavar="DIR", help="real data; generated if not given")
    add("--seeds", type=int, nargs="+", default=[0], help="one run of every series for each")
    add("--epochs", type=int, help="instead of the scale's own number")
    add("--threads", type=int, help="of PyTorch; default: its own choice")
    add("--workers", type=int, default=0, help="processes that decompress (default 0: the loop)")
    add("--report", action="store_true", help="train nothing: report the runs that are finished")
    add("--out", type=pathlib.Path, metavar="DIR", help="default: eval-BENCHMARK-SCALE")
    return parser


def _check(options: argparse.Namespace) -> None:
    from .benchmark import SCALES
    from .benchmarks import BENCHMARKS
    from .series import CHOP_FACTORS

    if options.benchmark not in BENCHMARKS:
        lines = [f"  {name:20} {each.summary}" for name, each in BENCHMARKS.items()]
        first = f"there is no benchmark {options.benchmark!r}; it is one of"
        raise ValueError("\n".join([first, *lines]))
    if options.scale not in SCALES:
        lines = [f"  {name:8} {text}" for name, text in SCALES.items()]
        first = f"there is no scale {options.scale!r}; it is one of"
        raise ValueError("\n".join([first, *lines]))
    for cf in options.cf:
        if cf not in CHOP_FACTORS:
            raise ValueError(
                f"--cf {cf} is not in 2..7: 1 keeps nothing but means, and 8 keeps everything "
                "(that is the baseline, which always runs)"
            )
    for name in ("threads", "epochs"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise ValueError(f"--{name} {value}: at least 1")
    if options.workers < 0 or options.workers > 64:
        raise ValueError(f"--workers {options.workers}: 0 to 64")
    if min(options.seeds) < 0:
        raise ValueError(f"--seeds {min(options.seeds)}: seeds are 0 or more")
    if options.data is not None and not options.data.is_dir():
        raise ValueError(f"--data {options.data} is not a directory; leave it out to generate data")
    if options.start is not None and not options.start.is_file():
        raise ValueError(f"--start {options.start} is not a file")
    zfp = any(text.partition(":")[0] == "zfp" for text in options.codec or ())
    if zfp and importlib.util.find_spec("zfpy") is None:
        raise ValueError("codec zfp needs zfpy, which is not installed: pip install zfpy")


def _complain(message: str) -> int:
    print(f"tensorpress.eval: {message}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 2
    sys.exit(status)
