"""A real Chromium for the tests of what people see."""

import os
import shutil
from contextlib import contextmanager

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


def executable():
    """The browser of the machine; a test without one is skipped and says what to install."""
    found = os.environ.get("REDUCEKIT_CHROMIUM") or next(
        filter(None, map(shutil.which, NAMES)), None
    )
    if not found:
        pytest.skip("no Chromium on this machine: install the package `chromium`")
    return found


@contextmanager
def chromium():
    api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is missing: pip install 'reducekit[browser]'"
    )
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable(),
            args=[
                "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                "--force-color-profile=srgb",
            ],
        )  # fmt: skip
        try:
            yield browser
        finally:
            browser.close()


class Watch:
    """What must not happen on a page: errors, failed requests, requests to elsewhere."""

    def __init__(self, page):
        self.faults = []
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("console", self._console)
        page.on("requestfailed", self._failed)
        page.on("request", self._request)

    def _console(self, message):
        if message.type == "error":
            self.faults.append(f"console: {message.text}")

    def _failed(self, request):
        # What a page still waits for when it is left is aborted by the browser.
        if request.failure != "net::ERR_ABORTED":
            self.faults.append(f"failed: {request.url}")

    def _request(self, request):
        local = ("http://127.0.0.1", "ws://127.0.0.1", "data:", "blob:", "file:", "about:")
        if not request.url.startswith(local):
            self.faults.append(f"outside: {request.url}")


def axe_violations(page, selector):
    """What axe-core finds wrong within an element, at every severity."""
    files = pytest.importorskip("importlib.resources")
    package = pytest.importorskip(
        "axe_playwright_python", reason="axe-playwright-python is missing"
    )
    script = (files.files(package) / "axe.min.js").read_text(encoding="utf-8")
    if not page.evaluate("!!window.axe"):
        page.evaluate(script)
    found = page.evaluate("async (s) => (await axe.run(s)).violations", selector)
    return [(v["id"], v["impact"], v["nodes"][0]["html"][:200]) for v in found]
