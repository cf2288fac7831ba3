"""Declarations of a header with the comments that stand before them, as Markdown.

Our headers are formatted by one tool, which is what this relies on: a declaration of a namespace
begins in column 0 and ends with a line that closes all its brackets. Private parts and the bodies
of functions are left out.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass
class Declaration:
    comment: str
    code: str

    def name(self) -> str:
        """What it declares: the name of a type, function, constant or macro."""
        code = re.sub(
            r"^template <.*?>\n(\s*requires\b.*?\n(?=\w))?", "", self.code, flags=re.DOTALL
        )
        code = re.sub(r"\[\[\w+\]\] ", "", code)
        for pattern in (
            r"#define (\w+)",
            r"typedef struct (\w+) \{",
            r"typedef .*?\(\*(\w+)\)",
            r"typedef .*?(\w+);",
            r"(?:class|struct|enum class) (\w+(?:<\w+>)?)",
            r"using (\w+) =",
            r"constexpr [\w:]+ (\w+)",
            r"([\w:]+|operator\W+)\(",
        ):
            found = re.match(
                rf"(?s:(?:TENSORPRESS_API )?(?:inline )?){pattern}", code, re.DOTALL
            ) or (re.search(pattern, code) if pattern.endswith(r"\(") else None)
            if found:
                return found.group(1)
        return ""


def c_reference(header: pathlib.Path) -> str:
    text = header.read_text(encoding="utf-8")
    out = "\n" + _prose(text[text.index("/*") + 2 : text.index("*/")]) + "\n"
    body = text[
        text.index('extern "C" {\n#endif') + len('extern "C" {\n#endif') : text.rindex(
            "#ifdef __cplusplus"
        )
    ]
    body = re.sub(r"/\* NOLINT.*?\*/\n", "", body)
    for part in re.split(r"/\* ---- ", body):
        title, dashes, _ = part.partition(" ---")
        heading = title.split("\n")[0].strip() if dashes or "\n *" in title else ""
        if part is not body and "*/" in part and heading:
            out += f"\n## {heading}\n"
            part = part[part.index("*/") + 2 :]
        out += "".join(_shown(each, "c") for each in _declarations(part) if each.code)
    return out


def cpp_reference(header: pathlib.Path, folder: pathlib.Path) -> str:
    text = header.read_text(encoding="utf-8")
    top = re.match(r"(?://.*\n)+", text)
    out = f"\n## tensorpress/{header.relative_to(folder).as_posix()}\n"
    if top:
        out += "\n" + _prose(top.group(0)) + "\n"
    body = (
        text[text.index("#pragma once") + len("#pragma once") :] if "#pragma once" in text else text
    )
    body = re.sub(
        r"^#include.*\n|^namespace [\w:]+ \{\n(class \w+;\n)+\}.*\n", "", body, flags=re.MULTILINE
    )
    body = re.sub(r"^(namespace .*\{|\}  // namespace.*)\n", "", body, flags=re.MULTILINE)
    body = re.sub(r"^#(?:if|endif|else).*\n", "", body, flags=re.MULTILINE)
    body = re.sub(r"^ *// NOLINT\w+\(.*\n", "", body, flags=re.MULTILINE)
    body = re.sub(r" +// NOLINT.*", "", body)
    body = body.replace("TENSORPRESS_API ", "")
    return out + "".join(_shown(each, "cpp") for each in _declarations(body) if each.code)


def _declarations(text: str) -> Iterator[Declaration]:
    """At the outermost level, in their order. What follows without a comment and without an empty
    line belongs to the one before it: the values of a type, overloads."""
    latest: Declaration | None = None
    for each, adjacent in _single_declarations(text):
        if latest is not None and adjacent and not each.comment:
            latest.code += f"\n{each.code}"
            continue
        if latest is not None:
            yield latest
        latest = each
    if latest is not None:
        yield latest


def _single_declarations(text: str) -> Iterator[tuple[Declaration, bool]]:
    """Each, and whether it follows the one before it without an empty line."""
    comment: list[str] = []
    code: list[str] = []
    inside_comment = False
    adjacent = False
    for line in text.split("\n"):
        if not code and (inside_comment or line.startswith(("//", "/*"))):
            comment.append(line)
            inside_comment = (inside_comment or line.startswith("/*")) and "*/" not in line
        elif code or line.strip():
            code.append(line)
            if _is_complete(code):
                yield Declaration(_prose("\n".join(comment)), _public("\n".join(code))), adjacent
                comment, code, adjacent = [], [], True
        else:
            comment, adjacent = [], False  # a comment of nothing is a remark between declarations


def _is_complete(code: list[str]) -> bool:
    if code[0].startswith("#"):
        return not code[-1].endswith("\\")
    words = re.sub(r"//.*|/\*.*?\*/", "", "\n".join(code)).rstrip()
    balanced = all(words.count(a) == words.count(b) for a, b in ("()", "{}"))
    return balanced and words.endswith((";", "}"))


def _public(code: str) -> str:
    """Without what is private, and without bodies."""
    code = re.sub(
        r"^ (?:private|protected):\n.*?(?=^ public:|^\};)", "", code, flags=re.DOTALL | re.MULTILINE
    )
    return re.sub(r"\n{2,}(\};)", r"\n\1", _without_bodies(code)).strip("\n")


def _without_bodies(code: str) -> str:
    # After the parameters: qualifiers and initializers, then the brace that opens the body.
    opens = re.compile(
        r"\)((?: const| noexcept| override|&|\s+requires\([^\n]*\))*)"
        r"(?:\s*:\s[^;{}]*(?:\{[^{}]*\}[^;{}]*)*?)?\s*\{"
    )
    at = 0
    while found := opens.search(code, at):
        depth, end = 1, found.end()
        while depth and end < len(code):
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        kept = f"){found.group(1)};"
        code = code[: found.start()] + kept + code[end:]
        at = found.start() + len(kept)
    return code


def _prose(comment: str) -> str:
    """A comment without its marks; what is indented in it stays as it is, as code."""
    lines = [
        re.sub(r"^\s*(?:///?|/\*\*?|\*/|\*(?!\w))? ?", "", line) for line in comment.split("\n")
    ]
    lines = [re.sub(r"\s*\*/$", "", line).rstrip() for line in lines]
    out: list[str] = []
    code = False
    for line in lines:
        indented = line.startswith("  ") and not (
            out and out[-1].startswith(("- ", "  ")) and not code
        )
        if indented != code and not (not line and code):
            out.append("```" if code or indented else "")
            if code and not indented:
                out.append("")
            code = indented
        out.append(line)
    if code:
        while out and not out[-1]:
            out.pop()
        out.append("```")
    return "\n".join(out).strip("\n")


def _shown(each: Declaration, language: str) -> str:
    told = f"\n{each.comment}\n" if each.comment else ""
    return f"\n### {each.name()}\n{told}\n```{language}\n{each.code}\n```\n"
