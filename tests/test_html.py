"""What notebooks show: well-formed, small, escaped, and with no false word."""

import re
import shutil
from html.parser import HTMLParser

import ml_dtypes
import numpy as np
import pytest
from arrays import LAYOUTS, NAMES, awkward

import reducekit as rk
from reducekit import _html, _show

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
VOID = {"br", "hr", "img", "input", "meta", "link"}
ALLOWED = {
    "div", "style", "pre", "b", "span", "table", "caption", "thead", "tbody", "tr", "th", "td",
    "p", "details", "summary", "ul", "li", "dl", "dt", "dd",
}  # fmt: skip
ATTRIBUTES = {"class", "style", "scope", "title", "tabindex", "role", "aria-label", "open"}


class Page(HTMLParser):
    """Reads a page, and asserts that it is plain and well-formed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts, self.tables = [], [], {}, []
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag, attrs):
        assert tag in ALLOWED, tag
        for name, value in attrs:
            assert name in ATTRIBUTES, (tag, name)
            assert value is None or "url(" not in value
        attrs = dict(attrs)
        if tag == "th":
            assert attrs.get("scope") in ("row", "col")
        if tag == "caption":
            assert self.open[-1] == "table"
            self.tables[-1] = True
        if tag == "table":
            self.tables.append(False)
        self.open.append(tag)
        self.tags.append((tag, attrs))
        self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.texts[self.open[-1]][-1] += data

    def cells(self):
        return self.texts.get("td", [])


def check(thing):
    """The page of a thing, after all that holds for every page."""
    html = thing._repr_html_()
    assert html.isascii()
    assert len(html) < 16_000
    assert html == thing._repr_html_()
    for word in ("<script", "http", "url(", "@import", " id=", "javascript:"):
        assert word not in html.replace("&lt;script", "")
    page = Page(html)
    assert all(page.tables), "a table without a caption"
    assert all(text.strip() for text in page.texts.get("th", [])), "an empty header"
    # Where a host strips the style sheet, the text stands first and the card stays hidden.
    assert page.tags[2] == ("pre", {"class": "rk-text"})
    assert page.tags[3] == ("div", {"class": "rk-card", "style": "display:none"})
    check_style("".join(page.texts["style"]))
    return page


def check_style(style):
    assert style.count("{") == style.count("}")
    for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", style):
        assert all(".rk-" in part for part in selector.split(",")), selector
        if "background:" in body and "none" not in body and "transparent" not in body:
            assert "color:" in body or "rk-size" in selector, selector


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 3), (0, 2), (2, 3, 2), (40, 50), (2,) * 9])
def test_a_card_for_every_type_and_shape(name, shape):
    data = awkward(name, shape, np.random.default_rng(1), nan=True)
    tensor = rk.Tensor(data, dims=[f"axis{i}" for i in range(len(shape))])
    page = check(tensor)
    assert page.texts["pre"] == [repr(tensor)]
    assert page.texts["span"][0] == name
    check(rk.Tensor(data))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_card_for_every_layout(layout):
    data = np.arange(12, dtype=np.float32).reshape(3, 4)
    page = check(rk.Tensor(LAYOUTS[layout](data)))
    assert [c for c in page.cells() if "." in c] == [f"{i}.0" for i in range(12)]


def test_the_head_of_a_card():
    tensor = rk.Tensor(np.zeros((2, 3), "f4"), dims=("row", None), opset=18)
    assert check(tensor).texts["span"] == [
        "float32", "rank 2", "6 elements", "24 B", "C order", "opset 18",
    ]  # fmt: skip
    assert check(rk.Tensor(1)).texts["span"] == [
        "int64", "rank 0", "1 element", "8 B", "opset in force",
    ]  # fmt: skip
    wide = np.broadcast_to(np.float32(1), (1 << 20, 1 << 20))
    assert check(rk.Tensor(wide)).texts["span"] == [
        "float32", "rank 2", "1,099,511,627,776 elements", "4 B (4 TiB as a copy)", "broadcast",
        "read-only", "opset in force",
    ]  # fmt: skip


def test_the_shape_has_a_column_for_each_axis():
    page = check(rk.Tensor(np.zeros((2, 1024), "i1"), dims=("row", None)))
    assert page.texts["th"][:5] == ["axis", "0", "1", "name", "size"]
    assert page.cells()[:4] == ["row", "-", "2", "1,024"]
    page = check(rk.Tensor(np.zeros((1,) * 64)))
    assert page.texts["th"][:26] == [
        "axis", *map(str, range(12)), "\u2026", *map(str, range(52, 64)),
    ]  # fmt: skip


def test_odd_values_are_told_by_words_and_marks():
    page = check(rk.Tensor(np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1 / 3, 5e-324])))
    values = [(text, attrs.get("class"), attrs.get("title")) for (_, attrs), text in zip(
        [t for t in page.tags if t[0] == "td"], page.cells(), strict=True
    )]  # fmt: skip
    assert values[2:] == [
        ("NaN", "rk-nan", None),
        ("inf", "rk-inf", None),
        ("-inf", "rk-inf", None),
        ("-0.0", "rk-zero", None),
        ("0.0", None, None),
        ("0.333333", None, "0.3333333333333333"),
        ("5e-324", None, None),
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(0.1), "0.1"),
        (np.float32(16777216), "16777216.0"),
        (np.float16(65504), "65504.0"),
        (np.float64(1 - 2**-53), "1.00000"),
        (np.float64(1e300), "1e+300"),
        (np.float64(123456789.123), "1.23457e+08"),
        (np.array(3, BFLOAT16)[()], "3.0"),
        (np.array(-3, BFLOAT16)[()], "-3.0"),
        (np.int64(-(2**63)), "-9223372036854775808"),
        (np.uint64(2**64 - 1), "18446744073709551615"),
        (np.True_, "True"),
    ],
)
def test_values_as_words(value, text):
    from reducekit.dtypes import element_type

    assert _show.value_text(value, element_type(value.dtype))[0] == text


def test_edges_of_a_large_plane():
    data = np.arange(60000).reshape(3, 200, 100)
    page = check(rk.Tensor(data, dims=("plane", "row", "column")))
    assert "values at [0, :, :], the first of 3 planes, edges only" in page.texts["caption"]
    head = page.texts["th"][-16:-8]
    assert head == ["0", "1", "2", "3", "4", "\u2026", "98", "99"]
    assert page.texts["th"][-8:] == ["0", "1", "2", "3", "4", "\u2026", "198", "199"]
    assert page.cells()[-8:] == [*map(str, range(19900, 19905)), "\u2026", "19998", "19999"]
    assert "row \u2193 column \u2192" in page.cells()


def test_nothing_is_read_but_what_is_shown(tmp_path):
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 42)
    data = np.memmap(path, np.uint8, "r", shape=(1 << 21, 1 << 21))
    page = check(rk.Tensor(data))
    assert "memory-mapped" in page.texts["span"]
    assert "4 TiB" in page.texts["span"]


HOSTILE = [
    "<script>alert(1)</script>", "</style><b>", "\"><img src=x onerror=alert(1)>", "&amp;", "'",
    "\u202egnp.exe", "line\nbreak", "\x00\x1b[31m", "\ud800", "]]>", "--><!--", "{}", "%s", "\\",
    "\u901a\u9053", "x" * 10**6, "<" * 1000, "\u901a" * 1000,
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name[:12]))
def test_hostile_names_are_shown_not_obeyed(name):
    dims = (name, "plain", "other")
    tensor = rk.Tensor(np.zeros((2, 3, 2)), dims=dims)
    for thing in (
        tensor,
        tensor.describe(),
        rk.explain("max", (2, 3, 2), name, dims=dims),
        rk.explain("sum", (2, 3, 2), keepdims=False, dims=dims),
    ):
        page = check(thing)
        assert _show.visible(name, 24) in page.cells()
    repr(tensor).encode()
    str(tensor.describe()).encode()


def test_a_card_of_64_hostile_names_is_small():
    for text in ("<", "\u901a", "x", "\x00"):
        dims = [text * 40 + str(i) for i in range(64)]
        check(rk.Tensor(np.zeros((1,) * 62 + (9, 9)), dims=dims))
        check(rk.Tensor(np.zeros((1,) * 62 + (9, 9)), dims=dims).describe())
        check(rk.explain("max", (2**62,) * 64, range(0, 64, 2), dims=dims))
        check(rk.explain("sum", (2**62,) * 64, range(0, 64, 2), keepdims=False, dims=dims))


def test_explain_shows_what_becomes_of_each_axis():
    e = rk.explain("max", (2, 3, 4), ["row", 2], keepdims=False, dims=("batch", "row", None))
    page = check(e)
    assert page.cells() == [
        "batch", "row", "-", "2", "3", "4", "\u2193 kept", "reduced", "reduced",
        "2", "removed", "removed",
    ]  # fmt: skip
    assert page.texts["li"] == list(e.rules)
    assert page.texts["pre"] == [str(e), str(e.plan), *e.code.values()]
    assert page.texts["p"] == [e.summary.replace("->", "\u2192")]
    assert list(page.texts["dt"]) == ["memory", *e.code]
    page = check(rk.explain("max", (2, 3), 0))
    assert page.cells() == ["2", "3", "reduced", "\u2193 kept", "1", "3"]
    check(rk.explain("max", ()))
    check(rk.explain("min", (0, 2), noop_with_empty_axes=True))


def test_describe_has_a_card():
    d = rk.Tensor([1.0, np.nan], dims="time", opset=13).describe()
    page = check(d)
    assert page.texts["pre"] == [str(d)]
    assert page.cells() == [
        "time", "2", "float64", "2", "1.0 to 1.0", "1", "0 positive, 0 negative",
        "16 B, C order", "13",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (2**20 - 1, "1024 KiB"),
        (2**42, "4 TiB"),
        (2**62, "4 EiB"),
        (2**90, "1024 YiB"),
    ],
)
def test_bytes(count, text):
    assert _show.bytes_text(count) == text


def test_escape_is_ascii():
    assert _html.escape("\u901a<\u202e>") == "&#36890;&lt;\\u202e&gt;"


# In a browser.

THEMES = {
    "light": ("", "color-scheme:light"),
    "dark": ("", "color-scheme:dark"),
    "sphinx": ("data-theme=dark", ""),
    "plain sphinx": ("theme=dark", ""),
}


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    path = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
    if path is None:
        pytest.skip("no Chromium on this machine")
    with playwright.sync_playwright() as session:
        window = session.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield window
        window.close()


def cards():
    odd = np.array([[np.nan, np.inf], [-0.0, 1 / 3]])
    return [
        rk.Tensor(odd, dims=("row", "column")),
        rk.Tensor(np.arange(10**4).reshape(100, 100)),
        rk.Tensor(np.zeros((1,) * 30)),
        rk.Tensor(odd).describe(),
        rk.explain("max", (2, 3, 2), [0, 1], keepdims=False, dims=("a", "b", "c")),
    ]


BRIGHTNESS = """() => [...document.querySelectorAll('.rk-card')].map(card => {
    const paint = document.createElement('canvas').getContext('2d');
    return ['color', 'backgroundColor'].map(name => {
        paint.fillStyle = getComputedStyle(card)[name];
        paint.fillRect(0, 0, 1, 1);
        const [r, g, b] = paint.getImageData(0, 0, 1, 1).data;
        return (r + g + b) / 3;
    });
})"""


@pytest.mark.parametrize("theme", THEMES)
def test_cards_follow_the_theme_of_the_page_and_fit_a_narrow_one(browser, theme):
    attributes, style = THEMES[theme]
    page = browser.new_page(viewport={"width": 400, "height": 600})
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    body = "".join(thing._repr_html_() for thing in cards())
    page.set_content(
        f"<!doctype html><html {attributes} style='{style}'><body>{body}</body></html>"
    )
    shown = page.evaluate(BRIGHTNESS)
    assert len(shown) == len(cards())
    for text, ground in shown:
        if theme == "light":
            assert text < 60
            assert ground > 240
        else:
            assert text > 200
            assert ground < 60
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert page.locator(".rk-text:visible").count() == 0
    assert page.locator(".rk-card:visible").count() == len(cards())
    assert not [url for url in asked if not url.startswith(("about:", "data:"))]
    page.close()


def test_without_the_style_sheet_the_text_is_shown(browser):
    page = browser.new_page()
    for thing in cards():
        page.set_content(re.sub(r"<style>.*</style>", "", thing._repr_html_()))
        assert page.locator(".rk-text:visible").count() == 1
        assert page.locator(".rk-card:visible").count() == 0
    page.close()
