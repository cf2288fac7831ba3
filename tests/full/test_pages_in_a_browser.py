"""Every page that we write, in a real browser: wide and narrow, light and dark. Run by ./dev test
--full.

Screenshots are left in build/screenshots. Chromium is Debian's package chromium; without it the
tests are skipped.
"""

import os
import pathlib
import subprocess
import sys

import browser
import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(
    os.environ.get("TENSORPRESS", ROOT / "build" / "bin" / "tensorpress")
).absolute()
SCREENSHOTS = ROOT / "build" / "screenshots"

pytestmark = pytest.mark.skipif(
    browser.executable() is None, reason="no browser: apt-get install chromium"
)

# What makes each page, with {out} for where it goes and {field} for a field.
PAGES = {
    "demo": [
        sys.executable,
        ROOT / "examples" / "demo",
        "--training-seconds",
        "5",
        "--output",
        "{out}",
    ],
    "codecs": [PROGRAM, "demo", "--data", "{data}", "--output", "{out}"],
    "wafer": [PROGRAM, "wafer", "heatmap", "{field}", "--rel", "1e-3", "-o", "{out}/report.html"],
    "devices": [
        PROGRAM,
        "device",
        "time",
        "--device",
        "ipu",
        "--sweep",
        "cf",
        "--html",
        "{out}/report.html",
    ],
    "reproduction": [PROGRAM, "reproduce", "--html", "{out}/report.html"],
    "memory": [
        PROGRAM,
        "model",
        "profile",
        ROOT / "models" / "resnet18.tpm",
        "--plan",
        "balanced",
        "--html",
        "{out}/report.html",
    ],
}
LOOKS = [(1280, False), (1280, True), (400, False), (400, True)]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """page("demo"): its path, made when it is first asked for."""
    folder = tmp_path_factory.mktemp("pages")
    data = folder / "data"
    data.mkdir()
    x, y = np.meshgrid(np.linspace(0, 9, 300), np.linspace(0, 5, 200))
    np.save(data / "field.npy", (np.sin(x) * np.cos(y) + 0.1 * np.sin(7 * x)).astype("f4"))

    def page(name):
        out = folder / name
        if not out.exists():
            out.mkdir()
            words = {"out": out, "data": data, "field": data / "field.npy"}
            argv = [str(word).format(**words) for word in PAGES[name]]
            subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, cwd=folder)
        return out / "report.html"

    return page


@pytest.fixture(scope="module")
def chromium():
    with browser.Browser() as running:
        yield running


# Pictures that are not there, by their description.
MISSING = "[...document.images].filter(i => !i.complete || i.naturalWidth === 0).map(i => i.alt)"

# Elements that reach beyond the right edge, unless something around them scrolls sideways.
BEYOND = """[...document.querySelectorAll('body *')].filter(e => {
  for (let p = e.parentElement; p; p = p.parentElement)
    if (['auto', 'scroll'].includes(getComputedStyle(p).overflowX)) return false;
  return e.getBoundingClientRect().right > innerWidth + 1;
}).map(e => e.tagName + ' ' + e.textContent.slice(0, 40))"""

# Text with less contrast to what is behind it than WCAG 2 asks for (level AA: 4.5, large 3). SVG
# paints its text by `fill`.
FAINT = """(() => {
  const channels = c => (c.match(/[\\d.]+/g) || []).map(Number);
  const luminance = c => channels(c).slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = e => {
    for (; e; e = e.parentElement) {
      const c = channels(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0.99) return getComputedStyle(e).backgroundColor;
    }
    return 'rgb(255, 255, 255)';
  };
  const faint = [];
  for (const e of document.querySelectorAll('body *')) {
    const direct = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!direct || !e.getClientRects().length) continue;
    if (e.closest('svg') && e.parentElement.querySelector('rect')) continue;  // on a painted cell
    const style = getComputedStyle(e);
    const [a, b] = [luminance(e.closest('svg') ? style.fill : style.color), luminance(behind(e))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5)) faint.push(contrast.toFixed(1) +
    ' ' + e.textContent.slice(0, 40));
  }
  return faint;
})()"""

# Letters that are too small to read, as they come out on the screen: plots shrink with the page.
TINY = """[...document.querySelectorAll('body *')].filter(e => {
  if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) ||
  !e.getClientRects().length) return false;
  const scale = e.closest('svg') ? e.getScreenCTM().a : 1;
  return e.tagName !== 'title' && parseFloat(getComputedStyle(e).fontSize) * Math.abs(scale || 1)
  < 9.9;
}).map(e => e.textContent.slice(0, 40))"""


# Words of a drawing that lie on other words of it.
COLLIDING = """[...document.querySelectorAll('svg')].flatMap(svg => {
  const texts = [...svg.querySelectorAll('text')].map(e => [e, e.getBoundingClientRect()]);
  return texts.flatMap(([a, p], i) => texts.slice(i + 1).filter(([b, q]) =>
    p.left < q.right && q.left < p.right && p.top + 2 < q.bottom && q.top + 2 < p.bottom)
    .map(([b]) => a.textContent + ' / ' + b.textContent));
})"""

# Options of commands that begin on one line and end on another.
BROKEN_OPTIONS = """(() => {
  const broken = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    for (const found of node.data.matchAll(/(?<![\\w-])--[a-z][\\w-]*/g)) {
      const range = document.createRange();
      range.setStart(node, found.index);
      range.setEnd(node, found.index + found[0].length);
      if (new Set([...range.getClientRects()].map(r => Math.round(r.top))).size > 1)
        broken.push(found[0]);
    }
  }
  return broken;
})()"""

# Boxes that show only a part of their table.
SCROLLING = (
    "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1)"
    ".map(e => e.textContent.slice(0, 60))"
)


@pytest.mark.parametrize("width, dark", LOOKS, ids=lambda value: str(value))
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole_and_stays_within_the_window(pages, chromium, name, width, dark):
    page = chromium.open(pages(name), width, dark)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(SCREENSHOTS / f"{name}-{width}-{'dark' if dark else 'light'}.png")
    assert page.problems() == []
    assert page.requests() == []
    assert page.evaluate(MISSING) == []
    assert page.evaluate(BEYOND) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_text_stands_out_from_what_is_behind_it(pages, chromium, name, dark):
    assert chromium.open(pages(name), 1280, dark).evaluate(FAINT) == []


@pytest.mark.parametrize("width", [1280, 400])
def test_the_demo_s_letters_can_be_read_and_its_tables_do_not_scroll(pages, chromium, width):
    page = chromium.open(pages("demo"), width, dark=False)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate(TINY) == []
    assert page.evaluate(SCROLLING) == []


@pytest.mark.parametrize("width", [1280, 400])
def test_the_demo_s_commands_do_not_break_within_an_option(pages, chromium, width):
    page = chromium.open(pages("demo"), width, dark=False)
    assert page.evaluate(BROKEN_OPTIONS) == []
    lines = (
        "[...document.querySelectorAll('pre')].map(e => {"
        "const range = document.createRange(); range.selectNodeContents(e);"
        "const tops = new Set([...range.getClientRects()].map(r => Math.round(r.top)));"
        "return [tops.size, e.textContent.trim().split('\\n').length]; })"
    )
    shown = page.evaluate(lines)
    assert shown and all(seen == written for seen, written in shown)


@pytest.mark.parametrize("width", [1280, 400])
def test_the_memory_page_s_words_can_be_read_and_do_not_collide(pages, chromium, width):
    page = chromium.open(pages("memory"), width, dark=False)
    assert page.evaluate(TINY) == []
    assert page.evaluate(COLLIDING) == []
    if width > 1000:
        assert page.evaluate(SCROLLING) == []


def test_dark_and_light_are_different(pages, chromium):
    paper = [
        chromium.open(pages("demo"), 1280, dark).evaluate(
            "getComputedStyle(document.body).backgroundColor"
        )
        for dark in (False, True)
    ]
    assert paper == ["rgb(255, 255, 255)", "rgb(20, 24, 29)"]


def test_the_wafer_s_page_tells_the_cycles_under_the_pointer(pages, chromium):
    page = chromium.open(pages("wafer"), 1280, dark=False)
    x, y = page.evaluate(
        "(r => [r.left + r.width / 2, r.top + r.height / "
        "2])(document.images[0].getBoundingClientRect())"
    )
    page.move_pointer(x, y)
    assert "cycles" in page.evaluate("document.querySelector('output').textContent")
    assert page.problems() == []
