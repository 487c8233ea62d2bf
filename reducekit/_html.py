"""What the HTML of notebooks is made of: one style sheet, one card, tables.

The page is given plain elements and one style sheet, no script, no picture and
no address. A ground is never set without a text colour. Colours of emphasis are
mixed with the text's own colour, so they are readable on any ground; patterns,
borders and words say the same as the colours. Where a host strips the style
sheet, the text of the object stands first and the card stays hidden. All of it is ASCII.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ._show import clip, visible

__all__ = ["axis_table", "card", "cell", "code_block", "escape", "facts", "scroll"]

_STYLE = (
    # The theme's own variables where there are any: JupyterLab, then VS Code, then the page.
    ".rk-card{--rk-fg:var(--jp-content-font-color1,var(--vscode-editor-foreground,CanvasText));"
    "--rk-bg:var(--jp-layout-color1,var(--vscode-editor-background,Canvas));"
    "--rk-blue:#0072b2;--rk-orange:#e69f00;"
    "--rk-line:color-mix(in srgb,var(--rk-fg) 24%,var(--rk-bg));"
    "--rk-soft:color-mix(in srgb,var(--rk-fg) 5%,var(--rk-bg));"
    "--rk-dim:color-mix(in srgb,var(--rk-fg) 72%,var(--rk-bg))}"
    "html[theme=dark] .rk-card,html[data-theme=dark] .rk-card,body[data-theme=dark] .rk-card,"
    "body.vscode-dark .rk-card{--rk-fg:var(--vscode-editor-foreground,#e3e3e3);"
    "--rk-bg:var(--vscode-editor-background,#181818)}"
    "body[data-jp-theme-light=false] .rk-card{--rk-fg:var(--jp-content-font-color1,#e3e3e3);"
    "--rk-bg:var(--jp-layout-color1,#181818)}"
    ".rk-text{display:none}"
    "div.rk-card{display:inline-block!important;box-sizing:border-box;max-width:100%;"
    "color:var(--rk-fg);background:var(--rk-bg);border:1px solid var(--rk-line);"
    "border-radius:8px;padding:12px 16px;margin:2px 0;text-align:left;"
    "font:13px/1.45 var(--jp-ui-font-family,system-ui,sans-serif)}"
    ".rk-head{display:flex;flex-wrap:wrap;gap:4px 10px;align-items:baseline;margin-bottom:10px}"
    ".rk-head b{font-size:15px}"
    ".rk-head span:not(:last-child):after{content:'\\b7';margin-left:10px}"
    ".rk-head span{color:var(--rk-dim)}"
    ".rk-parts{display:flex;flex-wrap:wrap;gap:12px 32px}.rk-parts>*{min-width:0;max-width:100%}"
    ".rk-scroll{overflow:auto;max-width:100%}"
    ".rk-card table.rk-grid{border-collapse:separate;border-spacing:0;margin:0;table-layout:auto;"
    "font:12px/1.4 var(--jp-code-font-family,ui-monospace,SFMono-Regular,Menlo,Consolas,monospace);"
    "font-variant-numeric:tabular-nums;color:var(--rk-fg);border:0}"
    ".rk-card table.rk-grid caption{caption-side:top;text-align:left;padding:0 0 4px;"
    "color:var(--rk-dim);white-space:nowrap;"
    "font:12px/1.4 var(--jp-ui-font-family,system-ui,sans-serif)}"
    ".rk-card table.rk-grid tr,.rk-card table.rk-grid tbody tr:nth-child(n),"
    ".rk-card table.rk-grid tbody tr:hover{background:none}"
    ".rk-card table.rk-grid th,.rk-card table.rk-grid td{border:0;padding:2px 9px;margin:0;"
    "text-align:right;vertical-align:baseline;white-space:nowrap;max-width:none;color:var(--rk-fg);"
    "background:none;font-weight:400}"
    ".rk-card table.rk-grid th,.rk-card table.rk-grid thead td{color:var(--rk-dim)}"
    ".rk-card table.rk-grid thead th{border-bottom:1px solid var(--rk-line)}"
    ".rk-card table.rk-grid tbody th{border-right:1px solid var(--rk-line)}"
    ".rk-card table.rk-grid td.rk-gap{text-align:center;color:var(--rk-dim)}"
)

_ODD_STYLE = (
    ".rk-card table.rk-grid td.rk-nan{font-weight:700;"
    "outline:1.5px dashed color-mix(in srgb,#d55e00 75%,var(--rk-fg));outline-offset:-2px}"
    ".rk-card table.rk-grid td.rk-inf{font-weight:700;"
    "outline:1.5px solid color-mix(in srgb,#0072b2 75%,var(--rk-fg));outline-offset:-2px}"
    ".rk-card table.rk-grid td.rk-zero{font-weight:700;"
    "text-decoration:underline dotted;text-underline-offset:3px}"
)

_AXES_STYLE = (
    ".rk-parts+.rk-say,.rk-axes+.rk-say{margin-top:10px}"
    ".rk-card .rk-axes table.rk-grid th,.rk-card .rk-axes table.rk-grid td{text-align:center;"
    "padding:3px 14px}"
    ".rk-card .rk-axes table.rk-grid tbody th{border-right:0;text-align:right;padding-left:0}"
    ".rk-card .rk-axes table.rk-grid thead th{border-bottom:0}"
    ".rk-card .rk-axes table.rk-grid td.rk-size{font-size:16px;font-weight:600;"
    "border:1px solid var(--rk-line);background:var(--rk-soft)}"
    ".rk-card .rk-axes table.rk-grid td.rk-size+td.rk-size{border-left:0}"
    ".rk-card .rk-axes table.rk-grid td.rk-name{font-weight:600}"
)

_REDUCED_STYLE = (
    ".rk-card .rk-axes table.rk-grid td.rk-reduced{"
    "background:repeating-linear-gradient(135deg,transparent 0 5px,"
    "color-mix(in srgb,#e69f00 42%,transparent) 5px 8px)}"
    ".rk-card .rk-axes table.rk-grid td.rk-does{color:var(--rk-dim)}"
    ".rk-card .rk-axes table.rk-grid td.rk-collapses{font-weight:700;"
    "color:color-mix(in srgb,#b06a00 62%,var(--rk-fg))}"
    ".rk-card .rk-axes table.rk-grid td.rk-out{font-size:16px;font-weight:600;"
    "border:1px solid color-mix(in srgb,#0072b2 60%,var(--rk-fg));"
    "background:color-mix(in srgb,#0072b2 12%,transparent)}"
    ".rk-card .rk-axes table.rk-grid td.rk-out+td.rk-out{border-left:0}"
    ".rk-card .rk-axes table.rk-grid td.rk-one{background:none}"
    ".rk-card .rk-axes table.rk-grid td.rk-gone{font-weight:400;border-style:dashed;"
    "background:none;color:var(--rk-dim)}"
    ".rk-say{margin:0 0 8px;font-size:14px}"
    ".rk-card ul.rk-rules{margin:4px 0 8px;padding-left:20px;max-width:84ch;text-wrap:pretty}"
    ".rk-card ul.rk-rules li{margin:2px 0}"
    ".rk-card summary{cursor:pointer;font-weight:600}"
    ".rk-card dl.rk-code{margin:6px 0 0;display:grid;grid-template-columns:max-content 1fr;"
    "gap:4px 12px;align-items:baseline}"
    ".rk-card dl.rk-code dt{color:var(--rk-dim);font-weight:400}"
    ".rk-card dl.rk-code dd{margin:0;min-width:0}"
    ".rk-card dl.rk-code pre{margin:0;padding:4px 8px;white-space:pre-wrap;"
    "overflow-wrap:anywhere;color:var(--rk-fg);background:var(--rk-soft);border-radius:4px;"
    "font:12px/1.5 var(--jp-code-font-family,ui-monospace,SFMono-Regular,Menlo,Consolas,monospace)}"
)

# The most axes that a table shows before it leaves out the middle.
MOST_AXES = 24


def escape(text: str, limit: int = 60) -> str:
    """The text for a page: visible, cut, escaped, and in ASCII.

    >>> escape('<b>"x"')
    '&lt;b&gt;&quot;x&quot;'
    """
    from html import escape as escaped

    return ascii_only(escaped(visible(text, limit)))


def ascii_only(text: str) -> str:
    """Characters beyond ASCII as references: right on a page without a charset too."""
    return text.encode("ascii", "xmlcharrefreplace").decode()


def cell(text: str, classes: str = "", title: str = "") -> str:
    """A table cell; the text is HTML already."""
    attributes = f' class="{classes}"' if classes else ""
    if title:
        attributes += f' title="{title}"'
    return f"<td{attributes}>{text}</td>"


def facts(title: str, words: Iterable[str]) -> str:
    """The head of a card: a title and the facts beside it."""
    spans = "".join(f"<span>{escape(word, 90)}</span>" for word in words)
    return f'<div class="rk-head"><b>{escape(title)}</b>{spans}</div>'


def scroll(body: str, label: str) -> str:
    """A part that scrolls by itself, by keyboard too, when it is wider than the page."""
    return (
        f'<div class="rk-scroll" tabindex="0" role="group" aria-label="{escape(label)}">'
        f"{body}</div>"
    )


def axis_table(
    caption: str,
    dims: Sequence[str | None] | None,
    rows: Sequence[tuple[str, Sequence[str]]],
    ndim: int,
) -> str:
    """A table with one column for each axis.

    Parameters
    ----------
    caption : str
        What the table shows.
    dims : sequence of (str or None), or None
        The names of the axes: a row of their own if there are any.
    rows : sequence of (str, sequence of str)
        A title and the ``<td>`` of every axis.
    ndim : int
        The number of axes; beyond :data:`MOST_AXES` the middle is left out.
    """
    half = MOST_AXES // 2
    shown: list[int | None] = list(range(ndim))
    if ndim > MOST_AXES:
        shown = [*range(half), None, *range(ndim - half, ndim)]
    limit = 24 if ndim <= 8 else 8

    def line(title: str, cells: Sequence[str]) -> str:
        gap = cell("&hellip;", "rk-gap")
        inner = "".join(gap if axis is None else cells[axis] for axis in shown)
        return f'<tr><th scope="row">{escape(title)}</th>{inner}</tr>'

    heads = "".join(
        '<th scope="col">&hellip;</th>' if axis is None else f'<th scope="col">{axis}</th>'
        for axis in shown
    )
    body = ""
    if dims is not None and any(name is not None for name in dims):
        names = [cell("-") if n is None else cell(escape(n, limit), "rk-name") for n in dims]
        body += line("name", names)
    body += "".join(line(title, cells) for title, cells in rows)
    return (
        f'<table class="rk-grid"><caption>{escape(caption, 200)}</caption>'
        f'<thead><tr><th scope="row">axis</th>{heads}</tr></thead><tbody>{body}</tbody></table>'
    )


def code_block(pairs: Iterable[tuple[str, str]]) -> str:
    """Named pieces of code, one under the other."""
    items = "".join(
        f"<dt>{escape(name)}</dt><dd><pre>{_code(text)}</pre></dd>" for name, text in pairs
    )
    return f'<dl class="rk-code">{items}</dl>'


def _code(text: str) -> str:
    return "\n".join(escape(line, 400) for line in text.split("\n"))


def card(
    text: str, body: str, *, axes: bool = False, odd: bool = False, reduced: bool = False
) -> str:
    """The whole output: the style sheet's parts that it needs, the text, the card.

    Parameters
    ----------
    text : str
        The object as text, for hosts that strip the style sheet.
    body : str
        The card's HTML.
    axes, odd, reduced : bool
        Whether the card has tables of axes, odd values, reduced axes.
    """
    from html import escape as escaped

    style = _STYLE + _AXES_STYLE * axes + _ODD_STYLE * odd + _REDUCED_STYLE * reduced
    # Long names may fill the text with references; the card must stay small.
    limit = 4000
    while len(plain := ascii_only(escaped(clip(text, limit)))) > 4000:
        limit //= 2
    return (
        f"<div><style>{style}</style>"
        f'<pre class="rk-text">{plain}</pre>'
        f'<div class="rk-card" style="display:none">{body}</div></div>'
    )
