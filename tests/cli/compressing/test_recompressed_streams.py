"""A stream that is compressed again keeps its bound against the first values."""

import numpy as np


def test_a_second_bound_holds_against_the_first_values(tensorpress, smooth):
    field = smooth((64, 80))
    np.save(tensorpress.directory / "x.npy", field)
    tensorpress("compress", "x.npy", "--abs", "0.05", "-o", "once.tpz")
    said = tensorpress("compress", "once.tpz", "--abs", "0.07", "-o", "twice.tpz").out.decode()
    assert "0.07 against the first values" in said
    tensorpress("decompress", "twice.tpz", "-o", "back.npy")
    back = np.load(tensorpress.directory / "back.npy")
    assert np.abs(back.astype("f8") - field.astype("f8")).max() <= 0.07
    fields = tensorpress("info", "twice.tpz", "--json").json
    assert fields["attributes"]["tensorpress_history"] == "dense abs 0.05"
    assert fields["total_error"].startswith("abs 0.07")
    tensorpress("verify", "x.npy", "twice.tpz")


def test_a_bound_below_what_was_lost_is_refused_until_it_counts_from_here(tensorpress, smooth):
    np.save(tensorpress.directory / "x.npy", smooth((64, 80)))
    tensorpress("compress", "x.npy", "--abs", "0.05", "-o", "once.tpz")
    arguments = ["compress", "once.tpz", "--abs", "0.03", "-o", "twice.tpz"]
    said = tensorpress.refuses(*arguments)
    assert "0.05" in said and "0.03" in said and "--from-here" in said
    assert not (tensorpress.directory / "twice.tpz").exists()
    tensorpress(*arguments, "--from-here")
    assert tensorpress("info", "twice.tpz", "--json").json["total_error"].startswith("abs 0.08")
    tensorpress("verify", "x.npy", "twice.tpz")


def test_what_a_fixed_rate_has_lost_is_not_known(tensorpress, smooth):
    np.save(tensorpress.directory / "x.npy", smooth((64, 80)))
    tensorpress("compress", "x.npy", "--cf", "4", "-o", "once.tpz")
    arguments = ["compress", "once.tpz", "--abs", "0.03", "-o", "twice.tpz"]
    assert "not known" in tensorpress.refuses(*arguments)
    tensorpress(*arguments, "--from-here")
    assert "total_error" not in tensorpress("info", "twice.tpz", "--json").json


def test_fill_values_and_attributes_stay(tensorpress, smooth):
    field = smooth((64, 80))
    field[::5, ::7] = -1e34
    np.save(tensorpress.directory / "x.npy", field)
    tensorpress(
        "compress", "x.npy", "--rel", "1e-3", "--fill", "-1e34", "--attr", "a=b", "-o", "1.tpz"
    )
    tensorpress("compress", "1.tpz", "--rel", "1e-2", "-o", "2.tpz")
    fields = tensorpress("info", "2.tpz", "--json").json
    assert fields["attributes"]["a"] == "b"
    tensorpress("decompress", "2.tpz", "-o", "back.npy")
    back = np.load(tensorpress.directory / "back.npy")
    assert np.array_equal(back == field.dtype.type(-1e34), field == field.dtype.type(-1e34))


def test_verifying_against_a_stream_names_the_way_out(tensorpress, smooth):
    np.save(tensorpress.directory / "x.npy", smooth((64, 80)))
    tensorpress("compress", "x.npy", "--abs", "0.05", "-o", "once.tpz")
    said = tensorpress.refuses("compress", "once.tpz", "--abs", "0.1", "-o", "2.tpz", "--verify")
    assert "compressed stream" in said and "tensorpress verify" in said
