"""Draw the pictures of the README and of the documentation: `python docs/make_images.py`.

The screenshots need Chromium and playwright (the `browser` extra).
"""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from PIL import Image

import reducekit as rk
from reducekit import plot

FOLDER = Path(__file__).parent / "images"
VALUES = np.array([[[1, 7], [3, 10], [6, 2]], [[9, 5], [4, 10], [0, 8]]], np.int32)
THREE = rk.Tensor(VALUES, dims=("image", "row", "column"), opset=18)
FOUR = rk.Tensor(
    np.arange(48).reshape(2, 2, 3, 4) * 7 % 19, dims=("batch", "channel", "row", "column")
)


def main():
    """Draw all of them."""
    FOLDER.mkdir(exist_ok=True)
    mpl.use("agg")
    mpl.rcParams["svg.hashsalt"] = "reducekit"  # the same picture has the same bytes
    save(plot.collapse(THREE, "max", ["image", "row"]), "collapse.png")
    save(plot.collapse(THREE, "sum", ["column"], keepdims=False), "collapse-sum.svg")
    save(plot.collapse(FOUR, "max", ["channel", "column"]), "collapse-rank-4.svg")
    save(plot.timeline("max"), "timeline.svg")
    screenshots()


def save(ax, name):
    """Write a figure."""
    metadata = {"Date": None} if name.endswith("svg") else {}
    ax.figure.savefig(
        FOLDER / name, dpi=160, metadata=metadata, facecolor="white",
        bbox_inches="tight", pad_inches=0.15,
    )  # fmt: skip
    if name.endswith("png"):
        shrink(name)


def shrink(name):
    """Keep 256 colours of a picture: flat drawings need no more, and take half of the bytes."""
    picture = Image.open(FOLDER / name).convert("RGB")
    few = picture.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE)
    few.save(FOLDER / name, optimize=True)


def screenshots():
    """Write six of the explorer's main states, which the tests compare, as a browser shows them."""
    sys.path.insert(0, str(FOLDER.parents[1] / "tests"))
    import looks
    from browser import chromium

    with chromium() as browser:
        for name in ("max", "sum", "forbidden", "step", "atb", "odd"):
            page = looks.open_state(browser, name)
            page.locator(".rkx").screenshot(path=FOLDER / f"explorer-{name}.png")
            shrink(f"explorer-{name}.png")
            page.close()


if __name__ == "__main__":
    main()
