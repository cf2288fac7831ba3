"""Codec objects: the same everywhere, kept in pickles and in JSON."""

import json
import pickle

import numpy as np
import pytest

import tensorpress
from tensorpress import Codec

CODECS = [
    Codec(absolute=1e-3),
    Codec("dense", relative=1e-4, effort="fast"),
    Codec("ceresz", pointwise_relative=0.01),
    Codec("dct-chop", cf=2, layout="triangle"),
]


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_a_codec_survives_pickle_json_and_repr(codec):
    copies = [
        pickle.loads(pickle.dumps(codec)),
        Codec.from_dict(json.loads(json.dumps(codec.to_dict()))),
        eval(repr(codec)),
    ]
    for copy in copies:
        assert copy == codec and hash(copy) == hash(codec) and repr(copy) == repr(codec)


def test_a_codec_compresses_like_its_keywords(field):
    assert tensorpress.compress(field, Codec("dense", relative=1e-3)) == tensorpress.compress(
        field, relative=1e-3
    )


def test_defaults_written_out_make_an_equal_codec():
    assert Codec("dense", absolute=1) == Codec("dense", absolute=1, effort="normal")
    assert Codec("dense", absolute=1) != Codec("dense", absolute=2)
    assert Codec("dense", absolute=1) != "dense"
    assert Codec("dense", absolute=np.float32(0.5)).to_dict() == {"codec": "dense", "absolute": 0.5}


def test_a_codec_cannot_be_changed():
    with pytest.raises(AttributeError):
        CODECS[0].name = "ceresz"
    CODECS[0].parameters["effort"] = "fast"
    assert CODECS[0].parameters["effort"] == "normal"


@pytest.mark.parametrize(
    "fields, words",
    [
        ({"codec": "zfp", "absolute": 1}, "there is no codec 'zfp'"),
        ({"codec": "dense", "absolut": 1}, "no parameter 'absolut'"),
        ({"codec": "dense"}, "none is given"),
    ],
)
def test_a_wrong_description_is_a_value_error(fields, words):
    with pytest.raises(ValueError, match=words):
        Codec.from_dict(fields)


def test_exceptions_survive_pickle():
    error = pickle.loads(pickle.dumps(tensorpress.CorruptError("broken")))
    assert type(error) is tensorpress.CorruptError and str(error) == "broken"


def test_codecs_lists_what_compress_takes(field):
    for name, about in tensorpress.codecs().items():
        bound = {"absolute": 0.01} if about["error_bounded"] else {}
        defaults = {key: parameter["default"] for key, parameter in about["parameters"].items()}
        assert tensorpress.compress(field, name, **bound, **defaults) == tensorpress.compress(
            field, name, **bound
        )
