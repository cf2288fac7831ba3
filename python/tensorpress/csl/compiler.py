"""``cslc``: checks a program and remembers how it was asked for.

A program is compiled again when a host loads it, which takes milliseconds, so the output directory
holds ``out.json`` with the arguments and params instead of code.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tensorpress.csl._session import Session

# Options of the vendor's compiler that say where on the real wafer the program lies: the simulated
# one has no host columns around the rectangle.
_IGNORED = (
    "--fabric-dims",
    "--channels",
    "--width-west-buf",
    "--width-east-buf",
    "--max-inlined-iterations",
    "--max-parallelism",
    "--verbose",
)


def main(words: list[str]) -> int:
    """Takes the arguments of ``cslc``."""
    arch, output, layout = "wse2", "out", None
    params: dict[str, str] = {}
    colors: dict[str, str] = {}
    folders: list[str] = []
    offsets = [0, 0]
    left = list(words)
    while left:
        word = left.pop(0)
        name, equals, value = word.partition("=")
        if name in ("--params", "--colors"):
            for one in (value if equals else left.pop(0)).split(","):
                key, _, number = one.partition(":")
                if key:
                    (params if name == "--params" else colors)[key] = number
        elif name == "--arch":
            arch = value if equals else left.pop(0)
        elif name in ("-o", "--output"):
            output = value if equals else left.pop(0)
        elif name == "--import-path":
            folders.append(value if equals else left.pop(0))
        elif name == "--fabric-offsets":
            offsets = [int(one) for one in (value if equals else left.pop(0)).split(",")]
        elif name in _IGNORED:
            if not equals and name != "--verbose":
                left.pop(0)
        elif word == "--memcpy":
            pass
        elif word.startswith("-"):
            print(f"cslc: the option {word} is not supported", file=sys.stderr)
            return 2
        else:
            layout = word
    if layout is None:
        print("cslc: name a file with a layout block", file=sys.stderr)
        return 2
    arguments = [str(Path(layout).resolve()), f"--arch={arch}"]
    if params or colors:
        pairs = [f"{key}:{value}" for key, value in (params | colors).items()]
        arguments.append("--params=" + ",".join(pairs))
    arguments += [f"--import-path={Path(folder).resolve()}" for folder in folders]
    try:
        session = Session(arguments)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    print(session.messages, end="")
    session.close()
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    out = {"params": params, "colors": colors, "arch": arch}
    out["fabric_offsets"] = offsets  # traces are asked for by places on the whole fabric
    out["tensorpress"] = {"arguments": arguments}
    (folder / "out.json").write_text(json.dumps(out, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
