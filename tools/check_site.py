"""Look at every page of the built documentation: links, widths, colours, search.

usage: python tools/check_site.py [docs/_build/html] [--shots FOLDER]

Internal links and their anchors are followed in the files; the rest is looked at in Chromium,
light and dark, 1280 and 390 pixels wide. Needs the `browser` extra.
"""

import argparse
import functools
import http.server
import itertools
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from shutil import which
from urllib.parse import unquote, urldefrag, urlsplit

# Each look differs from the one before it in one thing, and a page begins as the last one ended.
LOOKS = ((1280, "light"), (390, "light"), (390, "dark"), (1280, "dark"))
# No other host is there. To route requests would do without this, and without the cache as well.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
# The theme hears of a change of colours a moment later. Too wide is what sticks out of the page.
SEE = """async scheme => {
  const root = document.documentElement;
  const end = performance.now() + 5000;
  while (root.dataset.theme !== scheme && performance.now() < end)
    await new Promise(resolve => setTimeout(resolve, 5));
  const faults = root.dataset.theme === scheme ? [] : ['is ' + root.dataset.theme];
  if (root.scrollWidth > root.clientWidth)
    faults.push('scrolls sideways: ' + [...document.querySelectorAll('body *')]
      .filter(e => e.getBoundingClientRect().right > root.clientWidth + 1)
      .slice(0, 5).map(e => e.tagName + '.' + e.className).join(', '));
  for (const head of document.querySelectorAll('h1, h2, h3'))
    if (head.scrollWidth > head.clientWidth + 1) faults.push('cuts off ' + head.textContent);
  return faults;
}"""


class Page(HTMLParser):
    """The links and the anchors of one page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors |= {found.get("id"), found.get("name")}
        for name in ("href", "src"):
            if found.get(name) and (tag != "link" or found.get("rel") != "canonical"):
                self.links.append(found[name])


def link_faults(root, pages):
    parsed = {page: Page(page.read_text(encoding="utf-8")) for page in pages}
    count, faults = 0, []
    for page, here in parsed.items():
        for link in here.links:
            if urlsplit(link).scheme or link.startswith("//"):
                continue
            count += 1
            path, anchor = urldefrag(link)
            path = path.partition("?")[0]
            target = (page.parent / unquote(path)).resolve() if path else page
            if not target.exists():
                faults.append(f"{page.relative_to(root)}: no {link}")
            elif anchor and target in parsed and unquote(anchor) not in parsed[target].anchors:
                faults.append(f"{page.relative_to(root)}: no anchor {link}")
    return count, faults


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server that does not tell of each request."""

    protocol_version = "HTTP/1.1"  # one connection for many requests

    def log_message(self, *args):
        pass


def looks(root, pages, shots):
    from playwright.sync_api import sync_playwright

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(root))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}/"
    faults = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=which("chromium"), args=ARGUMENTS)
        tab = browser.new_page()

        # A page that asks another host for something would not be whole without it.
        def ask(request):
            if request.url.startswith("http") and not request.url.startswith(base):
                faults.append(f"{tab.url} asks for {request.url}")

        tab.on("request", ask)
        tab.on("pageerror", lambda error: faults.append(f"{tab.url}: {error}"))
        for page, order in zip(pages, itertools.cycle([LOOKS, LOOKS[::-1]])):
            name = page.relative_to(root)
            for number, (width, scheme) in enumerate(order):
                tab.set_viewport_size({"width": width, "height": 900})
                tab.emulate_media(color_scheme=scheme)
                if number == 0:
                    tab.goto(base + name.as_posix(), wait_until="load")
                look = f"{name} at {width}, {scheme}"
                faults += [f"{look}: {fault}" for fault in tab.evaluate(SEE, scheme)]
                if shots:
                    place = "-".join(name.with_suffix("").parts)
                    tab.screenshot(path=shots / f"{place}-{width}-{scheme}.png", full_page=True)
        tab.goto(base + "search.html?q=noop_with_empty_axes", wait_until="load")
        tab.wait_for_function(
            "Search.output && Search.status.innerText.length > 20", timeout=60_000
        )
        found = tab.locator("ul.search li a").count()
        if not found:
            faults.append("the search finds nothing")
        browser.close()
    server.shutdown()
    return found, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("root", nargs="?", default="docs/_build/html", type=Path)
    parser.add_argument("--shots", type=Path, help="keep a picture of each page here")
    options = parser.parse_args()
    root = options.root.resolve()
    pages = sorted(p for p in root.rglob("*.html") if "_static" not in p.parts)
    if options.shots:
        options.shots.mkdir(parents=True, exist_ok=True)
    links, faults = link_faults(root, pages)
    found, more = looks(root, pages, options.shots)
    faults += more
    print(
        f"{len(pages)} pages, {links} internal links, {found} found by the search, "
        f"{len(faults)} faults"
    )
    for fault in dict.fromkeys(faults):
        print(f"  {fault}")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
