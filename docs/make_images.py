"""Draw the pictures of the README and of the documentation: `python docs/make_images.py`."""

from pathlib import Path

import matplotlib as mpl
import numpy as np

import reducekit as rk
from reducekit import plot

FOLDER = Path(__file__).parent / "images"


def main():
    """Draw all of them."""
    mpl.use("agg")
    mpl.rcParams["svg.hashsalt"] = "reducekit"  # the same picture has the same bytes
    FOLDER.mkdir(exist_ok=True)
    values = np.array([[[1, 7], [3, 10], [6, 2]], [[9, 5], [4, 10], [0, 8]]], np.int32)
    tensor = rk.Tensor(values, dims=("image", "row", "column"), opset=18)
    save(plot.collapse(tensor, "max", ["image", "row"]), "collapse")
    save(plot.collapse(tensor, "sum", ["column"], keepdims=False), "collapse-sum")
    four = rk.Tensor(np.arange(48).reshape(2, 2, 3, 4) * 7 % 19,
                     dims=("batch", "channel", "row", "column"))  # fmt: skip
    save(plot.collapse(four, "max", ["channel", "column"]), "collapse-rank-4")
    save(plot.timeline("max"), "timeline")


def save(ax, name):
    """Write a figure for pages (SVG) and for hosts that show no SVG (PNG)."""
    ax.figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None}, facecolor="white")
    ax.figure.savefig(FOLDER / f"{name}.png", dpi=140, facecolor="white")


if __name__ == "__main__":
    main()
