"""The blocks of a page that can be run or compiled."""

import re

LANGUAGES = ("python", "console", "c", "cpp")


def blocks(page):
    """(language, text) of each, in order."""
    found = re.findall(
        r"^```(\w+)\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    return [block for block in found if block[0] in LANGUAGES]
