"""The benchmark: its table, its answers, its papers. No test here looks at a time."""

import argparse
import json
import math
import os
import subprocess
import sys
import types
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from oracles import never

import reducekit
from reducekit import bench, cli, schema
from reducekit._files import FileError
from reducekit.bench import command, contenders, grid, measures, results, runner, timing
from reducekit.dtypes import ELEMENT_TYPES, by_name
from reducekit.errors import ArgumentError

FAST = timing.Effort(batch=0.0, rounds=1, budget=0.0)
MAX, SUM = schema.operator("max"), schema.operator("sum")


def cell_of(op, dtype, shape, axes, **more):
    return grid.Cell(schema.operator(op), by_name(dtype), grid.Case(shape, axes, **more))


def run(*chosen, peers=("numpy",), **more):
    return runner.run(chosen=chosen, peers=peers, effort=FAST, **more)


@pytest.fixture(scope="module")
def found():
    """A run over every layout, operator and type, on shapes that take no time."""
    chosen = [
        replace(cell, case=replace(cell.case, shape=shape, axes=axes))
        for layout, shape, axes in [
            ("C", (6, 5), (0,)), ("fortran", (6, 5), (1,)), ("permuted", (3, 4, 5), (1,)),
            ("strided", (6, 5), (1,)), ("column", (40,), (0,)), ("reversed", (6, 5), (0,)),
            ("broadcast", (6, 5), (0,)), ("spread", (6, 5), (1,)),
        ]
        for cell in bench.cells(only=["10 all"])
        for cell in [replace(cell, case=grid.Case((1,), (0,), layout))]
    ]  # fmt: skip
    return run(*chosen)


# The table


def test_names_of_cells_are_unique():
    names = [cell.name for cell in bench.cells()]
    assert len(names) == len(set(names)) > 1500
    assert {case.layout for case in grid.CASES} == set(grid.LAYOUTS)


def test_every_operator_meets_every_type_but_sums_of_bool():
    pairs = {(cell.op.short, cell.element.name) for cell in bench.cells()}
    expected = {(op.short, row.name) for op in schema.OPERATORS for row in ELEMENT_TYPES}
    assert pairs == {pair for pair in expected if not never(*pair)}


def test_sizes_go_from_ten_to_a_hundred_million():
    sizes = {case.elements for case in grid.CASES}
    assert min(sizes) == 10
    assert max(sizes) == 10**8
    assert max(case.elements for case in grid.CASES if case.quick) == 10**7


def test_quick_and_shown_cases_are_part_of_the_table():
    quick = {cell.name for cell in bench.cells(quick=True)}
    assert quick < {cell.name for cell in bench.cells()}
    assert {case.layout for case in grid.CASES if case.shown} >= {"C", "fortran", "strided"}


@pytest.mark.parametrize(
    ("text", "count"),
    [("max float32 1e7 all", 1), ("max *float16 1e7 all", 2), ("int8 1e7 all", 3), ("in 1e7", 0)],
)
def test_only_takes_whole_words(text, count):
    assert len(list(bench.cells(only=[text]))) == count


@pytest.mark.parametrize(
    ("layout", "shape", "strides", "memory"),
    [
        ("C", (3, 4, 5), (80, 20, 4), 240),
        ("fortran", (3, 4, 5), (4, 12, 48), 240),
        ("permuted", (3, 4, 5), (4, 60, 12), 240),
        ("strided", (3, 4, 5), (160, 40, 8), 480),
        ("column", (3, 4), (160, 40), 480),
        ("reversed", (3, 4), (-16, -4), 48),
        ("broadcast", (3, 4), (0, 4), 16),
        ("spread", (3, 4), (4, 0), 12),
    ],
)
def test_layouts(layout, shape, strides, memory):
    cell = cell_of("max", "float32", shape, (0,), layout=layout)
    data = grid.make(cell)
    assert data.shape == shape
    assert data.strides == strides
    assert cell.case.memory(cell.element) == memory


def test_a_column_is_read_by_lines_of_memory():
    cell = cell_of("max", "float64", (1000,), (0,), layout="column")
    assert cell.case.memory(cell.element) == 1000 * 64


def test_values():
    assert not grid.make(cell_of("max", "bool", (9,), (0,))).any()
    assert grid.make(cell_of("min", "bool", (9,), (0,))).all()
    decided = grid.make(cell_of("max", "bool", (9,), (0,), values="decided"))
    assert decided.tolist() == [True] + [False] * 8
    nan = grid.make(cell_of("max", "float16", (9,), (0,), values="nan"))
    assert np.flatnonzero(np.isnan(nan)).tolist() == [4]
    numbers = grid.make(cell_of("max", "int8", (9999,), (0,)))
    assert (numbers.min(), numbers.max()) == (0, 99)
    long = grid.make(cell_of("sum", "uint8", (1_500_000,), (0,)))
    assert (long[:400_000] == long[1_000_003:1_400_003]).all()


# A run


def test_run_has_every_cell_and_every_answer_is_right(found):
    assert len(found["cells"]) == 8 * (3 * len(ELEMENT_TYPES) - 1)
    assert found["complete"]
    assert found["skipped"] == []
    for cell in found["cells"]:
        is_sum = cell["op"] == "sum" and by_name(cell["dtype"]).kind == "float"
        assert cell["answers"] == dict.fromkeys(
            ("reducekit", "numpy"), "close" if is_sum else "same"
        )
        if is_sum:
            assert cell["ulps"]["reducekit"] <= 0.5
        else:
            assert cell["ulps"] == {}


def test_figures_of_a_cell_fit_each_other(found):
    for cell in found["cells"]:
        assert cell["name"] == f"{cell['op']} {cell['dtype']} {cell['case']}"
        assert cell["elements"] == math.prod(cell["shape"])
        assert cell["best_peer"] == "numpy"
        seconds = cell["seconds"]
        assert cell["ratio"] == pytest.approx(seconds["numpy"] / seconds["reducekit"], rel=2e-3)
        assert cell["bandwidth"] == pytest.approx(cell["memory"] / seconds["reducekit"], rel=2e-3)
        assert cell["class"] == "tiny"
        assert cell["share"] is None


def test_the_keys_are_those_that_the_docstring_tells(found):
    for key in [*found, *found["machine"], *found["cells"][0]]:
        assert key in bench.__doc__, key


def test_larger_cells_have_a_share_of_the_bandwidth():
    (cell,) = run(cell_of("max", "float32", (20_000,), (0,)))["cells"]
    assert cell["class"] == "cache"
    assert {"int64 sum", "int32 max"} <= set(cell["read_seconds"])
    fastest = min(cell["read_seconds"].values())
    assert cell["share"] == pytest.approx(fastest / cell["seconds"]["reducekit"], rel=2e-3)


def test_all_peers_that_are_installed_give_the_same_answer():
    for name in ("float32", "float64", "int32", "int16", "bfloat16"):
        for op in ("max", "sum"):
            results = run(
                cell_of(op, name, (30, 7), (0,)),
                cell_of(op, name, (4, 5, 6), (0, 2), layout="permuted"),
                peers=None,
            )
            assert results["contenders"][:2] == ["reducekit", "numpy"]
            for cell in results["cells"]:
                assert "numpy" in cell["answers"]
                assert "differs" not in cell["answers"].values(), cell


def test_who_leaves_nan_out_does_not_compete_where_there_is_one():
    results = run(cell_of("max", "float32", (99,), (0,), values="nan"), peers=None)
    assert not {"bottleneck", "numbagg"} & set(results["cells"][0]["seconds"])


def a_peer(name, statement, **names):
    def prepare(problem):
        return contenders.Call(statement, {"x": problem.data, "np": np, **names})

    return contenders.Contender(name, ("numpy",), prepare, lambda _: warnings.catch_warnings())


def with_peers(monkeypatch, *peers):
    chosen = (*contenders.CONTENDERS[:2], *peers)
    monkeypatch.setattr(contenders, "CONTENDERS", chosen)
    return tuple(peer.name for peer in chosen)


def test_a_wrong_answer_does_not_count(monkeypatch):
    names = with_peers(
        monkeypatch, a_peer("liar", "np.float32(1e9)"), a_peer("shape", "np.zeros(3, np.float32)")
    )
    for op, right in (("max", "same"), ("sum", "close")):
        (cell,) = run(cell_of(op, "float32", (5000,), (0,)), peers=names)["cells"]
        assert cell["answers"] == {
            "reducekit": right, "numpy": right, "liar": "differs", "shape": "differs"
        }  # fmt: skip
        assert cell["best_peer"] == "numpy"
        assert "another answer: liar, shape" in results.cell_line(cell)


def test_an_inaccurate_sum_counts_and_its_error_is_told(monkeypatch):
    names = with_peers(monkeypatch, a_peer("rough", "np.sum(x) * np.float32(1.001)"))
    (cell,) = run(cell_of("sum", "float32", (5000,), (0,)), peers=names)["cells"]
    assert cell["answers"]["rough"] == "close"
    assert cell["ulps"]["rough"] > 1000


def test_our_own_wrong_answer_is_told(monkeypatch):
    monkeypatch.setattr(reducekit, "reduce_max", lambda *_, **__: np.float32(7))
    (cell,) = run(cell_of("max", "float32", (50,), (0,)))["cells"]
    assert cell["answers"]["reducekit"] == "differs"


def test_a_peer_that_fails_is_left_out(monkeypatch):
    names = with_peers(monkeypatch, a_peer("broken", "1 / 0"), a_peer("none", "np.max(x)"))
    (cell,) = run(cell_of("max", "float32", (50,), (0,)), peers=names)["cells"]
    assert set(cell["seconds"]) == {"reducekit", "numpy", "none"}


def test_our_own_failure_is_not_hidden(monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("kernel")

    monkeypatch.setattr(reducekit, "reduce_max", fail)
    with pytest.raises(RuntimeError, match="kernel"):
        run(cell_of("max", "float32", (50,), (0,)))


def test_an_interrupt_keeps_what_was_done():
    def stop(cell):
        raise KeyboardInterrupt

    results = run(*[cell_of("max", "int8", (size,), (0,)) for size in (10, 20, 30)], on_cell=stop)
    assert not results["complete"]
    assert [cell["elements"] for cell in results["cells"]] == [10]
    assert "interrupted" in bench.summary_text(results)


def test_what_does_not_fit_into_memory_is_skipped(monkeypatch):
    monkeypatch.setattr(runner.machine, "free_memory", lambda: 1000)
    results = run(cell_of("max", "int8", (10,), (0,)), cell_of("max", "int8", (5000,), (0,)))
    assert results["skipped"] == ["max int8 5000 over all"]
    assert "1 of the cells" in bench.summary_text(results)


def test_numba_does_not_change_the_threads_of_others():
    """It sets those of OpenMP when it starts, which PyTorch then has too."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("numbagg")
    seen = []
    cell = cell_of("max", "float32", (2000, 50), (0,))
    (peer,) = (each for each in contenders.CONTENDERS if each.name == "torch")
    chosen = contenders.installed(("torch", "numbagg"))
    with contenders.thread_counts(chosen, 1):
        for contender in (*chosen, peer):
            call = contender.call(contenders.Problem(cell, grid.make(cell)))
            call.answer()
            if contender is peer:
                seen.append(torch.get_num_threads())
    assert seen == [1, 1]


def test_timing_takes_turns_and_prepares():
    seen = []
    calls = {
        name: contenders.Call("seen.append(name)", {"seen": seen, "name": name}, before=before)
        for name, before in (("a", lambda: seen.append("before")), ("b", None))
    }
    times = timing.measure(calls, timing.Effort(0.0, 4, 1.0), keep=("a", "b"))
    assert set(times) == {"a", "b"}
    assert all(seconds > 0 for seconds in times.values())
    assert seen.count("before") == 5
    assert seen.index("before") < seen.index("a")


# Papers


def test_json_reads_back_as_it_was(found, tmp_path):
    path = tmp_path / "found.json"
    path.write_text(bench.to_json(found), encoding="utf-8")
    assert bench.load(path) == found == json.loads(json.dumps(found))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "reducekit bench 0"}', None])
def test_other_files_are_refused(tmp_path, text):
    path = tmp_path / "other.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(FileError, match=r"cannot read .*other\.json: "):
        bench.load(path)


def with_ratios(found, *ratios):
    """The results with these ratios, given to the first cells in turn."""
    cells = [{**cell, "ratio": ratio} for cell, ratio in zip(found["cells"], ratios)]
    return {**found, "cells": cells}


def test_summary(found):
    two = with_ratios(found, 4.0, 0.96, 0.25, None)
    assert bench.summary(two["cells"]) == {
        "cells": 3, "worst": 0.25, "mean": pytest.approx(0.96 ** (1 / 3)), "behind": 2,
        "clearly_behind": 1,
    }  # fmt: skip
    text = bench.summary_text(two)
    lines = text.splitlines()
    assert "the ten worst:" in lines
    first = lines[lines.index("the ten worst:") + 1]
    assert two["cells"][2]["name"] in first
    assert first.endswith("BEHIND")
    assert "2 of 3" in text


def test_summary_of_nothing(found):
    assert "no cell was measured" in bench.summary_text({**found, "cells": []})
    assert bench.summary_text(with_ratios(found, None, None))


def test_rounding_never_flatters():
    assert results.ratio_text(0.9999) == "0.99"
    assert results.ratio_text(1.0) == "1.0"


@pytest.fixture
def shown():
    """The results of cells that the README shows."""
    return run(*bench.cells(only=["* float32 10 all", "* bool 10 all"]))


def test_readme_marks_where_we_lose(shown, tmp_path):
    cells = [
        {**cell, "ratio": {"max": 0.934, "min": 2.5, "sum": 12.2}[cell["op"]]}
        for cell in shown["cells"]
        if (cell["op"], cell["dtype"]) != ("max", "bool")
    ]
    lost = {**shown, "cells": cells}
    path = tmp_path / "README.md"
    before = f"# x\n\n{results.START}\nwas\nhere\n{results.END}\n\nend \\1\n"
    path.write_text(before, encoding="utf-8")
    bench.update_readme(lost, path)
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"# x\n\n{results.START}\n")
    assert text.endswith(f"\n{results.END}\n\nend \\1\n")
    assert "was\nhere" not in text
    assert "| shape, reduced axes | float32 | bool |" in text
    assert "| 10 over all | **0.93** ▼ | 2.5 |" in text
    assert "slower in 1, at worst 0.93" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 116
    bench.update_readme(lost, path)
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("text", ["", results.START, (results.START + results.END) * 2])
def test_readme_without_marks_is_left_alone(shown, tmp_path, text):
    path = tmp_path / "README.md"
    path.write_text(text)
    with pytest.raises(FileError, match="it needs one"):
        bench.update_readme(shown, path)
    assert path.read_text() == text


def test_the_readme_of_the_project_has_the_marks():
    from test_project import ROOT

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count(results.START) == text.count(results.END) == 1


# The command


def test_command_runs_and_writes(tmp_path, capsys):
    path, readme = tmp_path / "found.json", tmp_path / "README.md"
    readme.write_text(results.START + results.END)
    words = ["bench", "--quick", "--peers", "numpy", "--only", "max int8 10 all"]
    assert cli.main([*words, "--json", str(path), "--readme", str(readme)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("max int8 10 over all")
    assert "the ten worst:" in out
    assert [cell["name"] for cell in bench.load(path)["cells"]] == ["max int8 10 over all"]
    assert cli.main(["bench", "--load", str(path)]) == 0
    assert out.endswith(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--only", "max int8 7"], "no cell of this run has the words 'max int8 7'"),
        (["tiny", "--only", "product"], "no cell of this run has the words 'product'"),
        (["--threads", "0"], "'0' is not a number of threads from 1 up"),
        (["--json", "/nowhere/x.json"], "the folder /nowhere does not exist"),
        (["--load", "/nowhere/x.json"], "cannot read /nowhere/x.json"),
        (["tiny", "--load", "x.json"], "--load belongs to the grid, not to tiny"),
        (["huge"], "invalid choice: 'huge'"),
    ],
)
def test_command_refuses(words, message, capsys):
    assert cli.main(["bench", *words]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_command_tells_a_wrong_answer_by_its_status(monkeypatch, capsys):
    monkeypatch.setattr(reducekit, "reduce_max", lambda *_, **__: np.float32(7))
    assert cli.main(["bench", "--quick", "--peers", "numpy", "--only", "max float32 10 all"]) == 1
    assert "another answer: reducekit, numpy" in capsys.readouterr().out


def test_command_draws(found, monkeypatch, tmp_path, capsys):
    class Axes:
        figure = None

        def savefig(self, path, **_):
            with Path(path).open("x") as file:
                file.write(self.text)

    def draw(given):
        axes = Axes()
        axes.figure, axes.text = axes, f"{len(given['cells'])} cells"
        return axes

    monkeypatch.setitem(sys.modules, "reducekit.plot", types.SimpleNamespace(bench=draw))
    data, picture = tmp_path / "found.json", tmp_path / "found.svg"
    data.write_text(bench.to_json(found), encoding="utf-8")
    words = ["bench", "--load", str(data), "--plot", str(picture)]
    assert cli.main(words) == 0
    assert picture.read_text() == f"{len(found['cells'])} cells"
    assert cli.main(words) == 2
    assert f"cannot write {picture}: " in capsys.readouterr().err


def test_command_after_an_interrupt(monkeypatch, tmp_path, capsys):
    def stop(line):
        if line.startswith("max"):
            raise KeyboardInterrupt

    monkeypatch.setattr(command, "_say", stop)
    path = tmp_path / "found.json"
    words = ["--peers", "numpy", "--quick", "--only", "* int8 10 all", "--json", str(path)]
    assert cli.main(["bench", *words]) == 130
    assert not bench.load(path)["complete"]


def test_module_runs_as_a_program():
    words = ["--quick", "-q", "--peers", "numpy", "--only", "max bool 10 all"]
    done = subprocess.run(
        [sys.executable, "-m", "reducekit.bench", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    assert done.stdout.startswith("\nreducekit ") or done.stdout.startswith("reducekit ")


def test_options_are_told():
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    text = parser.format_help()
    for name in (*measures.MEASURES, "--callgrind", "--readme"):
        assert name in text


# The other measures


def test_tiny():
    said = []
    rows = measures.tiny(said.append, quick=True, only=["max bfloat16", "sum int8"])
    assert [(row["op"], row["dtype"]) for row in rows] == [("sum", "int8"), ("max", "bfloat16")]
    assert len(said) == 5
    assert rows[0]["over"] in (True, False)


def test_linear_compares_sizes_ten_times_apart(monkeypatch):
    monkeypatch.setattr(measures, "GROWING_CASES", (grid.Case((20_000, 3), (1,)),))
    monkeypatch.setattr(measures, "Effort", lambda *_: FAST)
    said = []
    (row,) = measures.linear(said.append, quick=True, only=["max int16"])
    assert row["name"] == "max int16 20000x3 over 1"
    assert row["cached"]
    assert not row["over"]
    assert len(said) == 3


def test_memory_of_a_small_and_of_a_huge_view(monkeypatch):
    cases = (
        grid.Case((300, 200), (1,), "fortran", quick=True),
        grid.Case((2**31, 1), (0,), "broadcast", quick=True),
    )
    monkeypatch.setattr(measures, "MEMORY_CASES", cases)
    said = []
    rows = measures.memory(said.append, quick=True, only=["max float32"])
    assert [row["name"] for row in rows] == [
        "max float32 300x200 over 1 fortran", "max float32 2147483648x1 over 0 broadcast"
    ]  # fmt: skip
    for row in rows:
        assert 0 <= row["traced"] < measures.MEMORY_LIMIT
        assert row["resident"] is None or 0 <= row["resident"] < measures.MEMORY_LIMIT
        assert not row["over"]


def test_threads(monkeypatch):
    monkeypatch.setattr(measures, "LARGE", 10)
    said = []
    (row,) = measures.threads(said.append, quick=True, only=["max int8 10 all"])
    assert {"reducekit", "one thread"} <= set(row["seconds"])
    assert (row["ratio"] is None) == ("torch" not in row["seconds"])


def with_torch(monkeypatch, folder, source):
    """Let the processes that measure, and no other, find this module as torch."""
    (folder / "torch.py").write_text(source, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(measures, "LARGE", 10)


PEER = """
import os
from pathlib import Path

print("a word of welcome")
os.write(1, b"and one from below")
Path(__file__).with_name("process").write_text(str(os.getpid()))
get_num_threads = set_num_threads = lambda *_: 2
from_numpy = lambda x: x


def amax(x, axes):
    print("calculating")
    if x.itemsize > 1:
        os._exit(3)
    return x.max(axes)
"""


def test_threads_run_in_other_processes(monkeypatch, tmp_path):
    with_torch(monkeypatch, tmp_path, PEER)
    (row,) = measures.threads(str, quick=True, only=["max int8 10 all"])
    assert row["ratio"] == row["seconds"]["torch"] / row["seconds"]["reducekit"] > 0
    assert "torch" not in sys.modules
    assert int((tmp_path / "process").read_text()) != os.getpid()


@pytest.mark.parametrize("start", ["import os; os._exit(3)", "raise OSError('a part is missing')"])
def test_threads_without_a_peer_that_does_not_start(monkeypatch, tmp_path, start):
    with_torch(monkeypatch, tmp_path, start)
    (row,) = measures.threads(str, quick=True, only=["max int8 10 all"])
    assert set(row["seconds"]) == {"reducekit", "one thread"}
    assert row["ratio"] is None
    assert not row["over"]


def test_threads_go_on_after_a_peer_that_dies(monkeypatch, tmp_path):
    with_torch(monkeypatch, tmp_path, PEER)
    only = ["max int8 10 all", "max int16 10 all", "max uint8 10 all", "sum uint8 10 all"]
    rows = measures.threads(str, quick=True, only=only)
    assert {row["name"]: row["ratio"] is None for row in rows} == {
        "max int8 10 over all": False,
        "max int16 10 over all": True,  # it dies
        "max uint8 10 over all": False,
        "sum uint8 10 over all": True,  # it has no such function
    }


def test_threads_do_not_hide_our_own_failure():
    worker = measures._Worker("nobody", 2)
    cell = cell_of("max", "int8", (10,), (0,))
    with pytest.raises(ArgumentError, match=r"max int8 10 over all failed: status 1"):
        measures._threads_row(cell, {"reducekit": worker}, FAST)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_threads_end_their_processes_whatever_happens(monkeypatch, error):
    processes = []

    def stop(*_):
        raise error

    def start(*words, **more):
        processes.append(popen(*words, **more))
        return processes[-1]

    popen = subprocess.Popen
    monkeypatch.setattr(measures.subprocess, "Popen", start)
    monkeypatch.setattr(measures, "LARGE", 10)
    monkeypatch.setattr(measures, "ratio_text", stop)
    with pytest.raises(error):
        measures.threads(str, quick=True, only=["max int8 10 all"])
    assert len(processes) == 3
    assert all(process.returncode is not None for process in processes)


def test_callgrind_wants_valgrind_and_few_cells(monkeypatch):
    monkeypatch.setattr(measures.shutil, "which", lambda _: None)
    with pytest.raises(ArgumentError, match="valgrind is not installed"):
        measures.callgrind(print, ["max int8 10 all"])
    monkeypatch.setattr(measures.shutil, "which", lambda _: "/usr/bin/valgrind")
    for text in ("max int8", "max int8 7"):
        with pytest.raises(ArgumentError, match="name one to eight"):
            measures.callgrind(print, [text])


def test_child_that_fails_is_told():
    cell = cell_of("max", "int8", (10,), (0,))
    with pytest.raises(ArgumentError, match=r"max int8 10 over all failed: ValueError"):
        measures._child("calls", cell, "nobody", "1")
