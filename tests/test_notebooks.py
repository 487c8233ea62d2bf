"""The notebooks from a clean kernel: as they come, and with every exercise solved."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
BOOKS = sorted(FOLDER.glob("*.ipynb"))
# What a reader's machine may lack changes what is said, not whether it runs.
NEEDS = ("nbclient", "ipykernel", "anywidget", "matplotlib", "PIL")

nbformat = pytest.importorskip(
    "nbformat", reason="nbformat is missing: pip install 'reducekit[lab]'"
)


def exercises(book):
    """Each exercise with the answer that is hidden below it."""
    cells = book.cells
    for place, cell in enumerate(cells):
        if "exercise" in cell.metadata.get("tags", []):
            hidden = re.search(
                r"<details><summary>Answer</summary>\s*```python\n(.*?)\n```\s*</details>",
                cells[place + 1].source, re.DOTALL,
            )  # fmt: skip
            assert hidden, cell.source
            yield cell, hidden[1]


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stripped_and_its_answers_are_hidden(path):
    book = nbformat.read(path, 4)
    nbformat.validate(book)
    for cell in book.cells:
        if cell.cell_type == "code":
            assert not cell.outputs
            assert cell.execution_count is None
    found = list(exercises(book))
    assert len(found) >= 3
    for cell, answer in found:
        assert cell.source.count("answer = ...") == 1
        assert answer.startswith("answer = ")


def test_the_notebooks_are_numbered():
    assert [path.name[:2] for path in BOOKS] == [f"{n}-" for n in range(1, 9)]


def said(book):
    return [
        "".join(o.get("text", "") for o in cell.outputs)
        for cell in book.cells
        if "exercise" in cell.metadata.get("tags", [])
    ]


@pytest.mark.slow
@pytest.mark.parametrize("solved", [True, False], ids=["solved", "unsolved"])
@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_a_clean_kernel(path, solved):
    for package in NEEDS:
        pytest.importorskip(
            package, reason=f"{package} is missing: pip install 'reducekit[browser]'"
        )
    from nbclient import NotebookClient

    book = nbformat.read(path, 4)
    if solved:
        for cell, answer in exercises(book):
            cell.source = cell.source.replace("answer = ...", answer)
    resources = {"metadata": {"path": str(FOLDER)}}
    NotebookClient(book, timeout=120, kernel_name="python3", resources=resources).execute()
    expected = "Right!" if solved else "Not answered yet"
    assert all(text.startswith(expected) for text in said(book)), said(book)
    for cell in book.cells:
        for output in cell.get("outputs", []):
            assert output.output_type != "error"
            assert output.get("name") != "stderr", output.get("text")


@pytest.mark.parametrize("answer", [0, "text", None])
def test_a_wrong_answer_gets_a_hint_and_no_error(capsys, monkeypatch, answer):
    monkeypatch.syspath_prepend(str(FOLDER))
    from lesson import check

    check(answer, lambda a: a + 1 == 3, "Count again.")
    assert capsys.readouterr().out.startswith("Not yet")
    check(2, lambda a: a + 1 == 3)
    assert capsys.readouterr().out == "Right!\n"
