"""``python -m tensorpress.csl HOST.py ARGS``, or ``examples FOLDER``."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from tensorpress.csl import examples


def main() -> int:
    """Runs a host, or a folder of examples."""
    if len(sys.argv) < 2:
        print("usage: python -m tensorpress.csl HOST.py ARGS | examples FOLDER", file=sys.stderr)
        return 2
    if sys.argv[1] == "examples":
        return examples.main(sys.argv[2:])
    sys.path.insert(0, str(Path(__file__).parent / "vendor"))
    sys.argv = sys.argv[1:]
    sys.path.insert(0, str(Path(sys.argv[0]).resolve().parent))
    runpy.run_path(sys.argv[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
