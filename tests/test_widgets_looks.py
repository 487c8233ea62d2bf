"""The explorer's main states look as they did: loosely, by layout and shades, not by pixels."""

import json

import looks
import numpy as np
import pytest

pytest.importorskip("anywidget", reason="the notebook extra is not installed")
pytest.importorskip("PIL", reason="Pillow is missing: pip install 'reducekit[demo]'")

STORED = json.loads(looks.STORED.read_text())


def shades(row):
    return np.frombuffer(bytes.fromhex("".join(row["grey"].values())), np.uint8) / 255


def faults(now, before):
    """What is different beyond what other fonts explain."""
    found = []
    if list(now["boxes"]) != list(before["boxes"]):
        return [f"parts: {sorted(set(now['boxes']) ^ set(before['boxes']))}"]
    for name, box in now["boxes"].items():
        for side, a, b in zip(("left", "top", "width", "height"), box, before["boxes"][name]):
            if abs(a - b) > max(40, 0.15 * b):
                found.append(f"{name}: {side} is {a}, was {b}")
    difference = np.abs(shades(now) - shades(before))
    if difference.mean() > 0.05 or np.mean(difference > 0.2) > 0.1:
        found.append(f"shades differ by {difference.mean():.3f}, at most {difference.max():.3f}")
    return found


@pytest.mark.parametrize("name", looks.STATES)
def test_a_state_looks_as_it_did(browser, name):
    page = looks.open_state(browser, name)
    now = looks.look(page)
    assert faults(now, STORED[name]) == []
    assert page.evaluate(looks.CLASHES) == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.close()


def test_every_pair_of_states_is_told_apart():
    for name in looks.STATES:
        for other in looks.STATES:
            if name != other:
                assert faults(STORED[name], STORED[other]), (name, other)


@pytest.mark.parametrize(
    "damage",
    [
        ".rkx-block svg { display: none }", ".rkx-cell { font-size: 0; background: #777 }",
        ".rkx-after { display: none }", ".rkx-row { flex-direction: column; height: auto }",
        ".rkx-codebox { position: absolute; top: 0 }", ".rkx { background: #333 }",
    ],
)  # fmt: skip
def test_damage_is_noticed(browser, damage):
    page = looks.open_state(browser, "sum")
    page.add_style_tag(content=damage.replace(";", " !important;").replace(" }", " !important }"))
    now = looks.look(page)
    assert faults(now, STORED["sum"])
    page.close()


def test_other_fonts_are_no_fault(browser):
    page = looks.open_state(browser, "max")
    page.add_style_tag(content=".rkx { --mono: serif; font-family: serif !important }")
    now = looks.look(page)
    assert faults(now, STORED["max"]) == []
    page.close()
