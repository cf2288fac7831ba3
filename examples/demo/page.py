"""The page: one HTML file with its style, plots and pictures inside, and nothing fetched from
anywhere.

It has the style sheet of the program's own pages (src/report/drawing/page.css). Functions that
take `html` take finished markup; everything else is text and is escaped.
"""

from __future__ import annotations

import html as markup
import pathlib
import re
from collections.abc import Iterable, Sequence

STYLE = pathlib.Path(__file__).resolve().parents[2] / "src" / "report" / "drawing" / "page.css"


def text(words: object) -> str:
    return markup.escape(str(words))


def running(words: object) -> str:
    """Text that may break into lines, but not after the hyphens of an option."""
    return re.sub(r"(?<![\w-])--?[a-z][\w-]*", r'<span class="whole">\g<0></span>', text(words))


def paragraph(words: str, kind: str = "") -> str:
    """What stands between backticks is code."""
    marked = re.sub("`([^`]*)`", r"<code>\1</code>", running(words))
    return f"<p{_class(kind)}>{marked}</p>\n"


def heading(words: str) -> str:
    return f"<h3>{text(words)}</h3>\n"


def commands(*lines: str) -> str:
    """What to type for the same."""
    return f'<pre class="commands">{text(chr(10).join(lines))}</pre>\n'


def note(words: str) -> str:
    """Set apart: what is missing, or not real."""
    return paragraph(words, "note")


def figure(html: str, caption: str) -> str:
    return f"<figure>{html}<figcaption>{running(caption)}</figcaption></figure>\n"


def image(uri: str, description: str) -> str:
    return f'<img src="{uri}" alt="{text(description)}" />'


def side_by_side(pieces: Iterable[str], least_width: int) -> str:
    """In a row as far as the width allows, each at least so many pixels wide."""
    return f'<div class="side" style="--minimum:{least_width}px">\n{"".join(pieces)}</div>\n'


def details(summary: str, html: str) -> str:
    """Folded away until the reader opens it."""
    return f"<details><summary>{text(summary)}</summary>\n{html}</details>\n"


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    words: Sequence[int] = (0,),
    groups: Sequence[int] = (),
    marked: Sequence[int] = (),
) -> str:
    """`words` are the columns that are not numbers; a row of `groups` starts a new group; `marked`
    rows stand out."""

    def cell(kind: str, column: int, value: object) -> str:
        scope = ' scope="col"' if kind == "th" else ""
        look = "words" if column in words else "number"
        return f'<{kind}{scope} class="{look}">{running(value)}</{kind}>'

    def line(kind: str, row: Sequence[object]) -> str:
        return "".join(cell(kind, column, value) for column, value in enumerate(row))

    lines = []
    for index, row in enumerate(rows):
        names = ["group"] * (index in groups) + ["marked"] * (index in marked)
        lines.append(f"<tr{_class(' '.join(names))}>{line('td', row)}</tr>")
    head = f"<thead><tr>{line('th', columns)}</tr></thead>"
    body = "\n".join(lines)
    return f'<div class="scroll"><table>\n{head}\n<tbody>\n{body}\n</tbody>\n</table></div>\n'


def section(name: str, title: str, html: str) -> str:
    return f'<section id="{text(name)}">\n<h2>{text(title)}</h2>\n{html}</section>\n'


def cards(entries: Sequence[tuple[str, str, str]]) -> str:
    """(anchor, number, words) of each, as links into the page."""
    links = (
        f'<a class="card" href="#{text(anchor)}"><b>{text(number)}</b> '
        f"<span>{text(words)}</span></a>\n"
        for anchor, number, words in entries
    )
    return f'<div class="side cards" style="--minimum:220px">\n{"".join(links)}</div>\n'


def contents(entries: Sequence[tuple[str, str]]) -> str:
    links = "".join(
        f'<li><a href="#{text(name)}">{text(title)}</a></li>' for name, title in entries
    )
    return f'<nav aria-label="contents"><ol>{links}</ol></nav>\n'


def document(title: str, html: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8" />\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1" />\n'
        f"<title>{text(title)}</title>\n<style>\n{STYLE.read_text(encoding='utf-8')}</style>\n"
        f"</head>\n<body>\n<main>\n<h1>{text(title)}</h1>\n{html}</main>\n</body>\n</html>\n"
    )


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""
