"""tensorpress demo: the report has its pieces, its numbers are right, and bad input is one
sentence."""

import base64
import html.parser
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT

VOID = {"meta", "img", "wbr", "line", "rect", "circle", "path", "polyline", "polygon"}


class Page(html.parser.HTMLParser):
    """Counts tags, checks that they nest, and keeps pictures and text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.pictures, self.words = [], {}, [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        if tag == "img":
            self.pictures.append(dict(attributes)["src"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag in VOID and (not self.open or self.open[-1] != tag):
            return  # <circle ...><title>...</title></circle>
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)


@pytest.fixture
def data(tensorpress, smooth):
    """A field with a description, and a stack of small byte images without one."""
    directory = tensorpress.directory / "data"
    directory.mkdir()
    np.save(directory / "field.npy", smooth((3, 70, 90)))
    description = {"title": "Waves & <noise>", "about": "Made for a test."}
    (directory / "field.json").write_text(json.dumps(description))
    np.save(directory / "images.npy", smooth((20, 1, 28, 28), "u1"))
    return directory


def test_report_has_tables_plots_and_pictures(tensorpress, data):
    outcome = tensorpress("demo", "--data", "data", "--output", "out/demo")
    assert outcome.err == ""
    printed = outcome.out.decode()
    assert "field.npy" in printed and "images.npy" in printed
    assert "46 of 46 copies are within the error" in printed
    assert printed.endswith("report: out/demo/report.html\n")

    text = (tensorpress.directory / "out/demo/report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert (
        "Waves & <noise>" in page.text and "Made for a test." in page.text and "images" in page.text
    )
    assert page.tags["table"] == 3 and page.tags["svg"] == 2
    # The summary; for each data set CF 1 to 8 in two layouts and 1 to 4 with ZFP's transform; three
    # bounds of two codecs for floats.
    assert page.tags["tr"] == (1 + 2) + 2 * (1 + 20) + 6
    assert page.tags["img"] == 2 * (1 + 2 * 3)  # the original; three copies with their differences
    for picture in page.pictures:
        kind, _, content = picture.partition(",")
        assert kind == "data:image/png;base64"
        assert base64.b64decode(content, validate=True).startswith(b"\x89PNG\r\n\x1a\n")
    for name in (
        "ratio",
        "payload_ratio",
        "bits_per_value",
        "max_rel_error",
        "psnr_db",
        "nrmse",
        "ssim",
    ):
        assert f">{name}</th>" in text.replace("<wbr />", "")
    assert "measured on this machine" in text


def test_report_fetches_nothing(tensorpress, data):
    tensorpress("demo", "--data", "data", "--output", ".")
    text = (tensorpress.directory / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"https?:|<script|<link|@import|url\(", text)


def test_json_has_every_row_with_the_papers_ratios(tensorpress, data):
    report = tensorpress("demo", "--data", "data", "--output", "demo", "--json").json
    assert report["report"] == "demo/report.html"
    field, images = report["data_sets"]
    assert (field["name"], field["dtype"], field["shape"]) == ("field", "f32", [3, 70, 90])
    assert (images["name"], images["dtype"], images["shape"]) == ("images", "u8", [20, 1, 28, 28])
    assert all(row["within_stored_error"] for row in field["rows"] + images["rows"])
    blocks = 9 * 12  # of 8 x 8, for a plane of 70 x 90
    assert {row["codec"] for row in field["rows"]} == {"dct-chop", "dense", "ceresz"}
    assert {row["codec"] for row in images["rows"]} == {"dct-chop"}
    chopped = [row for row in field["rows"] if row["codec"] == "dct-chop"]
    for row in chopped:
        parameters = row["parameters"]
        cf = parameters["cf"]
        if parameters["transform"] == "dct" and cf <= 6:
            kept = cf * cf if parameters["layout"] == "square" else cf * (cf + 1) // 2
            assert row["payload_ratio"] == pytest.approx(70 * 90 / (blocks * kept), rel=1e-12)
        assert row["ratio"] <= row["payload_ratio"]
        assert row["compress_gb_per_s"] > 0 and row["decompress_gb_per_s"] > 0
    square = [
        row
        for row in chopped
        if row["parameters"]["layout"] == "square" and row["parameters"]["transform"] == "dct"
    ]
    errors = [row["nrmse"] for row in square]
    assert errors == sorted(errors, reverse=True)  # Parseval: a larger square drops less


def test_a_perfect_copy_has_no_psnr_number(tensorpress):
    (tensorpress.directory / "data").mkdir()
    np.save(tensorpress.directory / "data" / "zeros.npy", np.zeros((16, 16), "f4"))
    (data_set,) = tensorpress("demo", "--data", "data", "--json").json["data_sets"]
    assert all(row["psnr_db"] is None for row in data_set["rows"])


@pytest.mark.parametrize("shape", [(), (0,), (5,), (0, 8, 8), (1, 1), (2, 3, 4, 5, 6)])
def test_unusual_shapes_are_fine(tensorpress, smooth, shape):
    (tensorpress.directory / "data").mkdir()
    np.save(tensorpress.directory / "data" / "x.npy", smooth(shape))
    tensorpress("demo", "--data", "data", "--output", "demo")
    Page((tensorpress.directory / "demo" / "report.html").read_text(encoding="utf-8"))


def test_missing_directory_is_one_sentence_with_the_way_out(tensorpress):
    sentence = tensorpress.refuses("demo", "--data", "nowhere")
    assert "nowhere" in sentence and "./dev demo" in sentence


def test_directory_without_arrays_is_one_sentence_with_the_way_out(tensorpress):
    (tensorpress.directory / "empty").mkdir()
    sentence = tensorpress.refuses("demo", "--data", "empty")
    assert "empty" in sentence and ".npy" in sentence and "./dev demo" in sentence


def test_bad_input_is_one_sentence_and_keeps_the_old_report(tensorpress):
    data = tensorpress.directory / "data"
    data.mkdir()
    report = tensorpress.directory / "demo" / "report.html"
    report.parent.mkdir()
    report.write_text("old")
    array = np.zeros((8, 8), "f4")
    array[2, 3] = np.nan
    np.save(data / "x.npy", array)
    assert "x.npy" in tensorpress.refuses("demo", "--data", "data", "--json", "--force")
    np.save(data / "x.npy", np.zeros((8, 8), "f4"))
    (data / "x.json").write_text("{")
    assert "x.json" in tensorpress.refuses("demo", "--data", "data", "--json", "--force")
    (data / "x.json").unlink()
    (data / "x.npy").write_bytes(b"not an array")
    assert "x.npy" in tensorpress.refuses("demo", "--data", "data", "--json", "--force")
    assert report.read_text() == "old"


def test_unwritable_output_is_one_sentence(tensorpress):
    (tensorpress.directory / "data").mkdir()
    np.save(tensorpress.directory / "data" / "x.npy", np.zeros((8, 8), "f4"))
    (tensorpress.directory / "file").write_text("in the way")
    assert "file" in tensorpress.refuses("demo", "--data", "data", "--output", "file")


def extract(directory, *arguments):
    script = ROOT / "examples" / "demo" / "extract_data.py"
    return subprocess.run(
        [sys.executable, script, *arguments],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_extraction_explains_itself_and_wants_one_directory(tmp_path):
    assert extract(tmp_path, "--help").returncode == 0
    assert extract(tmp_path).returncode == 2
    assert extract(tmp_path, "a", "b").returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_extraction_leaves_finished_files_alone(tmp_path):
    for name in (
        "relief",
        "zonal_wind",
        "sea_temperature",
        "sea_temperature_by_month",
        "fashion_mnist",
        "fashion_mnist_bytes",
        "sound_in_rock",
    ):
        (tmp_path / f"{name}.npy").write_text("done")
    done = extract(tmp_path, ".")
    assert done.returncode == 0 and done.stdout == ""
    assert all(path.read_text() == "done" for path in tmp_path.iterdir())
