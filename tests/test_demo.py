"""The demonstration: it runs, it says what is true, and it fits a terminal."""

import builtins
import re

import ml_dtypes
import numpy as np
import pytest

from reducekit import demo

pytest.importorskip("matplotlib")


@pytest.fixture
def text(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert demo.main([]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def result_of(text, call):
    """The values that are shown below a call."""
    after = text.split(f"  >>> {call}\n", 1)[1]
    return re.search(r"^      result  (.*)$", after, re.MULTILINE)[1]


def test_it_fits_a_terminal(text):
    assert max(map(len, text.splitlines())) <= demo.WIDTH
    assert text.isascii()


def test_its_results_are_right(text):
    elevation, photo = demo._load()
    assert elevation.dtype == np.int16
    highest = elevation.max(axis=1)
    shown = result_of(text, "rk.reduce_max(metres, axes=[1])")
    assert shown == f"{' '.join(map(str, highest[:5]))} ... {highest[-1]} m"
    assert result_of(text, "rk.reduce_min(elevation, strict=False)") == f"{elevation.min()} m"
    total = int(elevation.sum(dtype=np.int64))
    assert result_of(text, "rk.reduce_sum(metres)") == f"{total} m"
    wrapped = (total + 2**15) % 2**16 - 2**15
    assert result_of(text, "rk.reduce_sum(elevation, strict=False)") == f"{wrapped} m"
    bright = photo.max(axis=(0, 1))
    assert result_of(text, 't.reduce_max(["row", "column"])') == " ".join(map(str, bright))
    assert result_of(text, "atb.ReduceOperation(param)(photo)") == " ".join(map(str, bright))


def test_what_it_says_of_bfloat16_is_true(text):
    _, photo = demo._load()
    light = (photo / 255).astype(ml_dtypes.bfloat16)
    sums = light.astype(np.float64).sum(axis=(0, 1))
    nearest = sums.astype(ml_dtypes.bfloat16)
    assert result_of(text, "rk.reduce_sum(light, axes=[0, 1])") == " ".join(map(str, nearest))
    assert result_of(text, "np.sum(light, axis=(0, 1))") == "256 256 256"


def test_refused_calls_are_shown_with_the_way_out(text):
    flat = " ".join(text.split())
    for way_out in (
        "No opset takes int16: cast to int32, or use strict=False",
        "Use opset 12 or later, or strict=False",
        "negative axes begin at opset 11: use axis 2, opset 11 or later, or strict=False",
        "attribute; use opset 18 or later",
        "Use opset 20 or later, or strict=False",
        "count dimensions from the front, from 0",
    ):
        assert way_out in flat


def test_call_that_is_not_refused_is_no_demonstration():
    with pytest.raises(AssertionError, match="was expected to be refused"):
        demo._Stage(np=np).refused("np.zeros(3)")


def test_picture(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "build").mkdir()
    assert demo.main([]) == 0
    assert "A picture of what collapsed is in build/demo.png.\n" in capsys.readouterr().out
    content = (tmp_path / "build" / "demo.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    assert len(content) > 100_000
    assert demo.main(["--picture", "folder/other.png"]) == 0
    assert (tmp_path / "folder" / "other.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib(monkeypatch, capsys):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError("No module named 'matplotlib'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    assert demo.main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "reducekit.demo: the data comes with matplotlib, which is missing "
        "(No module named 'matplotlib'); run `pip install 'reducekit[demo]'`\n"
    )
