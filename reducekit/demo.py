"""The demonstration: an elevation grid and a photograph, reduced at different opsets.

Run it with ``make demo`` or ``python -m reducekit.demo``. The data comes with
matplotlib (the ``demo`` extra).
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import reducekit as rk
from reducekit import atb, schema
from reducekit.explain import Explanation

__all__ = ["main"]

WIDTH = 92
ELEVATION = "jacksboro_fault_dem.npz"
PHOTO = "grace_hopper.jpg"


class _Stage:
    """Runs calls that are written as text, so that what is shown is what runs."""

    def __init__(self, **names: Any) -> None:
        self.names = names
        self.sections = 0

    def section(self, title: str, *sentences: str) -> None:
        self.sections += 1
        title = f"{self.sections}. {title}"
        print(f"\n\n{_bold(title)}\n{'-' * len(title)}")
        for sentence in sentences:
            self.say(sentence)

    def say(self, sentence: str) -> None:
        print(textwrap.fill(sentence, WIDTH))

    def let(self, name: str, text: str) -> None:
        """Show an assignment and make it."""
        print(f"\n  >>> {name} = {text}")
        self.names[name] = eval(text, self.names)

    def call(
        self, text: str, e: Explanation | None = None, dims: Sequence[str] = (), unit: str = ""
    ) -> None:
        """Show a call: what collapses (where that is explained), the result, the time."""
        print(f"\n  >>> {text}")
        result = np.asarray(eval(text, self.names))
        if e is not None:
            for line in _axes_lines(e, dims):
                print(f"      {line}")
        took = _milliseconds(text, self.names)
        print(f"      result  {_values(result)} {unit}".rstrip())
        print(f"              shape {result.shape}, {result.dtype.name}, in {took:.3f} ms")

    def refused(self, text: str) -> None:
        """Show a call that the rules forbid, and the error that it raises."""
        print(f"\n  >>> {text}")
        try:
            eval(text, self.names)
        except rk.ReduceError as error:
            message = f"{type(error).__name__}: {error}"
            print(textwrap.fill(message, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6))
        else:
            raise AssertionError(f"{text} was expected to be refused")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demonstration.

    Parameters
    ----------
    argv : sequence of str, optional
        The words after the program's name; those of this process if omitted.

    Returns
    -------
    int
        The exit status: 0, or 2 if matplotlib is missing.
    """
    parser = argparse.ArgumentParser(
        prog="python -m reducekit.demo",
        description="Reduce an elevation grid and a photograph at different opsets.",
    )
    parser.add_argument(
        "--picture", type=Path, metavar="FILE",
        help="draw what collapsed as a PNG (build/demo.png, in a folder that has a build)",
    )  # fmt: skip
    options = parser.parse_args(argv)
    start = time.perf_counter()
    try:
        elevation, photo = _load()
    except ImportError as error:
        print(
            f"reducekit.demo: the data comes with matplotlib, which is missing ({error}); "
            "run `pip install 'reducekit[demo]'`",
            file=sys.stderr,
        )
        return 2
    stage = _Stage(
        rk=rk, np=np, atb=atb, bfloat16=ml_dtypes.bfloat16, elevation=elevation, photo=photo
    )
    names = ", ".join(op.name for op in schema.OPERATORS)
    stage.say(
        f"reducekit {rk.__version__}: what {names} mean in ONNX, opset 1 to {schema.NEWEST_OPSET}."
    )
    _show_elevation(stage)
    _show_photo(stage)
    _show_sums(stage)
    _show_atb(stage)
    path = options.picture or (Path("build/demo.png") if Path("build").is_dir() else None)
    print("\n")
    if path is not None:
        _draw(stage, path)
        print(f"A picture of what collapsed is in {path}.")
    print(f"All of it took {time.perf_counter() - start:.1f} seconds.")
    return 0


def _load() -> tuple[NDArray[np.int16], NDArray[np.uint8]]:
    from matplotlib.cbook import get_sample_data
    from PIL import Image

    archive: Any = get_sample_data(ELEVATION)
    with archive:
        elevation = archive["elevation"]
    # By Pillow, as matplotlib.image would first search the machine for fonts.
    file: Any = get_sample_data(PHOTO)
    with file, Image.open(file) as image:
        photo = np.asarray(image)
    return elevation, photo


def _show_elevation(stage: _Stage) -> None:
    elevation = stage.names["elevation"]
    dims = ("row", "column")
    stage.section(
        "An elevation grid",
        f"elevation: {elevation.shape[0]} rows x {elevation.shape[1]} columns of "
        f"{elevation.dtype.name}, metres above the sea, around a fault in Tennessee. "
        f"No version of ReduceMax takes {elevation.dtype.name}, so a model could not do this:",
    )
    stage.refused("rk.reduce_max(elevation, axes=[1])")
    print()
    stage.say("The error names two ways out. First the cast: the highest point of each row.")
    stage.let("metres", "elevation.astype(np.int32)")
    stage.call(
        "rk.reduce_max(metres, axes=[1])",
        rk.explain("max", elevation.shape, [1], dtype="int32"),
        dims,
        "m",
    )
    print()
    stage.say("Then strict=False, which lifts the lists of types: the lowest point of all.")
    stage.call(
        "rk.reduce_min(elevation, strict=False)",
        rk.explain("min", elevation.shape, dtype="int16", strict=False),
        dims,
        "m",
    )


def _show_photo(stage: _Stage) -> None:
    photo = stage.names["photo"]
    stage.section(
        "A photograph, at five opsets",
        f"photo: {' x '.join(map(str, photo.shape))} {photo.dtype.name}, "
        "rows, columns and the channels red, green, blue.",
    )
    stage.let("t", 'rk.Tensor(photo, dims=("row", "column", "channel"), opset=18)')
    stage.call(
        't.reduce_max(["row", "column"])',
        rk.explain("max", photo.shape, [0, 1], dtype="uint8", opset=18),
        ("row", "column", "channel"),
    )
    stage.call(
        't.reduce_min("channel", keepdims=False)',
        rk.explain("min", photo.shape, [2], keepdims=False, dtype="uint8", opset=18),
        ("row", "column", "channel"),
    )
    print()
    stage.say("An operator changes with the opset. What older versions lack is refused:")
    stage.refused('t.reduce_max("row", opset=11)')
    stage.refused("rk.reduce_max(photo.astype(np.float32), axes=[-1], opset=10)")
    stage.refused("rk.reduce_max(photo, noop_with_empty_axes=True, opset=13)")
    stage.refused("rk.reduce_max(photo > 250, opset=18)")
    stage.call("rk.reduce_max(photo > 250, axes=[0, 1], opset=20)")


def _show_sums(stage: _Stage) -> None:
    stage.section(
        "Sums that are right to the last bit",
        "The brightness of each channel, added up over 307,200 pixels in bfloat16, a type of 8 "
        "significant bits. NumPy adds one by one and stops at 256, where 256 + 1 rounds to 256 "
        "again. reducekit keeps more digits on the way and rounds once:",
    )
    stage.let("light", "(photo / 255).astype(bfloat16)")
    stage.call("np.sum(light, axis=(0, 1))")
    stage.call("rk.reduce_sum(light, axes=[0, 1])")
    print()
    stage.say("The same in float64. The bfloat16 values nearest to these are the ones just above:")
    stage.call("np.sum(light.astype(np.float64), axis=(0, 1))")
    print()
    stage.say("Sums of integers wrap in their own type, as ONNX says; int16 is too small here:")
    stage.call("rk.reduce_sum(elevation, strict=False)", unit="m")
    stage.call("rk.reduce_sum(metres)", unit="m")


def _show_atb(stage: _Stage) -> None:
    stage.section(
        "The same as Ascend ATB's ReduceOperation",
        "ATB has no opsets, always removes the reduced axes, and has restrictions of its own:",
    )
    stage.let("param", """atb.ReduceParam.from_json('{"reduceType": 1, "axis": [0, 1]}')""")
    stage.call("atb.ReduceOperation(param)(photo)")
    stage.refused("atb.ReduceOperation(atb.ReduceParam(atb.ReduceType.REDUCE_MAX, [-1]))")


def _axes_lines(e: Explanation, dims: Sequence[str]) -> list[str]:
    """One line for each axis, with what becomes of it."""
    lines = []
    for axis, (name, size) in enumerate(zip(dims, e.in_shape, strict=True)):
        if axis not in e.reduced_axes:
            becomes = f"{size:>4}  kept"
        elif e.keepdims:
            becomes = "   1  collapses"
        else:
            becomes = "   -  collapses and is removed"
        lines.append(f"axis {axis}  {name:<8}{size:>4} -> {becomes}")
    lines[0] = f"{lines[0]:<50}{e.version}, opset {e.opset}"
    return lines


def _values(array: NDArray[Any]) -> str:
    """The values, or the first and last few, on one line."""
    if array.size == 1:
        return _value(array.reshape(-1)[0])
    flat = array.reshape(-1)
    if array.size <= 6:
        return " ".join(map(_value, flat))
    return f"{' '.join(map(_value, flat[:5]))} ... {_value(flat[-1])}"


def _value(value: Any) -> str:
    return f"{float(value):.3f}" if value.dtype.kind == "f" else str(value)


def _milliseconds(text: str, names: dict[str, Any]) -> float:
    code = compile(text, "<demo>", "eval")
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        eval(code, names)
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def _bold(text: str) -> str:
    plain = not sys.stdout.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return text if plain else f"\x1b[1m{text}\x1b[0m"


def _draw(stage: _Stage, path: Path) -> None:
    """Draw the grid and the photograph, each with what is left where an axis collapses."""
    from matplotlib import colormaps
    from matplotlib.colors import LightSource
    from matplotlib.figure import Figure

    metres, photo = stage.names["metres"], stage.names["photo"]
    figure: Any = Figure(figsize=(12.6, 6.4), dpi=110, facecolor="white", layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.13, 1), wspace=0.03)

    whole, below, beside = _panels(left)
    relief = LightSource(azdeg=315, altdeg=45).shade(
        metres, cmap=colormaps["gist_earth"], blend_mode="soft", vert_exag=0.05, vmin=150, vmax=1250
    )
    whole.imshow(relief, aspect="auto")
    whole.set_title(f"elevation {metres.shape}, int32")
    blue = "#0072B2"
    for axis, panel in enumerate((below, beside)):
        low = rk.reduce_min(metres, axis, keepdims=False)
        high = rk.reduce_max(metres, axis, keepdims=False)
        along = np.arange(low.size)
        fill = panel.fill_betweenx if axis else panel.fill_between
        fill(along, low, high, color=blue, alpha=0.25, linewidth=0)
        for edge in (low, high):
            panel.plot(*((edge, along) if axis else (along, edge)), color=blue, linewidth=1.2)
    below.set(xlim=(0, metres.shape[1] - 1), ylabel="metres")
    below.set_xlabel("axes=[0]: lowest and highest of each column")
    below.spines[["top", "right"]].set_visible(False)
    beside.set(ylim=(metres.shape[0] - 1, 0), xlabel="axes=[1], metres")
    beside.xaxis.set_label_position("top")
    beside.xaxis.tick_top()
    beside.spines[["bottom", "right"]].set_visible(False)

    whole, below, beside = _panels(right)
    whole.imshow(photo, aspect="auto")
    whole.set_title(f"photo {photo.shape}, uint8")
    below.imshow(rk.reduce_max(photo, 0), aspect="auto")
    below.set_xlabel("reduce_max, axes=[0]: the brightest of each column, by channel")
    beside.imshow(rk.reduce_max(photo, 1), aspect="auto")
    beside.set_title("axes=[1]", fontsize=10)
    for panel in (below, beside):
        panel.set(xticks=[], yticks=[])

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _panels(figure: Any) -> tuple[Any, Any, Any]:
    """A picture, the panel below it where rows collapse, and beside it where columns do."""
    grid = figure.add_gridspec(2, 2, width_ratios=(5, 1), height_ratios=(5, 1))
    whole = figure.add_subplot(grid[0, 0])
    whole.set(xticks=[], yticks=[])
    return whole, figure.add_subplot(grid[1, 0]), figure.add_subplot(grid[0, 1])


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):  # as in `make demo | head`
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
