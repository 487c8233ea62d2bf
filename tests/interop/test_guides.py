"""The examples of the guides run."""

import doctest
import re
from pathlib import Path

import pytest

GUIDES = Path(__file__).resolve().parents[2] / "docs" / "guide"
NEEDS = {
    "dask": ["dask.array", "zarr"],
    "exchange": ["pyarrow", "torch"],
    "pandas": ["pandas"],
    "sums-in-pieces": [],
    "xarray": ["xarray", "dask.array"],
}


@pytest.mark.parametrize("name", NEEDS)
def test_examples(name):
    for package in NEEDS[name]:
        pytest.importorskip(package)
    path = GUIDES / f"{name}.md"
    text = path.read_text(encoding="utf-8")
    examples = []
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for example in doctest.DocTestParser().get_examples(block[1], path.name):
            example.lineno += text.count("\n", 0, block.start(1))
            examples.append(example)
    assert len(examples) > 5
    test = doctest.DocTest(examples, {}, path.name, str(path), 0, text)
    report = []
    failed = doctest.DocTestRunner().run(test, out=report.append).failed
    assert failed == 0, "".join(report)
