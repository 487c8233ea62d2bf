"""Draw the house: `python docs/make_house.py` writes `images/house.svg`.

The numbers follow one call of `Tensor.reduce_max`.
"""

from html import escape
from pathlib import Path

# From the roof down: what the row is for, and its rooms.
HOUSE = [
    ("what people start", ["cli", "demo", "bench"]),
    ("for one audience each", ["onnx", "interop", "widgets", "plot", "testing"]),
    ("what people hold", ["tensor", "atb"]),
    ("the rules said otherwise", ["explain", "reference", "_accumulator"]),
    ("the public functions", ["_engine"]),
    ("kernels meet memory", ["_walk"]),
    ("how it is done", ["_pairs", "_sums", "_plan", "_threads", "_kernels"]),
    ("what is allowed", ["_inputs", "_rules", "_cpu"]),
    ("the texts, the table", ["_refusals", "schema"]),
    ("the ground", ["dtypes", "errors"]),
]
COMPILED = {"_accumulator", "_cpu", "_engine", "_kernels", "_pairs", "_plan", "_rules", "_sums",
            "_threads", "_walk"}  # fmt: skip
# Rooms of the same kind as those drawn, too small to be drawn.
BESIDE = {
    "_files": "cli", "_pieces": "interop",
    "pandas": "interop", "xarray": "interop", "dask": "interop",
    "_html": "tensor", "_show": "tensor", "_names": "tensor",
    "_dlpack": "_inputs", "_foreign": "_inputs", "_progress": "_inputs",
    "_opset": "_rules", "_threadpoolctl": "_threads", "__init__": "interop", "__main__": "cli",
}  # fmt: skip
CALL = {"tensor": 1, "_engine": 2, "_inputs": 3, "_rules": 4, "_plan": 5, "_walk": 6,
        "_threads": 7, "_kernels": 8}  # fmt: skip
WIDTH, LEFT, ROW, BOX, GAP = 780, 210, 58, 40, 10


def house():
    """The picture as SVG."""
    height = ROW * len(HOUSE) + 72
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"',
        f'viewBox="0 0 {WIDTH} {height}" font-family="system-ui, sans-serif" font-size="14">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
    ]
    for place, (what, rooms) in enumerate(HOUSE):
        y = 14 + place * ROW
        parts.append(
            f'<text x="{LEFT - 16}" y="{y + 25}" text-anchor="end" fill="#555" font-size="13">'
            f"{escape(what)}</text>"
        )
        width = (WIDTH - LEFT - 16 - GAP * (len(rooms) - 1)) / len(rooms)
        for number, room in enumerate(rooms):
            x = LEFT + number * (width + GAP)
            fill = "#dbe9f6" if room in COMPILED else "#f4efe4"
            parts.append(
                f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{BOX}" rx="6" '
                f'fill="{fill}" stroke="#8a8a8a"/>'
                f'<text x="{x + width / 2:.0f}" y="{y + 25}" text-anchor="middle" fill="#1b1b1b" '
                f'font-family="ui-monospace, monospace">{room}</text>'
            )
            if room in CALL:
                parts.append(
                    f'<circle cx="{x + 2:.0f}" cy="{y + 2}" r="10" fill="#b5420b"/>'
                    f'<text x="{x + 2:.0f}" y="{y + 6.5}" text-anchor="middle" fill="#fff" '
                    f'font-size="12" font-weight="bold">{CALL[room]}</text>'
                )
    y = ROW * len(HOUSE) + 22
    for x, fill, text in (
        (LEFT, "#f4efe4", "Python"),
        (LEFT + 100, "#dbe9f6", "compiled"),
    ):
        parts.append(
            f'<rect x="{x}" y="{y}" width="16" height="16" rx="3" fill="{fill}" stroke="#8a8a8a"/>'
            f'<text x="{x + 24}" y="{y + 13}" fill="#333" font-size="13">{text}</text>'
        )
    parts.append(
        f'<circle cx="{LEFT + 220}" cy="{y + 8}" r="9" fill="#b5420b"/>'
        f'<text x="{LEFT + 236}" y="{y + 13}" fill="#333" font-size="13">the way of one call</text>'
    )
    parts.append(
        f'<text x="{LEFT}" y="{y + 36}" fill="#555" font-size="13">'
        "A room may use those in the rows below its own, and in its row those on its right.</text>"
        "</svg>"
    )
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    (Path(__file__).parent / "images" / "house.svg").write_text(house(), encoding="utf-8")
