"""Options and profiles of the test run."""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The helpers (oracles, arrays, strategies) import by name in every import mode of pytest.
sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("fast", max_examples=150, deadline=None, derandomize=True)
settings.register_profile(
    "slow", max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def pytest_addoption(parser):
    parser.addoption(
        "--slow",
        action="store_true",
        help="also run the tests that need much memory or time, and search more widely",
    )


def pytest_configure(config):
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # A shell that runs us in its background takes Ctrl-C away, from our children too.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "slow: needs much memory or time; run with --slow")
    if not config.getoption("--hypothesis-profile", None):
        settings.load_profile("slow" if config.getoption("--slow") else "fast")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--slow"):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]


@pytest.fixture(autouse=True)
def _opset_restored():
    """A test that sets the default opset leaves none of it to the next."""
    import reducekit as rk

    yield
    rk.set_default_opset("latest")


@pytest.fixture(scope="session")
def browser():
    """A Chromium; tests that need it are skipped where the machine has none."""
    from browser import chromium

    if "asan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("a browser does not start with a sanitizer in it")
    with chromium() as running:
        yield running
