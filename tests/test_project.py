"""The project's own papers: they agree with each other and with the code."""

import doctest
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import reducekit as rk

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
MARKDOWN = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/design/*.md")]
)


def names(requirements):
    return {re.split(r"[\[<>=]", each)[0] for each in requirements}


def test_readme_examples():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    examples = []
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for example in doctest.DocTestParser().get_examples(block[1], "README.md"):
            example.lineno += text.count("\n", 0, block.start(1))
            examples.append(example)
    assert len(examples) > 8
    test = doctest.DocTest(examples, {}, "README.md", str(ROOT / "README.md"), 0, text)
    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert runner.run(test, out=report.append).failed == 0, "".join(report)


@pytest.mark.parametrize("name", MARKDOWN)
def test_links_between_the_papers_lead_somewhere(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    targets = [
        target.partition("#")[0]
        for target in re.findall(r"\]\(([^)\s]+)\)", text)
        if not target.startswith(("http:", "https:", "#"))
    ]
    missing = [target for target in targets if not (ROOT / name).parent.joinpath(target).exists()]
    assert missing == []


def test_version_is_told_everywhere_the_same():
    version = PROJECT["version"]
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None
    assert cited[1] == version
    heads = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heads[0] in ("Unreleased", version)
    if rk.__version__ == "0+unknown":
        pytest.skip("the package was built in place and never installed")
    assert rk.__version__ == version


def test_the_extra_called_all_holds_every_extra_for_users():
    (all_of_them,) = EXTRAS["all"]
    listed = set(re.findall(r"\[(.+)\]", all_of_them)[0].split(","))
    for_workers = {"all", "bench", "browser", "check", "demo", "docs", "lab", "test"}
    assert listed == set(EXTRAS) - for_workers
    assert names(EXTRAS["demo"]) <= names(EXTRAS["notebook"])


def test_readme_names_every_extra_for_users():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (all_of_them,) = EXTRAS["all"]
    for extra in re.findall(r"\[(.+)\]", all_of_them)[0].split(","):
        assert f"`{extra}`" in readme


def test_changelog_names_the_newest_opset():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"opset from 1 to {rk.schema.NEWEST_OPSET}" in " ".join(text.split())


def test_make_help_names_every_target():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.+)$", text, re.MULTILINE)
    assert phony is not None
    told = set(re.findall(r"^\t@echo 'make (\w+)", text, re.MULTILINE))
    assert told == set(phony[1].split()) - {"help", "stubtest"}
    for target in phony[1].split():
        assert re.search(rf"^{target}:", text, re.MULTILINE), target


def test_sources_without_a_build_say_so(tmp_path):
    package = Path(rk.__file__).parent
    for path in package.glob("*.py"):
        target = tmp_path / "reducekit" / path.name
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(path.read_bytes())
    # -S, since an editable install would lend its build.
    run = subprocess.run(
        [sys.executable, "-S", "-c", "import reducekit"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1] == (
        "ImportError: reducekit is not built in this folder; run `make demo` or "
        "`pip install -e .` here, or start Python elsewhere to use an installed reducekit"
    )


def test_every_compiled_module_has_a_stub():
    package = Path(rk.__file__).parent
    compiled = {path.name.partition(".")[0] for path in package.glob("_*.so")}
    compiled |= {path.name.partition(".")[0] for path in package.glob("_*.pyd")}
    # Cython's shared code, where there is some, is no module of ours.
    stubs = {path.stem for path in package.glob("*.pyi")}
    assert compiled - {"_cyutility"} <= stubs
    assert compiled
