"""Writes one page that shows what Tensorpress does, from data to accelerators; ./dev demo runs it.

    python examples/demo [--data DIR] [--output DIR] [--only SECTION ...]

A section that cannot run here says what is missing, on the page and in the end; the others go on.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))

from processor import cpu_name


def main() -> int:
    options = _parser().parse_args()
    environment = dict(os.environ)  # before tensorpress is imported
    try:
        import page
        from demonstration import Demonstration
        from sections import SECTIONS
    except ModuleNotFoundError as error:
        print(
            f"demo: the Python module {error.name} is missing; ./dev demo installs it",
            file=sys.stderr,
        )
        return 2
    names = [section.name for section in SECTIONS]
    for name in options.only:
        if name not in names:
            print(
                f"demo: there is no section '{name}'; they are {', '.join(names)}", file=sys.stderr
            )
            return 2
    chosen = [section for section in SECTIONS if not options.only or section.name in options.only]
    with tempfile.TemporaryDirectory() as scratch:
        demo = Demonstration(
            options.program,
            options.data,
            pathlib.Path(scratch),
            options.training_seconds,
            environment,
        )
        parts, cards, problems = [], [], []
        for number, section in enumerate(chosen, 1):
            print(f"[{number}/{len(chosen)}] {section.title}", flush=True)
            html, highlight, problem = _shown(demo, section)
            parts.append(page.section(section.name, section.title, html))
            if highlight:
                cards.append((section.name, highlight.number, highlight.words))
            if problem:
                problems.append(f"{section.title}: {problem}")
    seconds = time.monotonic() - demo.began
    body = _introduction(page, seconds) + page.cards(cards)
    body += (
        page.contents([(section.name, section.title) for section in chosen])
        + "".join(parts)
        + _end(page)
    )
    target = options.output / "report.html"
    _write(target, page.document("Tensorpress: the same numbers in less space", body))
    for problem in problems:
        print(f"demo: not shown: {problem}")
    print(f"demo: {target} after {seconds:.0f} s")
    return 1 if len(problems) == len(chosen) else 0


def _shown(demo, section):
    """Markup and highlight of a section, or the words about what is missing."""
    import page
    from demonstration import Missing

    try:
        shown = section.show(demo)
    except (Missing, OSError, ModuleNotFoundError) as problem:
        return page.note(f"Not shown. {problem}"), None, str(problem)
    return shown.html, shown.highlight, ""


def _introduction(page, seconds: float) -> str:
    import tensorpress

    lead = (
        "Tensorpress compresses arrays of numbers with an error that you choose: "
        "scientific fields on disk, training data, the activations that a network saves for its "
        "backward pass."
    )
    facts = (
        f"Version {tensorpress.__version__} on {cpu_name()}, {os.cpu_count()} cores, "
        f"{time.strftime('%d %B %Y')}. Everything below was computed here in {seconds:.0f} "
        "seconds, except where a number is labelled as published, predicted or recorded."
    )
    return page.paragraph(lead, "lead") + page.paragraph(facts, "caption")


def _end(page) -> str:
    return page.section(
        "next",
        "Where to go next",
        page.paragraph(
            "docs/README.md says where to start: as a scientist, if you train networks, study "
            "accelerators or write a framework. `tensorpress VERB --help` explains every verb."
        ),
    )


def _write(target: pathlib.Path, content: str) -> None:
    """Whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(".part")
    unfinished.write_text(content, encoding="utf-8")
    unfinished.replace(target)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="demo", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add(
        "--program",
        type=pathlib.Path,
        default=ROOT / "build" / "bin" / "tensorpress",
        metavar="FILE",
    )
    add(
        "--data",
        type=pathlib.Path,
        default=ROOT / "build" / "demo-data",
        metavar="DIR",
        help="what extract_data.py wrote; what is not there is generated",
    )
    add(
        "--output",
        type=pathlib.Path,
        default=pathlib.Path("demo"),
        metavar="DIR",
        help="for report.html",
    )
    add("--only", nargs="+", default=[], metavar="SECTION", help="these sections alone")
    add(
        "--training-seconds",
        type=float,
        default=110,
        metavar="S",
        help="for the training run (110)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
