"""The results as a Markdown table, and as one HTML page that needs nothing else."""

from __future__ import annotations

import html
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from .comparison import ratio_of

STYLE = """body { font: 15px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto }
table { border-collapse: collapse } td, th { padding: .25em .8em; border-bottom: 1px solid #ccc }
td { text-align: right } td:first-child, th:first-child { text-align: left }
figure { margin: 1.5em 0 } svg { max-width: 100%; height: auto }"""


def cells(summary: Mapping[str, Any]) -> list[list[str]]:
    """The table with its heading."""
    metric = summary["metric"]
    accuracy = metric == "test_accuracy"
    many = len(summary["seeds"]) > 1
    unit = "points" if accuracy else "of the loss"
    name = "test accuracy" if accuracy else "test loss"
    interval = " (95 % interval)" if many else ""
    heading = [
        "series",
        "ratio",
        *(["seeds"] if many else []),
        name,
        f"difference, {unit}{interval}",
        f"difference, %{interval}",
        "training loss",
    ]
    rows = [heading]
    for row in summary["rows"]:
        value = f"{row[metric]:.2f} %" if accuracy else f"{row[metric]:.6f}"
        rows.append(
            [
                row["label"],
                _ratio(row),
                *([str(row["seeds"])] if many else []),
                value,
                _difference(row.get("difference"), 2 if accuracy else 6),
                _difference(row.get("percent_difference"), 2),
                f"{row['train_loss']:.5f}",
            ]
        )
    return rows


def table(summary: Mapping[str, Any]) -> str:
    """In Markdown."""
    heading, *rows = cells(summary)
    lines = [heading, ["---", *["---:"] * (len(heading) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_page(
    path: pathlib.Path, summary: Mapping[str, Any], figures: Sequence[pathlib.Path]
) -> None:
    heading, *rows = cells(summary)
    seeds = ", ".join(str(seed) for seed in summary["seeds"])
    facts = {
        "data": summary["data"],
        "samples": f"{summary['train_samples']} to train, {summary['test_samples']} to test",
        "seeds": seeds,
        **{key.replace("_", " "): value for key, value in summary["configuration"].items()},
        "PyTorch": summary["environment"]["torch"],
    }
    body = [
        f"<h1>{_text(summary['benchmark'])}, {_text(summary['scale'])}</h1>",
        f"<p>{_text(summary['summary'])}. {_text(summary['note'])}</p>",
        _rows([heading], "th", rows),
        *(f"<figure>{_inline(figure)}</figure>" for figure in figures),
        "<h2>Configuration</h2>",
        _rows([], "th", [[key, str(value)] for key, value in facts.items()]),
    ]
    title = f"{summary['benchmark']}, {summary['scale']}"
    page = (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{_text(title)}</title>\n'
        f"<style>{STYLE}</style>\n" + "\n".join(body) + "\n</html>\n"
    )
    path.write_text(page, encoding="utf-8")


def _ratio(row: Mapping[str, Any]) -> str:
    ratio = ratio_of(row)
    return "" if ratio is None else f"{ratio:.2f}"


def _difference(value: Mapping[str, Any] | None, digits: int) -> str:
    if value is None:
        return ""
    text = f"{value['mean']:+.{digits}f}"
    if value["half_width"] is not None:
        text += f" ± {value['half_width']:.{digits}f}"
    return text


def _rows(headings: Sequence[Sequence[str]], kind: str, rows: Sequence[Sequence[str]]) -> str:
    lines = ["<tr>" + "".join(f"<{kind}>{_text(c)}</{kind}>" for c in row) for row in headings]
    lines += ["<tr>" + "".join(f"<td>{_text(c)}</td>" for c in row) for row in rows]
    return "<table>\n" + "\n".join(lines) + "\n</table>"


def _inline(figure: pathlib.Path) -> str:
    """The svg element alone, without the prologue of the file."""
    content = figure.read_text(encoding="utf-8")
    return content[content.index("<svg") :]


def _text(value: str) -> str:
    return html.escape(str(value))
