"""The documentation: its examples run, its drawn pages agree with the table and with the world."""

import doctest
import importlib
import importlib.util
import json
import re
import shlex
import subprocess
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import pytest

import reducekit as rk

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = sorted(
    path.relative_to(DOCS).as_posix()
    for path in DOCS.rglob("*.md")
    if not {"_build", "generated", "design"} & set(path.relative_to(DOCS).parts)
)
FENCE = re.compile(
    r"^( *)```(python|console|\{code-cell\} python)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL
)
# What a page may show and a machine that tests it may lack.
OPTIONAL = {
    "IPython", "anywidget", "dask", "einops", "matplotlib", "onnx", "pandas", "pyarrow",
    "threadpoolctl", "torch", "xarray", "zarr",
}  # fmt: skip
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def load(name):
    """A script of the documentation, which is no package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks(text):
    """The examples of a page in order, as (kind, text, line)."""
    for found in FENCE.finditer(text):
        lines = [line.removeprefix(found[1]) for line in found[3].splitlines(keepends=True)]
        yield found[2], "".join(lines), text.count("\n", 0, found.start(3))


def lacks(code):
    """The packages that an example needs and that are not here."""
    named = re.findall(r"^(?:>>> |\.\.\. )? *(?:import|from) (\w+)(?:\.(\w+))?", code, re.MULTILINE)
    words = {name for pair in named for name in pair} & OPTIONAL
    words |= {"pyarrow"} if "dask.dataframe" in code else set()  # which cannot do without
    words |= {"anywidget"} if "reducekit.widgets" in code else set()
    words |= {"matplotlib"} if re.search(r"import plot|reducekit\.plot", code) else set()
    return sorted(word for word in words if importlib.util.find_spec(word) is None)


def examine(name, text):
    """Run every example of a page in one namespace; the number of those that were run."""
    names, run, flags = {"__name__": "__main__"}, 0, FLAGS
    for kind, code, line in blocks(text):
        if missing := lacks(code):
            pytest.skip(f"run up to line {line}: {', '.join(missing)} is missing")
        if kind == "console":
            run += console(name, code)
        elif kind == "python":
            examples = doctest.DocTestParser().get_examples(code, name)
            if not examples:
                compile(code, name, "exec")
                continue
            for example in examples:
                example.lineno += line
            report = []
            # The namespace goes on from block to block.
            test = doctest.DocTest(examples, names, name, name, 0, text)
            test.globs = names
            runner = doctest.DocTestRunner(optionflags=flags)
            failed = runner.run(test, out=report.append, clear_globs=False).failed
            assert failed == 0, "".join(report)
            run += len(examples)
        else:
            tags = re.match(r":tags: \[(.*)\]\n", code)
            body = re.sub(r"\A(:\w+:.*\n)+", "", code)
            if tags and "raises-exception" in tags[1]:
                with pytest.raises(rk.ReduceError):
                    exec(compile(body, name, "exec"), names)
            else:
                exec(compile(body, name, "exec"), names)
            run += 1
    return run


def console(name, code):
    """Run commands whose output is shown below them, and hold the two against each other."""
    run = 0
    for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        words = shlex.split(command)
        if words[0] != "reducekit" or not expected.strip():
            continue
        done = subprocess.run(
            [sys.executable, "-m", *words], capture_output=True, text=True, check=False
        )
        assert (done.stdout + done.stderr).split() == expected.split(), (name, command)
        run += 1
    return run


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Examples may write files, and draw where nobody looks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")


@pytest.mark.parametrize("name", PAGES)
def test_the_examples_of_a_page(name):
    text = (DOCS / name).read_text(encoding="utf-8")
    with warnings.catch_warnings():
        if name == "tour.md":  # what a drawing library warns of is not the page's business
            warnings.simplefilter("default")
        run = examine(name, text)
    if name.startswith("guide/") and name not in ("guide/index.md", "guide/widgets.md"):
        assert run > 0


def test_the_pages_drawn_from_the_table():
    pages = load("make_pages").pages()
    for op in rk.schema.OPERATORS:
        assert f"operators/{op.name}.md" in pages
        for each in op.versions:
            assert str(each) in pages["opsets.md"]
            text = pages[f"operators/{each}.md"]
            for dtype in each.dtypes:
                assert f"`{dtype}`" in text
            if each is not op.versions[0]:
                assert "**Raising the opset" in text
                assert "**Lowering it" in text
                assert examine(str(each), text) > 2


def test_the_kept_table_of_other_libraries_is_what_they_give():
    others = load("make_others")
    seen = json.loads((DOCS / "others.json").read_text(encoding="utf-8"))
    assert list(seen["versions"]) == list(others.RUNTIMES)
    here = ["reducekit"]  # as it is, installed or built in place
    for name, package in list(others.RUNTIMES.items())[1:]:
        if importlib.util.find_spec(package) and version(package) == seen["versions"][name]:
            here.append(name)
    got = others.results(here)
    assert len(got) == len(seen["cases"])
    for case, kept in zip(got, seen["cases"], strict=True):
        assert (case["what"], case["call"]) == (kept["what"], kept["call"])
        assert case["results"] == {name: kept["results"][name] for name in here}, case["what"]


def test_the_guides_are_all_in_the_index():
    text = (DOCS / "guide" / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^[\w-]+$", text, re.MULTILINE)
    assert ":glob:\n" in text
    assert text.rstrip().endswith("\n*\n```")
    assert all((DOCS / "guide" / f"{name}.md").exists() for name in listed)


def test_the_picture_of_the_house_is_the_house():
    from test_imports import EDGES, LAYERS

    house = load("make_house")
    place = {
        room: (row, number)
        for row, (_, rooms) in enumerate(house.HOUSE)
        for number, room in enumerate(rooms)
    }
    assert {name for names in LAYERS for name in names} == set(place) | set(house.BESIDE)
    package = Path(rk.__file__).parent
    compiled = {path.stem for path in package.glob("*.pyx")}
    compiled |= {path.parent.name for path in package.glob("*/*.pyx")}
    assert compiled in (house.COMPILED, set())  # an installed package has no sources
    assert set(house.CALL) | set(house.BESIDE.values()) <= set(place)
    for importer, imported, path in EDGES:
        if importer in place and imported in place:
            assert place[importer] < place[imported], path
    kept = (DOCS / "images" / "house.svg").read_text(encoding="utf-8")
    assert kept == house.house(), "run python docs/make_house.py"
